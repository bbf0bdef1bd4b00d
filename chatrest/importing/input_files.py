"""The lines of an import: of files, plain, `.gz` or `.zst`, or of any records, with a digest of all so far.

The digest is of the decompressed bytes from the beginning up to the end of a line. A run that continues reads
the file from its beginning, and checks the digest where the run before it stopped.
"""

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from ..errors import RequestInvalidError
from ..export.formats.compression import pack_errors, zstd_module

LONGEST_LINE: Final = 16 * 1024 * 1024
"""Bytes; a record of the service is smaller by far."""
_SUFFIXES: Final = ("*.ndjson", "*.ndjson.gz", "*.ndjson.zst")


class LinePosition(NamedTuple):
    """The end of a line: its number from 1, the bytes up to there, and their digest. Line 0 is the start."""

    line: int = 0
    offset: int = 0
    digest: bytes = b""


_BEGINNING: Final = LinePosition()


class ImportLine(NamedTuple):
    """A line without its line break; None for one that is longer than 16 MiB."""

    raw: bytes | None
    end: LinePosition


def input_paths(path: Path) -> list[Path]:
    """Return a file, or of a folder the NDJSON files in it and in its `messages`, sorted by name.

    Raises `RequestInvalidError` if there is none.
    """
    if not path.exists():
        raise RequestInvalidError(f"files: there is no {str(path)!r}")
    if not path.is_dir():
        return [path]
    within = [each for name in _SUFFIXES for each in (*path.glob(name), *path.glob(f"messages/{name}"))]
    if not within:
        raise RequestInvalidError(f"files: the folder {str(path)!r} has no .ndjson file")
    return sorted(within)


def read_lines(
    path: Path, start: LinePosition = _BEGINNING, until: LinePosition = _BEGINNING
) -> Iterator[ImportLine]:
    """Yield the lines after `start`, once the bytes up to there, and up to `until`, are confirmed.

    Raises `RequestInvalidError` if they have changed, or if the file cannot be decompressed.
    """
    hasher = blake2b(digest_size=20)
    with _opened(path) as file:
        yield from _numbered(str(path), hasher, iter(lambda: _read_line(file, hasher), None), start, until)


def number_records(
    name: str,
    records: Callable[[], Iterable[bytes]],
    start: LinePosition = _BEGINNING,
    until: LinePosition = _BEGINNING,
) -> Iterator[ImportLine]:
    """Yield records as lines, with the rules of `read_lines`; `name` stands for the file in errors."""
    hasher = blake2b(digest_size=20)

    def lines() -> Iterator[tuple[bytes, int]]:
        for record in records():
            hasher.update(record)
            hasher.update(b"\n")
            yield record, len(record) + 1

    yield from _numbered(name, hasher, lines(), start, until)


def _numbered(
    name: str,
    hasher: "blake2b",
    lines: Iterable[tuple[bytes | None, int]],
    start: LinePosition,
    until: LinePosition,
) -> Iterator[ImportLine]:
    """Yield lines, given with their sizes, with positions; `hasher` has taken each before it is yielded."""
    offset = 0
    checks = {position.line: position for position in (start, until) if position.line}
    confirmed_at = max(checks, default=0)
    held: list[ImportLine] = []
    for number, (raw, size) in enumerate(lines, 1):
        offset += size
        if number < start.line:
            continue
        end = LinePosition(number, offset, hasher.copy().digest())
        if checks.pop(number, end) != end:
            raise _changed(name, number)
        if number > start.line:
            held.append(ImportLine(raw, end))
        if number >= confirmed_at:
            yield from held
            held.clear()
    if checks:
        raise _changed(name, min(checks))


def _changed(name: str, line: int) -> RequestInvalidError:
    return RequestInvalidError(
        f"{name} has changed: its first {line:,} lines are not those that an earlier run has read; import a "
        "changed file with another journal"
    )


def _read_line(file: IO[bytes], hasher: "blake2b") -> tuple[bytes | None, int] | None:
    """Return the next line, None for one that is too long, and its size; None at the end of the file."""
    raw = file.readline(LONGEST_LINE + 1)
    if not raw:
        return None
    hasher.update(raw)
    size = len(raw)
    if size <= LONGEST_LINE:
        return raw.rstrip(b"\r\n"), size
    while not raw.endswith(b"\n") and (raw := file.readline(LONGEST_LINE)):
        hasher.update(raw)
        size += len(raw)
    return None, size


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for its decompressed bytes; damage of the compression is a `RequestInvalidError`."""
    unpack: Any = {".gz": gzip, ".zst": zstd_module("a .zst file") if path.suffix == ".zst" else None}
    try:
        with unpack[path.suffix].open(path) if path.suffix in unpack else path.open("rb") as file:
            yield file
    except pack_errors() as error:
        raise RequestInvalidError(f"{path} cannot be decompressed: {error}") from None
