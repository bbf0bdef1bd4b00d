"""Shared parts of the tests of files: an export without a service, and what other programs read of it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chatrest._core.replies.rows import Row, row_of, rows
from chatrest.export.folder.changed_messages import ReplacedMessages
from chatrest.export.plan.export_plan import Plan
from chatrest.export.plan.ownership import Source
from tests.support.stored_exports import START as SEPTEMBER, StoredExport

ALICE, BOB = Source("user", ("alice",)), Source("user", ("bob",))
OCTOBER = 1_602_000_000


class Export(StoredExport):
    """An export of alice and bob."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        super().__init__(folder, Plan(users=["alice", "bob"], **plan))

    def add(self, page_rows: list[Row], source: Source = ALICE) -> None:
        self.write({source: page_rows})

    def change(self, page_rows: list[Row]) -> None:
        with self.journal.transaction():
            self.journal.pending_changes.note(page_rows)

    def done(self) -> ReplacedMessages:
        return self.export.finish()

    def scan(self) -> list[bytes]:
        return [bytes(row.raw) for row in self.export.scan()]


def record(number: int, at: int = SEPTEMBER, **members: Any) -> bytes:
    return json.dumps({"id": str(number), "sender": "alice", "sentAt": at, **members}).encode()


def page(first: int, count: int = 10, at: int = SEPTEMBER, **members: Any) -> list[Row]:
    return [row_of(record(number, at, **members)) for number in range(first, first + count)]


def served(*raws: bytes) -> list[Row]:
    return rows(b'{"data":[' + b",".join(raws) + b"]}").items


def ids(folder: Path) -> list[int]:
    """Return the ids of all data files, in ascending order; one that is there twice is in the list twice."""
    raws = list[bytes]()
    for path in sorted((folder / "messages").rglob("*.*")):
        if path.suffix == ".parquet":
            raws += pq.ParquetFile(path).read(["raw"])["raw"].cast(pa.binary()).to_pylist()
        else:
            packing = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
            raws += pa.input_stream(path, compression=packing).read().splitlines()
    return sorted(int(json.loads(raw)["id"]) for raw in raws)


def files(folder: Path) -> list[str]:
    """Return the names of all files except the journal's."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.startswith("journal.sqlite"))


def table(folder: Path) -> Any:
    """Read all exported messages with pyarrow only, without the columns of the folders' names."""
    paths = sorted((folder / "messages").rglob("*.parquet"), key=lambda path: (len(path.name), path))
    return pa.concat_tables(pq.ParquetFile(path).read() for path in paths)
