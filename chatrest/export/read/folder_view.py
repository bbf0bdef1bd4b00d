"""An export for its readers, in a folder or at the address of an object store."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeVar

from ...errors import ChatRestError
from ..folder.folder_state import FolderState
from ..folder.journal import NAME as JOURNAL
from ..folder.manifest import NAME as MANIFEST
from ..folder.tables import ATTACHMENTS, AttachmentRow, attachment_rows, table_path, table_stem
from ..formats.stored_records import damage_error
from ..plan.file_names import HISTORY, STEM
from ..plan.id_set import IdSet
from ..store.store_journal import StoreFile
from ..store.stored_files import path_of

T = TypeVar("T")
_SHA256: Final = re.compile("[0-9a-f]{64}")


class FolderView:
    """A folder with the manifest, journal and log of an export, and its other files one at a time.

    This one is of this machine, as it is: all files are there.
    """

    is_remote = False
    """True if a file costs a download."""

    def __init__(self, folder: Path, export: str = "") -> None:
        self.folder: Final = folder
        self.name = str(folder)
        """The folder's path, or the address of the store."""
        self.export: Final = export
        """Its path in a folder of exports, such as `part=03`; empty for a single export."""

    @property
    def is_begun(self) -> bool:
        """False where no run has written anything yet."""
        return any((self.folder / name).exists() for name in (MANIFEST, JOURNAL))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what is on the local disk for readers alone; twice is fine."""

    def expect(self, names: Iterable[str]) -> None:
        """Note the files that will be asked for, in their order, so that they can be fetched ahead."""

    def file(self, name: str) -> AbstractContextManager[object]:
        """Keep a file in the folder within the block; nothing is done for one that does not exist."""
        return nullcontext()

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def remedy(self, name: str) -> str:
        """Return how to mend a lost or damaged file of an object store; an empty text for a folder."""
        return ""

    def without_journal(self, state: FolderState, text: str) -> ChatRestError:
        """Return the error for a journal that cannot be read; `text` says what only it knows."""
        fault = state.journal_fault or "it is lost"
        advice = self.remedy(JOURNAL) or state.journal_remedy or "export again"
        return ChatRestError(f"{self.name}/{JOURNAL}: {fault}; {text}: {advice}")

    def unknown(self) -> Iterator[tuple[str, bool]]:
        """Yield the names of objects that are no part of the export, and True for leftovers."""
        return iter(())


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
    files_with: Callable[[IdSet], list[MessageFile]],
    work: Callable[[MessageFile], Iterator[T]],
) -> Iterator[T]:
    """Yield what `work` yields for each file.

    If a run has merged a file before it was read, `files_with` gives the files that now have the remaining
    ids. Raises `ChatRestError` if a file is lost.
    """
    while files:
        names = [file.path.relative_to(view.folder).as_posix() for file in files]
        view.expect(names)
        for index, (file, name) in enumerate(zip(files, names, strict=True)):
            try:
                with view.file(name):
                    yield from work(file)
            except FileNotFoundError:  # before the first of its records
                merged = files_with(IdSet.union(each.ids for each in files[index:]))
                if not merged or any(each.path == file.path for each in merged):
                    raise damage_error(file.path, "it is not there any more") from None
                files = merged
                break
        else:
            return


def noted_files(folder: Path, state: FolderState) -> Iterator[StoreFile]:
    """Yield the files that the journal names, or without a journal those of the manifest."""
    if state.journal is not None:
        for file in state.journal.files("open", "sealing", "sealed"):
            if not file.size and file.state != "sealed":
                continue  # it was only being made
            if file.state == "sealing" and not path_of(folder, file).exists():
                file = file._replace(state="sealed", sha256=None)  # it was renamed, and not noted
            yield file
    elif state.manifest is not None:
        files, tables = state.manifest.files, state.manifest.tables
        noted = [
            (entry.name, HISTORY if entry.role == HISTORY else STEM, entry.bytes, entry.sha256)
            for entry in files
        ]
        noted += ((each.file, table_stem(each.table), each.bytes, each.sha256) for each in tables)
        for name, stem, size, text in noted:
            digest = bytes.fromhex(text) if _SHA256.fullmatch(text) else b"none"
            yield StoreFile(0, name, stem, "sealed", size, digest)


def attachments_in(view: FolderView, file: StoreFile) -> list[AttachmentRow]:
    """Return the rows of a file where it is the table of attachments."""
    if file.stem != table_stem(ATTACHMENTS):
        return []
    with view.file(file.name):
        return list(attachment_rows(table_path(view.folder, file.name)))
