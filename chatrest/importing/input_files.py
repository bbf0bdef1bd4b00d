"""The files of an import: plain, `.gz` or `.zst`, read line by line, with a digest of all bytes so far.

The digest is of the decompressed bytes from the beginning up to the end of a line. A run that goes on reads
the file from its beginning, and checks the digest where the run before it stopped.
"""

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final, NamedTuple

from ..errors import RequestInvalidError
from ..export.formats.compression import pack_errors, zstd_module
from .entities import Kind, Reader

LONGEST_LINE: Final = 16 * 1024 * 1024
"""Bytes; a record of the service is smaller by far."""
_SUFFIXES: Final = ("*.ndjson", "*.ndjson.gz", "*.ndjson.zst")


class Position(NamedTuple):
    """The end of a line: its number from 1, the bytes up to there, and their digest. Line 0 is the start."""

    line: int = 0
    offset: int = 0
    digest: bytes = b""


_BEGINNING: Final = Position()


class Line(NamedTuple):
    """A line without its line break; None for one that is longer than 16 MiB."""

    raw: bytes | None
    end: Position


class Input(NamedTuple):
    """Lines of one kind."""

    name: str
    """In results and in the journal."""
    path: Path
    """The file, or the folder of the export."""
    kind: Kind
    lines: Callable[..., Iterator[Line]]
    """Gives the lines after a position, once the bytes up to there and up to a second one are confirmed."""
    read: Reader
    is_last: bool = False
    """True for what comes after all kinds."""


def input_paths(files: Iterable[str | Path]) -> list[Path]:
    """Return the files, and for a folder the NDJSON files in it and in its `messages`, sorted by name.

    Raises `RequestInvalidError` if there is none, or if one does not exist.
    """
    paths: list[Path] = []
    for path in map(Path, files):
        if path.is_dir():
            within = [
                each for name in _SUFFIXES for each in (*path.glob(name), *path.glob(f"messages/{name}"))
            ]
            if not within:
                raise RequestInvalidError(f"files: the folder {str(path)!r} has no .ndjson file")
            paths += sorted(within)
        elif path.exists():
            paths.append(path)
        else:
            raise RequestInvalidError(f"files: there is no {str(path)!r}")
    if not paths:
        raise RequestInvalidError("files: allowed is one file or folder at least")
    return paths


def read_lines(path: Path, start: Position = _BEGINNING, until: Position = _BEGINNING) -> Iterator[Line]:
    """Yield the lines after `start`, once the bytes up to there, and up to `until`, are confirmed.

    Raises `RequestInvalidError` if they have changed, or if the file cannot be decompressed.
    """
    hasher = blake2b(digest_size=20)
    with _opened(path) as file:
        yield from _numbered(str(path), hasher, _file_lines(file, hasher), start, until)


def number_records(
    name: str,
    records: Callable[[], Iterable[bytes]],
    start: Position = _BEGINNING,
    until: Position = _BEGINNING,
) -> Iterator[Line]:
    """Yield records as lines, with the rules of `read_lines`; `name` stands for the file in errors."""
    hasher = blake2b(digest_size=20)
    yield from _numbered(name, hasher, _record_lines(records(), hasher), start, until)


def _numbered(
    name: str,
    hasher: "blake2b",
    lines: Iterable[tuple[bytes | None, int]],
    start: Position,
    until: Position,
) -> Iterator[Line]:
    """Yield lines with their positions; `hasher` has taken each of them when it comes."""
    line = offset = 0
    checks = {position.line: position for position in (start, until) if position.line}
    confirmed_at = max(checks, default=0)
    held: list[Line] = []
    for raw, size in lines:
        line, offset = line + 1, offset + size
        if line < start.line:
            continue
        end = Position(line, offset, hasher.copy().digest())
        if checks.pop(line, end) != end:
            raise _changed(name, line)
        if line > start.line:
            held.append(Line(raw, end))
        if line >= confirmed_at:
            yield from held
            held.clear()
    if checks:
        raise _changed(name, min(checks))


def _changed(name: str, line: int) -> RequestInvalidError:
    return RequestInvalidError(
        f"{name} has changed: its first {line:,} lines are not those that an earlier run has read; import a "
        "changed file with a journal of its own"
    )


def _file_lines(file: IO[bytes], hasher: "blake2b") -> Iterator[tuple[bytes | None, int]]:
    while (line := _read_line(file, hasher)) is not None:
        yield line


def _record_lines(records: Iterable[bytes], hasher: "blake2b") -> Iterator[tuple[bytes | None, int]]:
    for record in records:
        hasher.update(record)
        hasher.update(b"\n")
        yield record, len(record) + 1


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
    try:
        with _open(path) as file:
            yield file
    except pack_errors() as error:
        raise RequestInvalidError(f"{path} cannot be decompressed: {error}") from None


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return gzip.open(path)  # type: ignore[return-value]
    if path.suffix == ".zst":
        file: IO[bytes] = zstd_module("a .zst file").open(path)
        return file
    return path.open("rb")
