"""The demo's directory: files that appear whole or not at all, and nobody else's are touched.

A mark in the directory names the files of the run that made it, before the first of them is written. So
a later run knows what is its own to replace, even after one that was cut short.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, BinaryIO, Final, Self, final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from ...errors import RequestInvalidError

MARK: Final = "demo.json"
_MAKER: Final = "chatrest demo"
_PART: Final = ".part"
_LONGEST = 150  # a file's name may have 255 bytes on most systems, with what is added to it


class _Mark(Struct):
    made_by: str
    files: list[str]
    report: dict[str, Any] = {}


def file_name(uid: str) -> str:
    """A file name for any uid: percent-encoded, never hidden, never a path, never too long."""
    name = quote(uid, safe="", errors="surrogatepass")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


@final
class JsonLines:
    """A file of JSON lines: under a temporary name until it is whole, gone where it never gets so.

    Used with `with`. A file to which nothing is written is not made.
    """

    def __init__(self, path: Path) -> None:
        self.size = 0
        self._path = path
        self._part = path.with_name(path.name + _PART)
        self._file: BinaryIO | None = None

    def write(self, lines: list[bytes]) -> None:
        """Adds the lines."""
        if self._file is None:
            self._path.parent.mkdir(exist_ok=True)
            self._file = self._part.open("wb")
        self.size += self._file.write(b"".join(b"%b\n" % line for line in lines))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError:
            self._part.unlink(missing_ok=True)
            raise
        if error is None:
            self._part.replace(self._path)
        else:
            self._part.unlink(missing_ok=True)


@final
class Folder:
    """The directory that a demo writes to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._planned: list[str] = []

    def claim(self) -> None:
        """Makes the directory; refuses one that is neither empty nor of an earlier demo."""
        if self.path.exists() and not self.path.is_dir():
            raise RequestInvalidError(f"{self.path} is no directory: choose another with --out")
        self.path.mkdir(parents=True, exist_ok=True)
        if any(self.path.iterdir()) and self._mark() is None:
            raise RequestInvalidError(
                f"{self.path} holds something else than a demo's export, and is not touched: "
                "choose another with --out"
            )

    def plan(self, names: Iterable[str]) -> None:
        """Removes what an earlier run left, and marks these files as this run's."""
        self.claim()
        earlier = self._mark()
        for path in self._paths([] if earlier is None else earlier.files):
            path.unlink(missing_ok=True)
            path.with_name(path.name + _PART).unlink(missing_ok=True)
            if path.parent != self.path and path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()
        self._planned = list(names)
        self._write_mark({})

    def file(self, name: str) -> JsonLines:
        """One of the planned files."""
        assert name in self._planned
        return JsonLines(self.path / name)

    def finish(self, report: dict[str, Any]) -> None:
        """Puts the report into the mark."""
        self._planned = [name for name in self._planned if (self.path / name).exists()]
        self._write_mark(report)

    def _mark(self) -> _Mark | None:
        try:
            mark = msgspec.json.decode((self.path / MARK).read_bytes(), type=_Mark)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return mark if mark.made_by == _MAKER else None

    def _write_mark(self, report: dict[str, Any]) -> None:
        mark = msgspec.json.encode(_Mark(_MAKER, self._planned, report))
        part = self.path / (MARK + _PART)
        part.write_bytes(msgspec.json.format(mark) + b"\n")
        part.replace(self.path / MARK)

    def _paths(self, names: list[str]) -> Iterator[Path]:
        """Below this directory alone, whatever the mark says."""
        for name in names:
            parts = PurePosixPath(name).parts
            if name.endswith(".jsonl") and len(parts) <= 2 and not {"..", "/"} & {*parts}:
                yield self.path.joinpath(*parts)
