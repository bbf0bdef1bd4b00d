"""The lines of files, plain, `.gz` or `.zst`, each with a digest of all bytes up to its end.

The digest is of the decompressed bytes. A run that continues reads a file from its beginning, and checks the
digest where the run before it stopped.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from ..errors import RequestInvalidError
from ..export.formats.stored_records import pack_errors, zstd_module

MAX_LINE: Final = 16 * 1024 * 1024
"""Bytes; a record of the service is smaller by far."""


class LinePosition(NamedTuple):
    """The end of a line: its number from 1, the bytes up to there, and their digest. Line 0 is the start."""

    line: int = 0
    offset: int = 0
    digest: bytes = b""


_BEGINNING: Final = LinePosition()


class ImportLine(NamedTuple):
    """A line without its line break; `raw` is None for one that is longer than `MAX_LINE`."""

    raw: bytes | None
    end: LinePosition


def read_lines(
    path: Path, start: LinePosition = _BEGINNING, until: LinePosition = _BEGINNING
) -> Iterator[ImportLine]:
    """Yield the lines after `start`, once the digests there and at `until` are confirmed.

    The lines between the two wait in memory. Raises `RequestInvalidError` for a file that has changed before
    `start` or `until`, or that cannot be decompressed.
    """
    hasher, unconfirmed = blake2b(digest_size=20), list[ImportLine]()
    checks = {position.line: position for position in (start, until) if position.line}
    confirmed_at, number, offset = max(checks, default=0), 0, 0
    with _open(path) as file:
        while (line := _read_line(file, hasher)) is not None:
            raw, size = line
            number, offset = number + 1, offset + size
            if number < start.line:
                continue
            end = LinePosition(number, offset, hasher.copy().digest())
            if checks.pop(number, end) != end:
                raise _change_error(path, number)
            if number > start.line:
                unconfirmed.append(ImportLine(raw, end))
            if number >= confirmed_at:
                yield from unconfirmed
                unconfirmed.clear()
    if checks:
        raise _change_error(path, min(checks))


def _change_error(path: Path, line: int) -> RequestInvalidError:
    return RequestInvalidError(
        f"{path} has changed: its first {line:,} lines are not those that an earlier run has read; import a "
        "changed file with another journal"
    )


def _read_line(file: IO[bytes], hasher: "blake2b") -> tuple[bytes | None, int] | None:
    """Return the next line, None for one that is too long, and its size; None at the end of the file."""
    raw = file.readline(MAX_LINE + 1)
    if not raw:
        return None
    hasher.update(raw)
    size = len(raw)
    if size <= MAX_LINE:
        return raw.rstrip(b"\r\n"), size
    while not raw.endswith(b"\n") and (raw := file.readline(MAX_LINE)):
        hasher.update(raw)
        size += len(raw)
    return None, size


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for its decompressed bytes; damage of the compression is a `RequestInvalidError`."""
    unpack: Any = {".gz": gzip, ".zst": zstd_module("a .zst file") if path.suffix == ".zst" else None}
    try:
        with unpack[path.suffix].open(path) if path.suffix in unpack else path.open("rb") as file:
            yield file
    except pack_errors() as error:
        raise RequestInvalidError(f"{path} cannot be decompressed: {error}") from None
