"""Conditional writes in a folder, for which obstore has no conditional replacement.

A lock on the folder itself keeps the writers of one machine apart; nothing is left behind by a crash but a
temporary file, whose name (`…#digits`) obstore does not list.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import randbelow
from typing import Final

if sys.platform != "win32":
    import fcntl

_TEMPORARY_NAMES: Final = 10**18


def create_file(path: Path, data: bytes) -> None:
    """Create a file whole and durably; FileExistsError if there is one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _write_temporary(path, data)
    try:
        os.link(temporary, path)
    finally:
        temporary.unlink()
    sync_folder(path.parent)


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in the place of another, whole and durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _write_temporary(path, data)
    try:
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold a folder's lock among the processes of this machine; NotImplementedError without such locks."""
    if sys.platform == "win32":
        raise NotImplementedError("locks of folders")
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make a file's content and name survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names of a folder survive a loss of power, on systems that open folders."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_temporary(path: Path, data: bytes) -> Path:
    temporary = path.with_name(f"{path.name}#{randbelow(_TEMPORARY_NAMES)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
