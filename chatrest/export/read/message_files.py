"""The files with an export's messages, read while runs merge them: each message once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..formats.stored_records import damaged
from ..plan.id_set import IdSet
from .folder_view import FolderView

T = TypeVar("T")


class MessageFile(NamedTuple):
    """A file with messages, or with older versions of them."""

    path: Path
    name: str
    """Below the export's folder; of a segment one that says how its lines are packed."""
    ids: IdSet
    """Those of its messages that are to be read."""
    size: int | None = None
    """Bytes to read; None for all whole records that are there."""
    rows: int = 0
    is_wanted: Callable[[bytes], bool] | None = None
    """Whether a record is to be read; None if all are."""


def from_each(
    view: FolderView,
    files: list[MessageFile],
    again: Callable[[IdSet], list[MessageFile]],
    work: Callable[[MessageFile], Iterator[T]],
) -> Iterator[T]:
    """Yield what `work` gives of each file.

    Where a run has merged one meanwhile, `again` is asked which files have the ids that were not read yet.
    """
    while files:
        places = [file.path.relative_to(view.folder).as_posix() for file in files]
        view.expect(places)
        for at, (file, place) in enumerate(zip(files, places, strict=True)):
            try:
                with view.file(place):
                    yield from work(file)
            except FileNotFoundError:  # before the first of its records
                now = again(IdSet.union(each.ids for each in files[at:]))
                if not now or any(each.path == file.path for each in now):
                    raise damaged(file.path, "it is not there any more") from None
                files = now
                break
        else:
            return
