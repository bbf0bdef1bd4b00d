"""Hashes of files that were computed before, so that each publication reads only what has changed."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias, final

import msgspec

from ...cloud.transfer import file_sha256
from ..disk import Disk
from ..manifest import put

_NEW: Final = 5.0
"""Seconds after its last change in which a file is not remembered: the clock of a disk may be coarse."""

_Key: TypeAlias = str


@final
class FileHashes:
    """SHA-256 by a file's number on its disk, the time of its last change, and the bytes that are hashed."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        """`path` is the place of the hashes; one that cannot be read counts as empty."""
        self._path = path
        self._now = now
        self._used: dict[_Key, str] = {}
        try:
            self._stored = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            self._stored = {}

    def sha256(self, path: Path, size: int) -> str:
        """Return the hash of the first `size` bytes of a file; OSError where it cannot be read."""
        status = path.stat()
        key = f"{status.st_dev}-{status.st_ino}-{status.st_mtime_ns}-{size}"
        digest = self._used.get(key) or self._stored.get(key) or file_sha256(path, size)
        if self._now() - status.st_mtime > _NEW and path.stat().st_mtime_ns == status.st_mtime_ns:
            self._used[key] = digest
        return digest

    def save(self) -> None:
        """Write the hashes that were asked for since the last time, and forget the others."""
        if self._used and self._used != self._stored:
            put(Disk(), self._path, msgspec.json.encode(self._used))
        self._stored, self._used = self._used or self._stored, {}
