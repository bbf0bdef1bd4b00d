"""A store in a folder: its kinds, rows for it, and a run that is told by a script."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chatrest.core.replies.rows import Row, row_of
from chatrest.export.disk import Disk
from chatrest.export.message_ids import ids_of
from chatrest.export.store import Changes, ExportStore, Finding, Kind, NewRows, open_store
from chatrest.export.store.converters import Database, Lines, Parquet, format_of
from chatrest.export.store.formats import Format
from chatrest.export.store.inspection import path_of

FORMATS: dict[str, Callable[[], Format]] = {
    "plain": lambda: Lines("none"),
    "gzip": lambda: Lines("gzip"),
    "zstd": lambda: Lines("zstd"),
    "parquet": Parquet,
    "sqlite": lambda: Database({"app": "an app", "plan": "{}"}),
}
PARTITIONS: dict[str, Callable[[int, int], str]] = {
    "none": lambda source, id: "messages/messages",
    "source": lambda source, id: f"messages/source=user-{source}/messages",
    "month": lambda source, id: f"messages/month=2026-{1 + id // 40 % 12:02}/messages",
}


def kinds_of(name: str) -> dict[str, Kind]:
    return {"messages": Kind(FORMATS[name]()), "history": Kind(Lines("none"), is_unique=False)}


def row(id: int | str, text: str = "hello") -> Row:
    record = {"id": str(id), "sentAt": 1_700_000_000 + (id if isinstance(id, int) else 0), "sender": "ann",
              "data": {"text": text}}  # fmt: skip
    return row_of(json.dumps(record).encode())


def stem_of(format: str, partition: str, source: int, id: int) -> str:
    return "messages" if format == "sqlite" else PARTITIONS[partition](source, id)


def page(format: str, partition: str, source: int, ids: list[int], text: str = "hello") -> list[NewRows]:
    """Return a page of a source: what it shows, and the rows by their partitions."""
    stems: dict[str, list[Row]] = {}
    for id in ids:
        stems.setdefault(stem_of(format, partition, source, id), []).append(row(id, text))
    seen = ids_of([row(id) for id in ids])
    pages = [NewRows(stem, source, rows) for stem, rows in stems.items()]
    return [pages[0]._replace(seen=seen), *pages[1:]]


@contextmanager
def opened(folder: Path, format: str, disk: Disk | None = None) -> Iterator[ExportStore]:
    store, _ = open_store(folder, kinds_of(format), meta={"app": "a"}, disk=disk)
    with store:
        yield store


def repaired(folder: Path, format: str) -> list[Finding]:
    """Open a store, and return what was repaired."""
    store, findings = open_store(folder, kinds_of(format))
    store.close()
    return findings


def texts_of(store: ExportStore, kind: str = "messages") -> dict[str, str]:
    """Return the text of each message that a reader of the store finds, whose ids stand once."""
    found = [record for file in store.journal.files("open", "sealed") for record in records_of(store, file)
             if file.stem.startswith(kind)]  # fmt: skip
    ids = [record["id"] for record in found]
    assert len(set(ids)) == len(ids), "twice"
    return {record["id"]: record["data"]["text"] for record in found}


def records_of(store: ExportStore, file: Any) -> list[Any]:
    return [json.loads(raw) for piece in store._records(file) for raw in piece.raws]


def texts_on_disk(folder: Path) -> list[tuple[str, str]]:
    """Return what a program finds that reads the data files below `messages`, and knows no journal."""
    paths = [path for path in sorted(folder.glob("messages*")) if path.is_file()]
    paths += [path for path in sorted(folder.glob("messages/**/*")) if path.is_file()]
    found = []
    for path in paths:
        known = format_of(path.name)
        assert known is not None, path
        for piece in known.read(path, path.stat().st_size):
            found += [json.loads(raw) for raw in piece.raws]
    return sorted((record["id"], record["data"]["text"]) for record in found)


def damaged_files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "damaged").rglob("*") if path.is_file())


def changes(texts: Mapping[int, str]) -> Changes:
    return Changes({str(id): row(id, text) for id, text in texts.items()})
