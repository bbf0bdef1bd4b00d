"""A database that other programs have open, and one whose disk is full or damaged, is told of in words."""

import errno
import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from chatrest.export.formats import sqlite
from tests.databases import Export, some


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "WAIT", 0.05)


@contextmanager
def another_program(path: Path, *statements: str) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement).fetchall()
        yield


@pytest.mark.usefixtures("impatient")
def test_another_program_that_writes_is_told_of(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        with another_program(opened.path, "BEGIN IMMEDIATE"):
            told = r"messages\.sqlite: another program is writing to it"
            with pytest.raises(OSError, match=told) as caught:
                opened.add(some(11))
            assert caught.value.__suppress_context__
            opened.sink.rollback()
            assert opened.sink.counts() == {1: 10}
        assert opened.commit(some(11)) == 10
        opened.finished()
    with another_program(opened.path, "BEGIN EXCLUSIVE"), pytest.raises(OSError, match=told):
        Export(out)
    with Export(out) as opened:
        assert opened.unknown() == []


@pytest.mark.usefixtures("impatient")
def test_another_program_may_read_while_it_is_written(opened: Export) -> None:
    opened.commit(some(1))
    with another_program(opened.path, "BEGIN", "SELECT * FROM messages"):
        opened.commit(some(11))
        with pytest.raises(OSError, match="has it open"):
            opened.finished()
        opened.commit(some(21))
    path = opened.finished()
    assert opened.journal.files()[0].digest == hashlib.sha256(path.read_bytes()).digest()
    assert len(opened.ids()) == 30


def test_the_end_waits_for_a_reader(opened: Export) -> None:
    opened.commit(some(1))
    entered, leave = threading.Event(), threading.Event()

    def read() -> None:
        with another_program(opened.path, "BEGIN", "SELECT * FROM messages"):
            entered.set()
            leave.wait(10)

    reader = threading.Thread(target=read)
    reader.start()
    entered.wait(10)
    timer = threading.Timer(0.3, leave.set)
    timer.start()
    opened.finished()
    reader.join()
    timer.join()
    assert not opened.path.with_name("messages.sqlite-wal").exists()


def test_a_full_disk_is_told_with_the_files_name(opened: Export) -> None:
    opened.commit(some(1))
    db = opened.sink._db
    [pages] = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(OSError, match=r"messages\.sqlite") as caught:
        opened.commit(some(11, 5000))
    assert caught.value.errno == errno.ENOSPC
    opened.sink.rollback()
    assert opened.sink.counts() == {1: 10}
    db.execute("PRAGMA max_page_count=1000000")
    assert opened.commit(some(11)) == 10
    opened.finished()


def test_damage_that_is_found_on_the_way_says_what_to_do(opened: Export) -> None:
    opened.commit(some(1, 2000))
    path = opened.finished()
    data = path.read_bytes()
    opened.sink._db.execute("PRAGMA cache_size=0")
    path.write_bytes(data[:8192] + b"\xa5" * (len(data) - 8192))
    with pytest.raises(OSError, match=r"it is damaged .*; move it elsewhere"):
        opened.commit(some(1, 2000, type="changed"))
    with pytest.raises(OSError, match="it is damaged"):
        list(opened.sink.scan())
