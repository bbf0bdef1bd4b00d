"""The files with an export's messages, read while runs merge them: each message once.

And the place of one message, with hashes that anybody can compute. Where a person holds a document with the
id of a message and the root hash of a bag, these lead from one to the other: the hash of the file is in
`manifest-sha256.txt` of the bag, and the line is the record.
"""

import hashlib
from collections.abc import Callable, Iterator
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import Struct

from ..._core.replies.rows import row_of
from ..._core.requests.arguments import check
from ...errors import ChatRestError
from ..folder.journal import NAME as JOURNAL
from ..folder.opening import FolderState, with_state
from ..formats.stored_records import damaged, record_batches
from ..plan.file_names import HISTORY, STEM
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of
from ..store.inspection import files_now
from ..store.journal import StoreFile
from .exports import DATA, bag_of, open_exports
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


# ── one message ──


class StoredLine(Struct, frozen=True):
    """The place of a message, or of an older version of it."""

    id: str
    file: str
    """Below what was asked for, as in the `manifest-sha256.txt` of a bag."""
    line: int
    """From 1 on, in the file as it is unpacked; of a Parquet file the row."""
    sha256: str
    """Of the record: of its line, without the end of the line."""
    file_sha256: str
    """Of the file, as the journal has it; empty while a run has not finished it."""
    older: bool
    """True for a version that was edited or deleted since."""
    raw: bytes


def find_lines(out: str | PathLike[str], id: str) -> Iterator[StoredLine]:
    """Yield where the message with an id is in the export at `out`, older versions after it.

    Of a folder of many apps it may be one of each. Reads the files that have it, and those of older
    versions, which no journal has by id.

    Raises `RequestInvalidError` for what is not an export; `ChatRestError` for a damaged file, and without a
    journal, which alone says which file has a message; OSError.
    """
    check(bool(id), "id", id, "the id of a message, as a text")
    prefix = f"{DATA}/" if bag_of(out) is not None else ""
    for view in open_exports(out):
        with view:
            folder = f"{prefix}{view.export}{view.export and '/'}"
            for file, path, name in with_state(view.folder, lambda state: _files(view, state, id)):  # noqa: B023
                yield from _lines(view, file, path, name, folder, id)


def _files(view: FolderView, state: FolderState, id: str) -> list[tuple[StoreFile, Path, str]]:
    journal = state.journal
    if journal is None:
        raise ChatRestError(
            f"{view.name}/{JOURNAL}: only it says which file has a message, and it is lost or damaged"
        )
    if (number := journal.ids_by_key([id]).get(id)) is None:
        return []
    messages = (each for each in files_now(view.folder, journal, STEM) if number in journal.ids_in(each[:1]))
    return [*messages, *files_now(view.folder, journal, HISTORY)]


def _lines(
    view: FolderView, file: StoreFile, path: Path, name: str, folder: str, id: str
) -> Iterator[StoredLine]:
    place, is_older = path.relative_to(view.folder).as_posix(), file.stem == HISTORY
    sealed = "" if file.sha256 is None else file.sha256.hex()
    with view.file(place):
        raws = chain.from_iterable(record_batches(path, name, file.size))
        for line, raw in enumerate(raws, 1):
            if key_of(row_of(raw)) == id:
                digest = hashlib.sha256(raw).hexdigest()
                yield StoredLine(id, f"{folder}{place}", line, digest, sealed, is_older, raw)
