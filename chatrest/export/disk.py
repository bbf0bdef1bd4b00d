"""The file system as an export uses it: few calls, in one place, and a bounded number of open files.

A test puts its own in the place of it, and lets any call fail, or be the process's last.
"""

import errno
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from ..storage import REMOVED, check_in_place
from .file_names import DAMAGED, path_inside

MAX_OPEN: Final = 64
"""Files that are kept open at once."""
_CHUNK: Final = 1 << 20
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)


class Disk:
    """The real one. Raises OSError, with the file's name."""

    def write(self, file: int, position: int, data: bytes) -> int:
        """Write `data` at a position of an open file; return how many bytes were written."""
        return os.pwrite(file, data, position)

    def sync(self, file: int) -> None:
        """Let what was written survive a loss of power."""
        os.fsync(file)

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file to its first `size` bytes."""
        os.truncate(path, size)

    def replace(self, old: Path, new: Path) -> None:
        """Rename, in one moment, over what is there."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file; fine where there is none."""
        path.unlink(missing_ok=True)


@final
class OpenFiles:
    """Files that are being written; the ones that were not used for longest are closed."""

    def __init__(self, disk: Disk, most: int = MAX_OPEN) -> None:
        self._disk = disk
        self._most = most
        self._open: OrderedDict[Path, int] = OrderedDict()
        self._dirty: set[Path] = set()
        self._folders: set[Path] = set()

    def write(self, path: Path, position: int, data: bytes) -> None:
        """Write all of `data` at a position of a file, which is made where there is none."""
        file = self._file(path, position)
        self._dirty.add(path)
        rest = memoryview(data)
        with ErrorPath(path):
            while rest:
                size = self._disk.write(file, position, rest)  # type: ignore[arg-type]
                rest, position = rest[size:], position + size

    def clear(self, path: Path) -> None:
        """Empty a file, if there is one."""
        self.release(path)
        if path.exists():
            self._disk.truncate(path, 0)

    def cut(self, path: Path, size: int) -> None:
        """Take back what was written behind a file's committed end, as far as that can be done now."""
        self.release(path)
        with suppress(OSError):
            if not size:
                self._disk.remove(path)
            elif path.stat().st_size > size:
                self._disk.truncate(path, size)

    def sync(self) -> None:
        """Let all that was written, and the names of new files, survive a loss of power."""
        for path in list(self._dirty):
            self._sync(path)
        for folder in self._folders:
            sync_folder(self._disk, folder)
        self._folders.clear()

    def release(self, path: Path) -> None:
        """Close a file, if it is open, without a sync: it is to be cut, renamed or removed."""
        self._dirty.discard(path)
        if (file := self._open.pop(path, None)) is not None:
            os.close(file)

    def close(self) -> None:
        """Close every file; what was not synced may be lost."""
        for path in list(self._open):
            self.release(path)

    def _file(self, path: Path, size: int) -> int:
        """Return an open file, opened where it is not; OSError where it has fewer bytes than it must have."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        while len(self._open) >= self._most:
            oldest = next(iter(self._open))
            self._sync(oldest)
            self.release(oldest)
        if not path.exists():
            self._folders.add(path.parent)
        with ErrorPath(path):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | _NO_LINK
            file = self._open[path] = os.open(path, flags, 0o644)
        if os.fstat(file).st_size < size:
            raise FileNotFoundError(errno.ENOENT, REMOVED, str(path))
        return file

    def _sync(self, path: Path) -> None:
        if path in self._dirty:
            with ErrorPath(path):
                self._disk.sync(self._open[path])
            check_in_place(path, os.fstat(self._open[path]))
            self._dirty.discard(path)


@final
class ErrorPath:
    """The path that an OSError inside of `with` is given, where the call knew only a number."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(self._path)


def sync_folder(disk: Disk, folder: Path) -> None:
    """Let the names of files in `folder` survive a loss of power, where the system can do that."""
    with suppress(PermissionError):  # a system that opens no folders
        file = os.open(folder, os.O_RDONLY)
        try:
            with ErrorPath(folder):
                disk.sync(file)
        finally:
            os.close(file)


def make_folder(disk: Disk, folder: Path) -> None:
    """Make a folder, with those that it is in; their names survive a loss of power."""
    if not folder.exists():
        make_folder(disk, folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(disk, folder.parent)


def set_aside(disk: Disk, folder: Path, name: str) -> Path:
    """Move a file of an export to the folder `damaged`, as `NAME.damaged-1`; return its new path.

    There, no program that reads the folder of messages meets it. Nothing is overwritten.
    """
    old, new = path_inside(folder, name), _free_aside(folder, name)
    make_folder(disk, new.parent)
    disk.replace(old, new)
    sync_folder(disk, new.parent)
    sync_folder(disk, old.parent)
    return new


def copy_aside(files: OpenFiles, disk: Disk, folder: Path, name: str) -> Path:
    """Copy a file that is to be cut to where `set_aside` would move it; return the copy's path."""
    old, new = path_inside(folder, name), _free_aside(folder, name)
    make_folder(disk, new.parent)
    position = 0
    with old.open("rb") as file:
        while chunk := file.read(_CHUNK):
            files.write(new, position, chunk)
            position += len(chunk)
    files.sync()
    files.release(new)
    return new


def _free_aside(folder: Path, name: str) -> Path:
    count = 1
    while (path := path_inside(folder, f"{DAMAGED}/{name}.damaged-{count}")).exists():
        count += 1
    return path
