"""A store in a folder: its kinds, rows for it, and a run that follows a script."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chatrest._core.replies.rows import Row, row_of
from chatrest.export.plan.message_ids import ids_of
from chatrest.export.store import Changes, Difference, ExportStore, NewRows, RowKind, repair
from chatrest.export.store.disk import Disk, make_folder
from chatrest.export.store.formats import Format, Lines, Parquet, file_sha256, format_of
from chatrest.export.store.store_journal import NAME, StoreJournal
from tests.support.simulated_crashes import (
    DyingDisk,
    Fate,
    ForgetfulDisk,
    ForgetfulFate,
    ProcessDeath,
    dying_journal,
)

FORMATS: dict[str, Callable[[], Format]] = {
    "plain": lambda: Lines("none"),
    "gzip": lambda: Lines("gzip"),
    "zstd": lambda: Lines("zstd"),
    "parquet": Parquet,
}
PARTITIONS: dict[str, Callable[[int, int], str]] = {
    "none": lambda source, number: "messages/messages",
    "source": lambda source, number: f"messages/source=user-{source}/messages",
    "month": lambda source, number: f"messages/month=2026-{1 + number // 40 % 12:02}/messages",
}


def kinds_of(name: str) -> dict[str, RowKind]:
    return {"messages": RowKind(FORMATS[name]()), "history": RowKind(Lines("none"), identity="content")}


def row(key: int | str, text: str = "hello") -> Row:
    sent_at = 1_700_000_000 + (key if isinstance(key, int) else 0)
    record = {"id": str(key), "sentAt": sent_at, "sender": "ann", "data": {"text": text}}
    return row_of(json.dumps(record).encode())


def stem_of(partition: str, source: int, number: int) -> str:
    return PARTITIONS[partition](source, number)


def page(format: str, partition: str, source: int, ids: list[int], text: str = "hello") -> list[NewRows]:
    """Return a page of a source: what it shows, and the rows by their partitions."""
    stems: dict[str, list[Row]] = {}
    for number in ids:
        stems.setdefault(stem_of(partition, source, number), []).append(row(number, text))
    ids_of_page = ids_of(list(map(row, ids)))
    pages = [NewRows(stem, source, rows) for stem, rows in stems.items()]
    return [pages[0]._replace(seen=ids_of_page), *pages[1:]]


@contextmanager
def opened(folder: Path, format: str, disk: Disk | None = None) -> Iterator[ExportStore]:
    with opened_as_it_is(folder, format, disk) as store:
        list(repair(store, lambda: json.loads(store.journal["waiting"] or "[]")))
        yield store


@contextmanager
def opened_as_it_is(folder: Path, format: str, disk: Disk | None = None) -> Iterator[ExportStore]:
    make_folder(disk or Disk(), folder)
    with StoreJournal(folder / NAME, {"app": "a"}) as journal:
        store = ExportStore(folder, journal, kinds_of(format), disk=disk)
        try:
            yield store
        finally:
            store.close()


def repaired(folder: Path, format: str) -> list[Difference]:
    with opened_as_it_is(folder, format) as store:
        return list(repair(store))


def differences(store: ExportStore) -> list[Any]:
    sealed = store.journal.files("sealed")
    return [
        *store.inspect(),
        *(file for file in sealed if file_sha256(store.folder / file.name) != file.sha256),
    ]


def texts_of(store: ExportStore, kind: str = "messages") -> dict[str, str]:
    """Return the text of each message that a reader of the store finds, each id once."""
    files = [file for file in store.journal.files("open", "sealed") if file.stem.startswith(kind)]
    pieces = [piece for file in files for piece in store.files.records(file)]
    records = [json.loads(raw) for piece in pieces for raw in piece.raws]
    ids = [record["id"] for record in records]
    assert len(set(ids)) == len(ids), "twice"
    return {record["id"]: record["data"]["text"] for record in records}


def texts_on_disk(folder: Path) -> list[tuple[str, str]]:
    """Return what a program finds that reads the data files below `messages`, and knows no journal."""
    paths = [path for path in sorted(folder.glob("messages*")) if path.is_file()]
    paths += [path for path in sorted(folder.glob("messages/**/*")) if path.is_file()]
    records = []
    for path in paths:
        known = format_of(path.name)
        assert known is not None, path
        for piece in known.read(path, path.stat().st_size):
            records += [json.loads(raw) for raw in piece.raws]
    return sorted((record["id"], record["data"]["text"]) for record in records)


def damaged_files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "damaged").rglob("*") if path.is_file())


def changes(texts: Mapping[int, str]) -> Changes:
    return Changes({str(number): row(number, text) for number, text in texts.items()})


COUNT = 120
CHANGED = {7: "seven", 61: "sixty-one", 118: "later"}
LATER = range(COUNT + 1, COUNT + 13)


def live(folder: Path, format: str, partition: str, safe: list[int], disk: Disk | None = None) -> None:
    """Export everything as two runs do: pages, files of them, edits, and small files merged.

    `safe` gets the ids of each page when its commit has returned.
    """
    with opened(folder, format, disk) as store:
        for first in range(1, COUNT + 1, 30):
            ids = list(range(first, first + 30))
            store.commit([*page(format, partition, 1, ids[:20]), *page(format, partition, 2, ids[10:])])
            safe.extend(ids)
            if first == 61:
                store.seal(stem_of(partition, 1, 61))
        store.seal_all()
    with opened(folder, format, disk) as store:
        store.commit(page(format, partition, 2, [*LATER]))
        safe.extend(LATER)
        changed = changes(CHANGED)
        with store.journal.transaction():
            store.journal["waiting"] = json.dumps(list(changed.rows))

        def note(ids: list[str]) -> None:
            waiting = set(json.loads(store.journal["waiting"] or "[]"))
            store.journal["waiting"] = json.dumps(sorted(waiting.difference(ids)))

        store.update(changed._replace(note=note))
        store.seal_all()
        store.compact(2)


def check_life(
    folder: Path,
    format: str,
    partition: str,
    safe: list[int],
    *,
    is_journal_complete: bool = True,
    sets_aside: bool = False,
) -> None:
    """Check what a death has left, let a further run go on, and check what that leaves.

    Without its journal a seal that was under way leaves two versions of a file: one of them is set aside.
    """
    with opened(folder, format) as store:
        stored = texts_of(store)
        assert set(map(int, stored)) == set(store.written), "the journal and the files differ"
        assert set(safe) <= set(store.written), "lost"
        assert not set(store.missing()), "seen, and not written"
        assert all(text in ("hello", CHANGED.get(int(key))) for key, text in stored.items())
        assert not differences(store)
    live(folder, format, partition, [])
    expected = {str(key): CHANGED.get(key, "hello") for key in [*range(1, COUNT + 1), *LATER]}
    assert dict(texts_on_disk(folder)) == expected
    assert len(texts_on_disk(folder)) == len(expected), "twice"
    with opened(folder, format) as store:
        assert not differences(store)
        if is_journal_complete:
            assert texts_of(store, "history") == dict.fromkeys(map(str, CHANGED), "hello")
    assert not is_journal_complete or sets_aside or damaged_files(folder) == []


def dies(folder: Path, format: str, partition: str, at: int, safe: list[int], *, power: bool) -> bool:
    """Let a process die at a call of the disk or of a database; return False if it lived."""
    fate = ForgetfulFate(folder, at) if power else Fate(folder, at)
    disk = ForgetfulDisk(fate) if isinstance(fate, ForgetfulFate) else DyingDisk(fate)
    with pytest.MonkeyPatch.context() as patched:
        dying_journal(patched, fate)
        try:
            live(folder, format, partition, safe, disk)
        except ProcessDeath:
            fate.rise()
            return True
        finally:
            fate.close()
    return False


def die(folder: Path, format: str, partition: str, at: int, *, power: bool) -> bool:
    """Let a process die, and the next one soon, while it repairs; check what follows. False if it lived."""
    safe: list[int] = []
    if not dies(folder, format, partition, at, safe, power=power):
        return False
    dies(folder, format, partition, 1 + at % 9, safe, power=power)
    check_life(folder, format, partition, safe)
    shutil.rmtree(folder)
    return True
