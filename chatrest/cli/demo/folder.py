"""The demo's folder: an export with a mark of its own, which the next demo may replace.

Only what the export's own journal names is removed; whatever else lies in the folder stays.
"""

from pathlib import Path
from typing import Final

from ...errors import RequestInvalidError
from ...export import journal, manifest

MARK: Final = ".chatrest-demo"
_WORDS: Final = "What lies here was made by `chatrest demo`, which replaces it when it is run again.\n"


def claim(folder: Path) -> None:
    """Makes the folder; refuses one that is neither empty nor of an earlier demo."""
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"{folder} is no directory: choose another with --out")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / MARK).exists():
        raise RequestInvalidError(
            f"{folder} holds something else than a demo's export, and is not touched: "
            "choose another with --out"
        )


def clear(folder: Path) -> None:
    """Removes what an earlier demo exported, and marks the folder as the demo's."""
    claim(folder)
    (folder / MARK).write_text(_WORDS)
    kept = folder / journal.NAME
    if not kept.exists():
        return
    earlier = journal.Journal(kept)
    names = [part.name for part in earlier.parts()]
    earlier.close()
    for name in (*names, manifest.NAME, kept.name):
        (folder / name).unlink(missing_ok=True)
