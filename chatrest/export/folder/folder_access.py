"""The right to write into a folder, and the checks before that.

A folder is refused, untouched, if it holds other files than an export, and if a path or a link leads out of
it: to continue there could destroy messages or other files.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..._storage import InUseError, try_lock
from ...errors import RequestInvalidError
from ..plan.file_names import DAMAGED, MESSAGES, SPOOL, is_of_system, path_inside
from ..plan.parts import FOREIGN, STATE, is_app_name
from ..store.disk import Disk, sync_folder
from .journal import NAME as JOURNAL, has_journal
from .manifest import NAME as MANIFEST, find_undamaged
from .run_log import NAME as RUNS

INCOMPLETE: Final = ".store"
"""The file in a working copy that says which store has the other data files."""
_OWN_FILES: Final = (JOURNAL, MANIFEST, RUNS)
_LOCK_ATTEMPTS: Final = 200
"""How often a run asks for a folder again that a reader is asking about."""
_LOCK_PAUSE: Final = 0.005
"""Seconds between two of them."""


class FolderLock:
    """The right to write into a folder: for one export at a time, of this process or of another one.

    SQLite's own lock is not enough: of exports that open the journal at the same instant each can keep the
    others out, so that none continues. Raises `InUseError` if another one has it.
    """

    def __init__(self, folder: Path) -> None:
        self.is_held = True
        """False on a file system without such locks: SQLite's own is left, which keeps readers out, too."""
        self._folder = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for _ in range(_LOCK_ATTEMPTS):
                if try_lock(self._folder):
                    return
                if not try_lock(self._folder, shared=True):
                    break
                time.sleep(_LOCK_PAUSE)  # who has it only asks whether a run is writing
        except OSError:
            self.is_held = False
            return
        os.close(self._folder)
        raise InUseError(f"{folder / JOURNAL}: another export is writing here")

    def release(self) -> None:
        os.close(self._folder)


@contextmanager
def run_under_way(folder: Path) -> Iterator[bool]:
    """Give True if a run is writing in a folder; else none begins within the block."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            is_free = try_lock(descriptor, shared=True)
        except OSError:
            is_free = True  # nobody can say
        yield not is_free
    finally:
        os.close(descriptor)


def claim_folder(folder: Path, disk: Disk | None = None) -> None:
    """Make the folder, or check that an export can go there; called before its journal is opened.

    Raises what `check_is_export_or_empty` raises, and PermissionError if the folder is not writable.
    """
    check_is_export_or_empty(folder)
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)  # another export may begin at the same moment
        sync_folder(disk or Disk(), folder.parent)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "it cannot be written to", str(folder))


def check_is_export_or_empty(folder: Path) -> None:
    """Refuse with `RequestInvalidError` a folder that holds something else than an export, or one that has
    lost both its journal and its manifest; changes nothing.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RequestInvalidError(f"'{folder}' is not a folder: choose another path")
    check_links(folder)
    if has_journal(folder) or find_undamaged(folder) is not None:
        return
    if (folder / MANIFEST).exists():
        raise RequestInvalidError(
            f"folder '{folder}' is an export whose {JOURNAL} is lost or empty, and whose {MANIFEST} is "
            "damaged; nothing was changed: restore one of them from a backup, or export into another folder"
        )
    refuse_others(folder, lambda name: name.startswith(JOURNAL) or name in (STATE, FOREIGN))


def refuse_others(folder: Path, is_own: Callable[[str], bool]) -> None:
    """Refuse with `RequestInvalidError` a folder with files that are not its own, nor the system's."""
    names = (path.name for path in folder.iterdir())
    if name := next((each for each in names if not is_of_system(each) and not is_own(each)), None):
        if is_app_name(name):
            raise RequestInvalidError(
                f"folder '{folder}' has many apps, such as {name}: expected the folder of one app; "
                "`export --apps FILE` and `export_apps` export all of them"
            )
        raise RequestInvalidError(
            f"folder '{folder}' holds something else than an export, such as {name}, and is not touched: "
            "choose another folder"
        )


def check_is_whole(folder: Path) -> None:
    """Refuse with `RequestInvalidError` the copy of an export whose data files are in an object store.

    They would look lost, and be read again; messages that the service does not show any more would be.
    """
    if (path := folder / INCOMPLETE).is_file():
        address = path.read_text(errors="replace").strip()
        raise RequestInvalidError(
            f"folder '{folder}' is the working copy of {address}, where its data files are: give that address"
        )


def check_part(folder: Path, stored: str, part: str) -> None:
    """Refuse a part of an export with `RequestInvalidError` if it is opened as another one, or by itself:
    it would read all users, and write what other parts have.
    """
    if stored == part:
        return
    if stored:
        raise RequestInvalidError(
            f"folder '{folder}' is part {stored} of an export: expected the folder that contains it"
        )
    raise RequestInvalidError(f"folder '{folder}' is an export by itself, and not part {part} of one")


def data_file_path(folder: Path, name: str) -> Path:
    """Return the path of a data file that a journal or manifest names.

    Raises what `path_inside` raises, and `RequestInvalidError` for the name of the journal or manifest.
    """
    if name.partition("/")[0].casefold().startswith(_OWN_FILES):
        raise RequestInvalidError(
            f"{folder}: {name!r} is named like a data file, and is not one; it is damaged, or made to "
            "overwrite files elsewhere; nothing was changed: do not use it"
        )
    return path_inside(folder, name)


def check_links(folder: Path) -> None:
    """Refuse with `RequestInvalidError` a symbolic link that leads out of the folder.

    Looks at the folder itself and below its folders of messages.
    """
    paths = list(folder.iterdir())
    for name in (MESSAGES, SPOOL, DAMAGED):
        for parent, folders, files in os.walk(folder / name):
            paths += [Path(parent, each) for each in (*folders, *files)]
    for path in paths:
        if path.is_symlink() and not _is_within(path, folder):
            raise RequestInvalidError(
                f"{path} is a symbolic link that leads out of '{folder}'; nothing was changed: replace it by "
                "what it leads to"
            )


def _is_within(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False
