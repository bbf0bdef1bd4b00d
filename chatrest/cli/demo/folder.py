"""The demo's folder: an export with a marker file, which the next demo may replace.

Only files that the export's journal names are removed; all other files in the folder stay.
"""

from pathlib import Path
from typing import Final

from ...errors import RequestInvalidError
from ...export import journal, manifest, run_log
from ...export.file_names import SPOOL, path_inside

MARK: Final = ".chatrest-demo"
_MARK_TEXT: Final = "These files were written by `chatrest demo`, which replaces them when it is run again.\n"


def claim(folder: Path) -> None:
    """Create the folder; raise `RequestInvalidError` if it is neither empty nor from an earlier demo."""
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"{folder} is not a folder: choose another with --out")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / MARK).exists():
        raise RequestInvalidError(
            f"{folder} has files that are not from a demo, and is not changed: choose another with --out"
        )


def clear(folder: Path) -> None:
    """Remove the files of an earlier demo, and mark the folder as the demo's; errors as `claim`."""
    claim(folder)
    (folder / MARK).write_text(_MARK_TEXT)
    journal_path = folder / journal.NAME
    if not journal_path.exists():
        return
    earlier = journal.Journal(journal_path)
    spooled = [f"{SPOOL}/{file.number}.new" for file in earlier.files()]
    names = [*(file.name for file in earlier.files()), *spooled]
    earlier.close()
    for path in (path_inside(folder, name) for name in names):
        path.unlink(missing_ok=True)
        _remove_empty(path.parent, folder)
    for name in (manifest.NAME, run_log.NAME, journal_path.name):
        (folder / name).unlink(missing_ok=True)


def _remove_empty(path: Path, folder: Path) -> None:
    """Remove a folder below `folder` and those that it is in, as far as they are empty."""
    while path != folder and path.is_dir() and not any(path.iterdir()):
        path.rmdir()
        path = path.parent
