"""Find one message in the files of an export: its file, its line, and hashes that anybody can compute.

Where a person holds a document with the id of a message and the root hash of a bag, this leads from one
to the other: the hash of the file is in `manifest-sha256.txt` of the bag, and the line is the record.
"""

import hashlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from msgspec import Struct

from ..._core.replies.rows import row_of
from ..._core.requests.arguments import check
from ...errors import ChatRestError
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.opening import FolderState, with_state
from ..plan.file_names import HISTORY, SPOOL, STEM, path_inside
from ..plan.message_ids import key_of
from ..store.converters import format_of
from ..store.inspection import place_now
from ..store.journal import StoreFile
from .exports import DATA, bag_of, open_exports
from .folder_view import FolderView


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
            for file, path in with_state(view.folder, lambda state: _files(view, state, id)):  # noqa: B023
                yield from _lines(view, file, path, folder, id)


def _files(view: FolderView, state: FolderState, id: str) -> list[tuple[StoreFile, Path]]:
    journal = state.journal
    if journal is None:
        raise ChatRestError(
            f"{view.name}/{JOURNAL}: only it says which file has a message, and it is lost or damaged"
        )
    files = [file for kind in (STEM, HISTORY) for file in _with_id(journal, kind, id)]
    for file in files:
        path_inside(view.folder, file.name)
    return [(file, place_now(view.folder, file)) for file in files]


def _with_id(journal: Journal, kind: str, id: str) -> Iterator[StoreFile]:
    if (number := journal.ids_by_key([id]).get(id)) is None:
        return
    for file in journal.files("open", "sealing", "sealed"):
        is_kind = bool(file.size) and file.stem.partition("/")[0] == kind
        if is_kind and (kind == HISTORY or number in journal.ids_in([file])):
            yield file


def _lines(view: FolderView, file: StoreFile, path: Path, folder: str, id: str) -> Iterator[StoredLine]:
    name = path.relative_to(view.folder).as_posix()
    own_format = format_of(f"{SPOOL}/segment.ndjson" if name.endswith(".parquet.segment") else file.name)
    assert own_format is not None
    line = 0
    with view.file(name):
        for piece in own_format.read(path, file.size):
            for raw in piece.raws:
                line += 1
                if key_of(row_of(raw)) == id:
                    digest = hashlib.sha256(raw).hexdigest()
                    sealed = "" if file.sha256 is None else file.sha256.hex()
                    is_older = file.stem.partition("/")[0] == HISTORY
                    yield StoredLine(id, f"{folder}{name}", line, digest, sealed, is_older, raw)
