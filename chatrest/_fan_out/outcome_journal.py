"""The journal of a job: which of its items have an outcome, so that a killed job continues with the others.

A text file. The first line names the job as JSON; each further one is the outcome of an item: `+` (succeeded)
or `-` (failed) and 32 hexadecimal digits, a BLAKE2 digest of the item's key. Keys themselves are not written,
as an item may hold a credential. The last line of an item counts.

- A line is written at once, so a killed process loses none; it is synced to the disk once a second, so a loss
  of power may lose the last second. A lost line means that its item is run again.
- A cut-off or damaged end is dropped when the file is opened. Damage before a good line, a file that is no
  journal, and the journal of another job are refused.
- One process at a time writes it: the file is locked while it is open.
"""

import asyncio
import os
import re
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, final

import msgspec

from .._core.requests.arguments import check_unquoted
from .._storage import try_lock
from ..errors import RequestInvalidError

SYNC_EVERY: Final = 1.0
"""Seconds between two syncs to the disk while outcomes come."""
_KIND: Final = "outcome journal"
_VERSION: Final = 1
_LINE: Final = re.compile(rb"[+-][0-9a-f]{32}")


class _Header(msgspec.Struct, frozen=True):
    chatrest: str
    version: int
    job: str


def digest_of(key: Any) -> bytes:
    """Return the digest of an item's key; `RequestInvalidError` for a key that has no JSON."""
    try:
        text = msgspec.json.encode(key, order="deterministic")
    except (TypeError, ValueError, RecursionError):
        raise RequestInvalidError(
            f"journal: an item [{type(key).__name__}] has no JSON: give key=, a function of an item"
        ) from None
    return blake2b(text, digest_size=16).digest()


def job_of(worker: Callable[..., Any]) -> str:
    """Return the name of a job whose caller gave none: that of its worker."""
    function = getattr(worker, "func", worker)  # of a functools.partial
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', None) or type(function).__module__}.{name}"


@final
class OutcomeJournal:
    """The open journal of one job. Opening reads the file: 16 bytes and an entry of a dict for an item.

    `retry_failed`: items whose last outcome is a failure count as having none. Raises `RequestInvalidError`
    for a file that cannot be this job's journal, and `OSError`.
    """

    def __init__(self, path: Path, job: str, *, retry_failed: bool, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._done: dict[bytes, bool] = {}
        self._sync: asyncio.Future[None] | None = None
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            if not try_lock(self._file):
                raise RequestInvalidError(f"journal {str(path)!r} is in use by another job or process")
            self._read(path, job, retry_failed)
        except BaseException:
            os.close(self._file)
            raise
        self._synced_at = clock()

    def ok(self, digest: bytes) -> bool | None:
        """Return the outcome that an item had when the journal was opened: True if it succeeded, or None."""
        return self._done.get(digest)

    def add(self, digest: bytes, *, ok: bool) -> None:
        """Write the outcome of an item; raise `OSError` if that fails."""
        _write(self._file, b"%b%b\n" % (b"+" if ok else b"-", digest.hex().encode()))
        now = self._clock()
        if now - self._synced_at >= SYNC_EVERY and (self._sync is None or self._sync.done()):
            self._synced_at = now
            if self._sync is not None:
                self._sync.result()
            self._sync = asyncio.get_running_loop().run_in_executor(None, os.fsync, self._file)

    @property
    def pending(self) -> list[asyncio.Future[None]]:
        """The sync that runs in a thread, if one does; it is to be awaited before `close`."""
        return [] if self._sync is None or self._sync.done() else [self._sync]

    def close(self) -> None:
        """Sync and close the file; raise `OSError` if that fails."""
        try:
            if self._sync is not None:
                self._sync.result()
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def _read(self, path: Path, job: str, retry_failed: bool) -> None:
        text = _read_all(self._file)
        header = msgspec.json.encode(_Header(_KIND, _VERSION, job)) + b"\n"
        first, newline, rest = text.partition(b"\n")
        if not newline and header.startswith(first):  # new, or killed while its first line was written
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            _write(self._file, header)
            return
        _check_header(path, first, job)
        lines = rest.split(b"\n")
        last = lines.pop()  # empty, or cut off
        good = len(lines)
        while good and not _LINE.fullmatch(lines[good - 1]):
            good -= 1
        for number, line in enumerate(lines[:good], 2):
            if not _LINE.fullmatch(line):
                raise RequestInvalidError(f"journal {str(path)!r} is damaged: line {number} is no outcome")
            digest = bytes.fromhex(line[1:].decode())
            if line[:1] == b"+" or not retry_failed:
                self._done[digest] = line[:1] == b"+"
            else:
                self._done.pop(digest, None)
        dropped = len(last) + sum(len(line) + 1 for line in lines[good:])
        if dropped:
            os.ftruncate(self._file, len(text) - dropped)
        os.lseek(self._file, len(text) - dropped, os.SEEK_SET)


def _check_header(path: Path, line: bytes, job: str) -> None:
    try:
        header = msgspec.json.decode(line, type=_Header)
    except msgspec.MsgspecError:
        header = None
    if header is None or header.chatrest != _KIND:
        raise RequestInvalidError(f"{str(path)!r} is not a journal of outcomes; it was left as it is")
    if header.version != _VERSION:
        raise RequestInvalidError(f"journal {str(path)!r} has version {header.version}: expected {_VERSION}")
    if header.job != job:
        raise RequestInvalidError(
            f"journal {str(path)!r} belongs to the job {header.job!r}, and this job is {job!r}"
        )


def _read_all(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write(file: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(file, remaining) :]


def check_path(path: object) -> Path | None:
    """Return the path of a journal, None for none; `RequestInvalidError` for what is no path."""
    if path is None:
        return None
    check_unquoted(isinstance(path, str | os.PathLike), "journal", path, "a path, or None")
    assert isinstance(path, str | os.PathLike)
    return Path(path)
