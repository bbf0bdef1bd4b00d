"""The check of an export's tables against its manifest; nothing is changed."""

from collections.abc import Iterator
from pathlib import Path

from ...errors import ChatRestError
from ..manifest import Manifest, TableEntry
from ..verify.verify_result import Problem
from .snapshot import file_hash, new_path, table_path


def check_tables(folder: Path, manifest: Manifest, advice: str = "") -> Iterator[Problem]:
    """Yield a problem for each table that is missing, or not as the manifest says.

    Reads every file once. A run that was killed between its two last steps has left the table under the name
    with `.new`, which is right. `advice` is the way to have a table written anew.
    """
    for entry in manifest.tables:
        try:
            path = table_path(folder, entry.file)
            problem = _problem(path, entry, advice)
        except ChatRestError as error:
            problem = Problem("manifest", entry.table, str(error))
        except OSError as error:
            problem = Problem("damaged", entry.file, f"it cannot be read ({error.strerror or error})", advice)
        if problem is not None:
            yield problem


def _problem(path: Path, entry: TableEntry, advice: str) -> Problem | None:
    if any(_is_entry(each, entry) for each in (path, new_path(path))):
        return None
    if not path.is_file():
        return Problem("missing", entry.file, "it is not there", advice)
    if (size := path.stat().st_size) != entry.bytes:
        return Problem("size", entry.file, f"it has {size:,} bytes, and not {entry.bytes:,}", advice)
    return Problem("damaged", entry.file, "its checksum is not that of the manifest", advice)


def _is_entry(path: Path, entry: TableEntry) -> bool:
    is_of_size = path.is_file() and not path.is_symlink() and path.stat().st_size == entry.bytes
    return is_of_size and file_hash(path) == entry.sha256
