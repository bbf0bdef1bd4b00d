"""Shared parts of the tests of the Parquet sink: a sink without a service, records, a failing disk."""

import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from chatrest.core.rows import Row, row_of, rows
from chatrest.export import Plan
from chatrest.export.disk import Disk, OpenFiles
from chatrest.export.formats.parquet import ParquetSink
from chatrest.export.journal import NAME, Journal
from chatrest.export.ownership import Source
from chatrest.export.workspace import Workspace
from tests.dying import ProcessDeath

ALICE, BOB = Source("user", ("alice",)), Source("user", ("bob",))
SEPTEMBER, OCTOBER = 1_600_000_000, 1_602_000_000
DAY = 86_400
LARGE = 1 << 26


class Quick(Disk):
    """A disk without syncs, which are slow and make no difference to a test."""

    def sync(self, file: int) -> None:
        pass


class Export:
    """A sink in a folder, without a service; used with `with`."""

    def __init__(self, folder: Path, disk: Disk | None = None, *, largest: int = LARGE, **plan: Any) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.journal = Journal(folder / NAME)
        self.files = OpenFiles(disk := disk or Quick())
        workspace = Workspace(folder, self.journal, disk, self.files)
        self.sink = ParquetSink(Plan(format="parquet", **plan), workspace, largest=largest)
        try:
            with self.journal.transaction():
                self.journal.add_sources([ALICE, BOB])
                self.lost = self.sink.recover()
        except BaseException:
            self.journal.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sink.close()
        self.files.close()
        self.journal.close()

    def commit(self, page_rows: list[Row], source: Source = ALICE) -> None:
        """Add a page and flush it."""
        with self.journal.transaction():
            self.sink.add(self.number(source), source, page_rows)
            self.sink.flush()

    def change(self, page_rows: list[Row]) -> None:
        """Record changed messages in the journal."""
        with self.journal.transaction():
            self.journal.change(page_rows)

    def number(self, source: Source) -> int:
        return self.journal.source_of(source.key)

    def done(self) -> int:
        """Finish a run; return the number of amended messages."""
        amended = self.sink.apply_updates()
        self.sink.finish()
        return amended

    def scan(self, **where: int) -> list[bytes]:
        return [bytes(row.raw) for row, _ in self.sink.scan(**where)]


def record(number: int, at: int = SEPTEMBER, **members: Any) -> bytes:
    return json.dumps({"id": str(number), "sender": "alice", "sentAt": at, **members}).encode()


def page(first: int, count: int = 10, at: int = SEPTEMBER, **members: Any) -> list[Row]:
    return [row_of(record(number, at, **members)) for number in range(first, first + count)]


def served(*raws: bytes) -> list[Row]:
    """Return the rows of a page with these records."""
    return rows(b'{"data":[' + b",".join(raws) + b"]}").items


def table(folder: Path) -> Any:
    """Read all exported messages with pyarrow only."""
    return pa.concat_tables(pq.read_table(path) for path in sorted(folder.glob("*.parquet")))


def ids(folder: Path) -> list[str]:
    return sorted(table(folder)["id"].to_pylist(), key=int)


def files(folder: Path) -> list[str]:
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.startswith("journal.sqlite"))


class Failing(Quick):
    """A disk that fails after `last` calls; with `half`, the failing call does half of its work."""

    def __init__(self, last: int, error: Callable[[], BaseException], *, half: bool = False) -> None:
        self._left = last
        self._error = error
        self._half = half
        self.failed = False

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            self.failed = True
            raise self._error()

    def write(self, file: int, at: int, data: bytes) -> int:
        if self._half and self._left == 0:
            super().write(file, at, bytes(data)[: len(data) // 2])
        self._count()
        return super().write(file, at, data)

    def sync(self, file: int) -> None:
        self._count()

    def truncate(self, path: Path, size: int) -> None:
        self._count()
        super().truncate(path, size)

    def replace(self, old: Path, new: Path) -> None:
        if self._half and self._left == 0:
            super().replace(old, new)
        self._count()
        super().replace(old, new)

    def remove(self, path: Path) -> None:
        if self._half and self._left == 0:
            super().remove(path)
        self._count()
        super().remove(path)


def crashed(folder: Path, work: Callable[[Export], object], calls: int, error: Any, half: bool) -> bool:
    """Run `work` on a disk that fails after `calls` calls; return True if it finished before."""
    disk = Failing(calls, error, half=half)
    try:
        with Export(folder, disk, largest=100) as out:
            work(out)
    except (ProcessDeath, OSError):
        assert disk.failed
    return not disk.failed


def history(folder: Path) -> list[Any]:
    """Return the older versions of messages."""
    packed = (folder / "history.jsonl.zst").read_bytes()
    lines = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read()
    return [json.loads(line) for line in lines.splitlines()]
