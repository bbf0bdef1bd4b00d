"""Shared parts of the tests of files: an archive without a service, records, and a failing disk."""

import errno
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from chatrest._core.replies.rows import Row, row_of, rows
from chatrest.export.folder.export_folder import ExportFolder, FetchedPage
from chatrest.export.plan.id_set import IdSet
from chatrest.export.plan.message_ids import PageIds, ids_of
from chatrest.export.plan.ownership import Source
from chatrest.export.plan.plan import Plan
from chatrest.export.store.disk import Disk

ALICE, BOB = Source("user", ("alice",)), Source("user", ("bob",))
SEPTEMBER, OCTOBER = 1_600_000_000, 1_602_000_000
DAY = 86_400


class Quick(Disk):
    """A disk without syncs, which are slow and make no difference to a test."""

    def sync(self, file: int) -> None:
        pass


class Export:
    """An archive in a folder, without a service; used with `with`."""

    SOURCES = (ALICE, BOB)

    def __init__(self, folder: Path, disk: Disk | None = None, **plan: Any) -> None:
        self.folder = folder
        self.plan = Plan(**{"users": ["alice", "bob"]} | plan)
        self.archive = ExportFolder(folder, self.plan, app_id="an app", disk=disk or Quick())
        self.journal = self.archive.journal
        with self.journal.transaction():
            self.journal.add_sources(self.SOURCES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.archive.close()

    def commit(self, page_rows: list[Row], source: Source | None = None) -> int:
        """Write a page of a source; of the first one, where none is given."""
        source = source or self.SOURCES[0]
        return self.archive.commit([
            FetchedPage(
                number=self.journal.source_of(source.key), source=source, after=0, last=0,
                seen=PageIds(IdSet(), {}), rows=page_rows, ids=ids_of(page_rows),
            )
        ]).written  # fmt: skip

    def change(self, page_rows: list[Row]) -> None:
        """Record changed messages in the journal."""
        with self.journal.transaction():
            self.journal.change(page_rows)

    def done(self) -> int:
        """Finish a run; return the number of updated messages."""
        return self.archive.finish()

    def compact(self, least: int) -> int:
        """Merge small files; return how many are gone."""
        return self.archive.store.compact(least)

    def scan(self, **where: int) -> list[bytes]:
        return [bytes(row.raw) for row in self.archive.scan(**where)]

    def written(self) -> list[int]:
        return list(self.archive.store.written)


def record(number: int, at: int = SEPTEMBER, **members: Any) -> bytes:
    return json.dumps({"id": str(number), "sender": "alice", "sentAt": at, **members}).encode()


def page(first: int, count: int = 10, at: int = SEPTEMBER, **members: Any) -> list[Row]:
    return [row_of(record(number, at, **members)) for number in range(first, first + count)]


def served(*raws: bytes) -> list[Row]:
    """Return the rows of a page with these records."""
    return rows(b'{"data":[' + b",".join(raws) + b"]}").items


def stored(folder: Path) -> list[bytes]:
    """Read the records of all data files without the library, in any format."""
    records: list[bytes] = []
    for path in sorted((folder / "messages").rglob("*")):
        match path.suffix:
            case ".parquet":
                records += pq.ParquetFile(path).read(["raw"])["raw"].cast(pa.binary()).to_pylist()
            case ".ndjson":
                records += path.read_bytes().splitlines()
            case ".gz":
                records += gzip.decompress(path.read_bytes()).splitlines()
            case ".zst":
                records += unzstd(path.read_bytes()).splitlines()
    return records


def unzstd(packed: bytes) -> bytes:
    data: bytes = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read()
    return data


def ids(folder: Path) -> list[int]:
    """Return the ids of all data files, in ascending order; one that is there twice is in the list twice."""
    return sorted(int(json.loads(raw)["id"]) for raw in stored(folder))


def files(folder: Path) -> list[str]:
    """Return the names of all files except the journal's."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.startswith("journal.sqlite"))


class Failing(Quick):
    """A disk that fails after `last` calls."""

    def __init__(self, last: int, error: Callable[[], BaseException]) -> None:
        self._left = last
        self._error = error
        self.failed = False

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            self.failed = True
            raise self._error()

    def write(self, file: int, position: int, data: bytes) -> int:
        self._count()
        return super().write(file, position, data)

    def sync(self, file: int) -> None:
        self._count()

    def replace(self, old: Path, new: Path) -> None:
        self._count()
        super().replace(old, new)

    def remove(self, path: Path) -> None:
        self._count()
        super().remove(path)


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def history(folder: Path) -> list[Any]:
    """Return the older versions of messages."""
    [path] = folder.glob("history*")
    data = path.read_bytes()
    match path.suffix:
        case ".zst":
            data = unzstd(data)
        case ".gz":
            data = gzip.decompress(data)
    return [json.loads(line) for line in data.splitlines()]
