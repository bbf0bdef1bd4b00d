"""The check of an export's tables against its manifest; nothing is changed."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from ...errors import ChatRestError
from ..manifest import Manifest, TableEntry
from ..verify.verify_result import Problem
from .snapshot import file_hash, new_path, table_path
from .table_reading import read_table
from .tables import ATTACHMENTS

_FILE: Final = re.compile(r"files/[0-9a-f]{2}/[0-9a-f]{64}(\.[a-z0-9]{1,10})?", re.ASCII)


class _Attachment(Struct):
    """The members of a row of `attachments` that say which file it is about."""

    state: str
    file: str = ""
    bytes: int = 0
    sha256: str = ""


FileOpener: TypeAlias = Callable[[str], AbstractContextManager[None]]
"""Has a file of the export in the folder within the block."""


def check_tables(
    folder: Path, manifest: Manifest, remedy: str = "", present: FileOpener = lambda _: nullcontext()
) -> Iterator[Problem]:
    """Yield a problem for each table that is missing, or not as the manifest says.

    Reads every file once. A run that was killed between its two last steps has left the table under the name
    with `.new`, which is right. `remedy` is the way to have a table written anew, `present` that to have a
    file in the folder while it is checked.
    """
    for entry in manifest.tables:
        with present(entry.file):
            try:
                problem = _problem(folder, entry, remedy)
            except ChatRestError as error:
                problem = Problem("manifest", entry.table, str(error))
            except OSError as error:
                text = f"it cannot be read ({error.strerror or error})"
                problem = Problem("damaged", entry.file, text, remedy)
            if problem is not None:
                yield problem
            elif entry.table == ATTACHMENTS:
                yield from _check_attachments(folder, entry, remedy, present)


def find_table(folder: Path, entry: TableEntry) -> Path | None:
    """Return the path of a table as the manifest has it; None where no file is so.

    Raises `ChatRestError` for a name that leads out of the folder.
    """
    path = table_path(folder, entry.file)
    return next((each for each in (path, new_path(path)) if _is_entry(each, entry)), None)


def _problem(folder: Path, entry: TableEntry, remedy: str) -> Problem | None:
    if find_table(folder, entry) is not None:
        return None
    path = table_path(folder, entry.file)
    if not path.is_file():
        return Problem("missing", entry.file, "it is not there", remedy)
    if (size := path.stat().st_size) != entry.bytes:
        return Problem("size", entry.file, f"it has {size:,} bytes, and not {entry.bytes:,}", remedy)
    return Problem("damaged", entry.file, "its checksum is not that of the manifest", remedy)


def _is_entry(path: Path, entry: TableEntry) -> bool:
    is_of_size = path.is_file() and not path.is_symlink() and path.stat().st_size == entry.bytes
    return is_of_size and file_hash(path) == entry.sha256


def _check_attachments(
    folder: Path, entry: TableEntry, remedy: str, present: FileOpener
) -> Iterator[Problem]:
    """Yield a problem for each file of the table `attachments` that is not as its row says."""
    table, checked = find_table(folder, entry), set[str]()
    for raw in read_table(table, ATTACHMENTS) if table is not None else ():
        row = msgspec.json.decode(raw, type=_Attachment)
        if row.state != "stored" or row.file in checked:
            continue
        checked.add(row.file)
        path = folder / ATTACHMENTS / row.file
        name = f"{ATTACHMENTS}/{row.file}"
        if not _FILE.fullmatch(row.file) or any(each.is_symlink() for each in (path, path.parent)):
            yield Problem("manifest", name, "it is not the file of an attachment, or leads elsewhere")
        else:
            with present(name):
                if not path.is_file():
                    yield Problem("missing", name, "it is not there", remedy)
                elif path.stat().st_size != row.bytes or file_hash(path) != row.sha256:
                    yield Problem("damaged", name, "its size or checksum is not that of its row", remedy)
