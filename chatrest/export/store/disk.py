"""The file system as an export uses it: few calls, in one place.

A test puts its own in the place of it, and lets any call fail, or be the process's last.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..plan.file_names import DAMAGED


class Disk:
    """The real one. Raises OSError, with the file's name."""

    def write(self, file: int, position: int, data: bytes) -> int:
        """Write `data` at a position of an open file; return how many bytes were written."""
        return os.pwrite(file, data, position)

    def sync(self, file: int) -> None:
        """Let what was written survive a loss of power."""
        os.fsync(file)

    def replace(self, old: Path, new: Path) -> None:
        """Rename, in one moment, over what is there."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file; fine where there is none."""
        path.unlink(missing_ok=True)


def write_all(disk: Disk, file: int, position: int, data: bytes | bytearray) -> int:
    """Write data at a position of an open file; return the position after it."""
    rest = memoryview(data)
    while rest:
        written = disk.write(file, position, rest)  # type: ignore[arg-type]
        rest, position = rest[written:], position + written
    return position


@contextmanager
def error_path(path: Path) -> Iterator[None]:
    """Give an OSError inside of `with` this path, where the call knew only a number."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def sync_folder(disk: Disk, folder: Path) -> None:
    """Let the names of files in `folder` survive a loss of power, where the system can do that."""
    with suppress(PermissionError):  # a system that opens no folders
        file = os.open(folder, os.O_RDONLY)
        try:
            with error_path(folder):
                disk.sync(file)
        finally:
            os.close(file)


def make_folder(disk: Disk, folder: Path) -> None:
    """Make a folder, with those that it is in; their names survive a loss of power."""
    if not folder.exists():
        make_folder(disk, folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(disk, folder.parent)


def set_aside(disk: Disk, folder: Path, path: Path) -> None:
    """Move a file of an export to the folder `damaged`; nothing is overwritten."""
    new = free_aside(disk, folder, path)
    disk.replace(path, new)
    sync_folder(disk, new.parent)
    sync_folder(disk, path.parent)


def free_aside(disk: Disk, folder: Path, path: Path) -> Path:
    """Return a path in the folder `damaged`, which is made, that no file has yet."""
    name, count = path.relative_to(folder), 1
    while (aside := folder / DAMAGED / f"{name}.damaged-{count}").exists():
        count += 1
    make_folder(disk, aside.parent)
    return aside
