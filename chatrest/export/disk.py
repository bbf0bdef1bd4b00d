"""What an export asks of the file system: few calls, in one place, and a bounded number of open files.

A test puts its own in the place of it, and lets any call fail, or be the process's last.
"""

import errno
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Final, final

_REMOVED: Final = "it was removed or replaced while it was being written"
MOST_OPEN: Final = 64
"""Files that are kept open at once."""


class Disk:
    """The real one. Raises OSError, with the file's name."""

    def write(self, file: int, at: int, data: bytes) -> int:
        """Writes some of `data` at a place; how much."""
        return os.pwrite(file, data, at)

    def sync(self, file: int) -> None:
        """What was written survives a loss of power."""
        os.fsync(file)

    def truncate(self, path: Path, size: int) -> None:
        """Cuts a file to its first `size` bytes."""
        os.truncate(path, size)

    def replace(self, old: Path, new: Path) -> None:
        """Renames, in one moment, over what is there."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Removes a file; fine where there is none."""
        path.unlink(missing_ok=True)


@final
class OpenFiles:
    """Files that are being written; the ones that were not used for longest are closed."""

    def __init__(self, disk: Disk, most: int = MOST_OPEN) -> None:
        self._disk = disk
        self._most = most
        self._open: OrderedDict[Path, int] = OrderedDict()
        self._dirty: set[Path] = set()
        self._folders: set[Path] = set()

    def write(self, path: Path, at: int, data: bytes) -> None:
        """Writes all of `data` at a place of a file, which is made where there is none."""
        file = self._file(path, at)
        self._dirty.add(path)
        left = memoryview(data)
        with named(path):
            while left:
                done = self._disk.write(file, at, left)  # type: ignore[arg-type]
                left, at = left[done:], at + done

    def clear(self, path: Path) -> None:
        """Empties a file, if there is one."""
        self.rollback(path)
        if path.exists():
            self._disk.truncate(path, 0)

    def cut(self, path: Path, size: int) -> None:
        """Takes back what was written behind a file's committed end, as far as that can be done now."""
        self.rollback(path)
        with suppress(OSError):
            if not size:
                self._disk.remove(path)
            elif path.stat().st_size > size:
                self._disk.truncate(path, size)

    def sync(self) -> None:
        """All that was written, and the names of new files, survive a loss of power."""
        for path in list(self._dirty):
            self._synced(path)
        for folder in self._folders:
            sync_folder(self._disk, folder)
        self._folders.clear()

    def rollback(self, path: Path) -> None:
        """Closes a file, if it is open, without more ado: it is to be cut, renamed or removed."""
        self._dirty.discard(path)
        if (file := self._open.pop(path, None)) is not None:
            os.close(file)

    def close(self) -> None:
        """Closes every file; what was not synced may be lost."""
        for path in list(self._open):
            self.rollback(path)

    def _file(self, path: Path, at: int) -> int:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        while len(self._open) >= self._most:
            oldest = next(iter(self._open))
            self._synced(oldest)
            self.rollback(oldest)
        if not path.exists():
            self._folders.add(path.parent)
        with named(path):
            file = self._open[path] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if os.fstat(file).st_size < at:  # what was in front of it is not there any more
            raise FileNotFoundError(errno.ENOENT, _REMOVED, str(path))
        return file

    def _synced(self, path: Path) -> None:
        if path in self._dirty:
            with named(path):
                self._disk.sync(self._open[path])
            check_in_place(path, os.fstat(self._open[path]))
            self._dirty.discard(path)


def check_in_place(path: Path, status: os.stat_result) -> None:
    """Raise OSError where the file of this status is not the one at its path: it was removed, or replaced."""
    try:
        there = path.stat()
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, _REMOVED, str(path)) from None
    if (there.st_dev, there.st_ino) != (status.st_dev, status.st_ino):
        raise FileNotFoundError(errno.ENOENT, _REMOVED, str(path))


class named:  # noqa: N801, read as a word: `with named(path)`
    """Gives an OSError the name of its file, where the call knew only a number."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(self._path)


def sync_folder(disk: Disk, folder: Path) -> None:
    """Names of files in `folder` survive a loss of power, where the system can do that."""
    with suppress(PermissionError):  # a system that opens no folders
        file = os.open(folder, os.O_RDONLY)
        try:
            with named(folder):
                disk.sync(file)
        finally:
            os.close(file)
