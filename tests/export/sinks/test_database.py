"""The database sink: what a person finds in its file, and that nothing is lost or doubled on the way."""

import errno
import hashlib
import json
import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace, TracebackType
from typing import Any, Self

import pytest
from hypothesis import given, settings, strategies as st

from chatrest import AsyncSession, RequestInvalidError
from chatrest.core.rows import Row, row_of, rows
from chatrest.emulator import Emulator
from chatrest.emulator.data import fill as fill_made
from chatrest.emulator.oddities import OddRecords
from chatrest.emulator.store import Store
from chatrest.export import Plan, export
from chatrest.export.disk import Disk, OpenFiles
from chatrest.export.ids import key_of
from chatrest.export.journal import NAME as JOURNAL, Journal
from chatrest.export.sink import LAST, Lost, Site
from chatrest.export.sinks import database_file, database_schema
from chatrest.export.sinks.database import DatabaseSink
from chatrest.export.sources import Source
from chatrest.export.verifying.verify import verify
from tests.exporting import (
    Fate,
    assert_whole,
    dies,
    edit,
    fast_disk as fast_disk,
    records,
    served,
    small_pages as small_pages,
)

ALL, ALICE = Source("everything"), Source("user", ("alice",))
PLAN = Plan(format="sqlite", everything=True)
EVERYTHING = [Lost(0, 0, 0)]
AT = 1_600_000_000
VIEWS = (
    "records", "chat", "conversations", "senders", "messages_per_day", "calls", "attachments", "edits",
)  # fmt: skip


class Export:
    """A sink over a folder, without a service; used with `with`."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.path = folder / "messages.sqlite"
        self.journal = Journal(folder / JOURNAL)
        self.files = OpenFiles(disk or Disk())
        self.sink = DatabaseSink(PLAN, Site(folder, self.journal, disk or Disk(), self.files))
        try:
            with self.journal.transaction():
                self.journal["app"] = "an app"
                self.journal.add_sources([ALL, ALICE])
                self.lost = self.sink.repair()
        except BaseException:
            self.journal.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.sink.close()
        self.files.close()
        self.journal.close()

    def commit(self, found: list[Row], source: Source = ALL) -> int:
        with self.journal.transaction():
            new = self.sink.add(self.journal.source_of(source.key), source, found)
            self.sink.flush()
        return new

    def add(self, found: list[Row], source: Source = ALL) -> None:
        """Without a flush."""
        with self.journal.transaction():
            self.sink.add(self.journal.source_of(source.key), source, found)

    def tear(self, found: list[Row]) -> None:
        """Commits in the database, and not in the journal."""
        with suppress(ZeroDivisionError), self.journal.transaction():
            self.sink.add(self.journal.source_of(ALL.key), ALL, found)
            self.sink.flush()
            raise ZeroDivisionError

    def finished(self) -> Path:
        self.sink.finish()
        return self.path

    def ask(self, sql: str, *values: Any) -> list[Any]:
        """What another program gets, while this one has it open."""
        return asked(self.path, sql, *values)

    def ids(self, **where: int) -> list[str]:
        return [key_of(row) for row, _ in self.sink.stored(**where)]


def asked(path: Path, sql: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql, values).fetchall()


def changed(path: Path, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql, values)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def opened(out: Path) -> Iterator[Export]:
    with Export(out) as opened:
        yield opened


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_file, "WAIT", 0.05)


@pytest.fixture
def no_fts5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_schema, "has_fts5", lambda db: False)


def record(number: int, text: str | None = "hello", at: int = AT, **members: Any) -> bytes:
    made = {
        "id": str(number),
        "conversationId": "alice_user_bob",
        "sender": "alice",
        "receiverType": "user",
        "receiver": "bob",
        "category": "message",
        "type": "text",
        "data": {} if text is None else {"text": text},
        "sentAt": at,
        "updatedAt": at,
    }
    return json.dumps(made | members, ensure_ascii=False).encode()


def page(*raws: bytes) -> list[Row]:
    """Rows as a reply brings them."""
    return rows(b'{"data":[' + b",".join(raws) + b"]}").items


def some(first: int, size: int = 10, **members: Any) -> list[Row]:
    return page(*(record(number, f"text {number}", **members) for number in range(first, first + size)))


# ── columns ──


def test_each_member_has_its_column(opened: Export) -> None:
    opened.commit(
        page(
            record(
                7, "Grüße 東京 😀", at=AT, editedAt=AT + 1, deletedAt=AT + 2, updatedAt=AT + 3, parentId="5"
            )
        )
    )
    sql = """SELECT id, number, conversation_id, sender, receiver, receiver_type, category, type, text,
        sent_at, updated_at, edited_at, deleted_at, parent_id, source FROM messages"""
    assert opened.ask(sql) == [
        (
            "7", 7, "alice_user_bob", "alice", "bob", "user", "message", "text", "Grüße 東京 😀",
            AT, AT + 3, AT + 1, AT + 2, "5", opened.journal.source_of(ALL.key),
        )
    ]  # fmt: skip


def test_raw_is_text_byte_for_byte(opened: Export) -> None:
    raw = b'{ "id" : "1",\t"data":{"text":"\\u00e9 \xc3\xa9 \\u0000 \xf0\x9f\x98\x80"} }'
    opened.commit(page(raw))
    assert opened.ask("SELECT typeof(raw), CAST(raw AS BLOB) FROM messages") == [("text", raw)]


def test_raw_that_is_not_utf8_is_bytes(opened: Export) -> None:
    raw = b'{"id":"1","sender":"alice","category":"message","data":{"text":"\xff here"}}'
    opened.commit(page(raw, record(2)))
    assert opened.ask("SELECT raw, text, category FROM messages WHERE typeof(raw) = 'blob'") == [
        (raw, "\ufffd here", "message")
    ]
    assert {bytes(row.raw) for row, _ in opened.sink.stored()} == {raw, record(2)}


ODD = [
    b'{"id":"1","sentAt":1600000000,"data":{"text":"\xff\xfe not UTF-8"}}',
    b'{"id":"2","data":{"text":"half \\ud83d of a pair"},"sender":"\\ud83d","category":"\\uDC00"}',
    b'{"id":3,"sentAt":"1600000000","sender":7,"category":["x"],"type":{},"data":[]}',
    b'{"id":"4","sentAt":true,"receiver":null,"data":{"text":["no text"],"action":"edited"}}',
    b'{"id":"5","score":NaN,"sentAt":1600000000,"data":{"text":"kept"}}',
    b'{"id":"6","sentAt":99999999999999999999999,"editedAt":-5,"deletedAt":1e99,"updatedAt":1e400}',
    b'{"id":"7","deep":' + b"[" * 5000 + b"]" * 5000 + b',"category":"call"}',
    b'{"id":"no number","sentAt":1600000000000}',
    b'{"sentAt":1600000000,"note":"no id"}',
    b'{"id":"8" ,\t"text" : "spaces",  "data":{"text":"nul \\u0000 in it"}}',
    '{"id":"9","data":{"text":"\u2028 e\u0301 😀 line\u0085separators"}}'.encode(),
    b'{"id":"10","sentAt":9223372036854775807,"updatedAt":-9223372036854775808}',
    b'{"id":"11","category":"call","data":{"action":{"deep":[1]},"entities":[]}}',
    b'{"id":"12","category":"call","data":"no object","type":1.5}',
    b'{"id":"13","category":"call","data":{"entities":{"on":{"entity":{"initiatedAt":"soon"}}}}}',
    b'{"id":"14","data":{"attachments":{"0":{"url":"x"}}}}',
    b'{"id":"15","data":{"attachments":"none"}}',
    b'{"id":"16","data":{"attachments":["text",7,null,[],{"url":["x"],"name":"\\u0000"}]}}',
    b'{"id":"17","data":{"attachments":[{"url":"half \\udfff"}]}}',
    b'{"id":"9223372036854775807"}',
    b'{"id":"0018"}',
    b'{"id":"18"}',
    b"null",
    b"[1,2]",
    b'"text"',
    b"{}",
]


def test_a_record_of_any_shape_is_kept_exactly(opened: Export) -> None:
    found = page(*ODD)
    assert len(found) == len(ODD)
    assert opened.commit(found) == len(ODD)
    assert Counter(bytes(row.raw) for row, _ in opened.sink.stored()) == Counter(ODD)
    assert {key for (key,) in opened.ask("SELECT id FROM messages")} == {key_of(row) for row in found}


def test_a_record_by_itself_is_kept_as_on_its_page(opened: Export, tmp_path: Path) -> None:
    opened.commit(page(*ODD))
    everything = "SELECT * FROM messages ORDER BY place"
    with Export(tmp_path / "other") as other:
        other.commit([row_of(raw) for raw in ODD])
        with closing(sqlite3.connect(other.path)) as db, closing(sqlite3.connect(opened.path)) as first:
            assert db.execute(everything).fetchall() == first.execute(everything).fetchall()


def test_what_is_no_json_at_all_is_kept(opened: Export) -> None:
    for raw in (b"no JSON", b'{"id":', b"", b"1,2", b"\xff"):
        opened.commit([Row(raw=raw)])
        assert opened.ask("SELECT CAST(raw AS BLOB), text FROM messages ORDER BY place DESC")[0] == (
            raw,
            None,
        )
    for view in VIEWS:
        opened.ask(f"SELECT * FROM {view}")


def test_a_member_of_a_wrong_type_is_null(opened: Export) -> None:
    opened.commit(page(*ODD))
    sql = """SELECT number, sender, category, type, text, sent_at, edited_at, deleted_at
        FROM messages WHERE id = ?"""
    assert opened.ask(sql, "3") == [(3, None, None, None, None, None, None, None)]
    assert opened.ask(sql, "4") == [(4, None, None, None, None, None, None, None)]
    assert opened.ask(sql, "6") == [(6, None, None, None, None, None, -5, None)]
    assert opened.ask(sql, "2") == [(2, None, "\ufffd", None, "half \ufffd of a pair", None, None, None)]
    assert opened.ask(sql, "5") == [(5, None, None, None, "kept", AT, None, None)]
    assert opened.ask(sql, "9223372036854775807")[0][0] is None


def test_a_row_without_an_id_is_told_apart_by_its_bytes(opened: Export) -> None:
    raws = [b'{"note":"one"}', b'{"note":"two"}']
    assert opened.commit(page(*raws, *raws)) == 2
    assert opened.commit(page(*raws)) == 0
    keys = [f"#{hashlib.sha256(raw).hexdigest()}" for raw in raws]
    assert opened.ask("SELECT id, number FROM messages ORDER BY place") == [(key, None) for key in keys]


# ── new, the same, changed ──


def test_how_many_are_new(opened: Export) -> None:
    assert opened.commit(some(1)) == 10
    assert opened.commit(some(1)) == 0
    assert opened.commit(some(6)) == 5
    assert opened.commit([]) == 0
    assert opened.commit(some(3, 4, type="changed")) == 0
    assert sum(opened.sink.counts().values()) == 15


def test_the_same_again_is_no_version(opened: Export) -> None:
    opened.commit(page(*ODD))
    before = opened.ask("SELECT * FROM messages")
    assert opened.commit(page(*ODD)) == 0
    assert opened.ask("SELECT * FROM messages") == before
    assert opened.ask("SELECT count(*) FROM versions") == [(0,)]


def test_each_older_version_is_kept(opened: Export) -> None:
    raws = [
        record(1, "first"),
        record(1, "second", updatedAt=AT + 9),
        b'{"id":"1","bad":"\xff"}',
        record(1, "first"),
    ]
    for raw in raws:
        opened.commit(page(raw))
    assert opened.ask("SELECT CAST(raw AS BLOB) FROM messages") == [(raws[3],)]
    found = opened.ask("SELECT id, CAST(raw AS BLOB), text, updated_at FROM versions ORDER BY version")
    assert found == [
        ("1", raws[0], "first", AT),
        ("1", raws[1], "second", AT + 9),
        ("1", raws[2], None, None),
    ]
    [(kept,)] = opened.ask("SELECT min(kept_at) FROM versions")
    assert kept > AT


def test_a_change_takes_all_columns_and_leaves_the_source(opened: Export) -> None:
    opened.commit(page(record(1)), ALICE)
    opened.commit(page(record(1, None, at=AT + 5, sender="bob", deletedAt=AT + 6)), ALL)
    alice = opened.journal.source_of(ALICE.key)
    assert opened.ask("SELECT sender, text, sent_at, deleted_at, source FROM messages") == [
        ("bob", None, AT + 5, AT + 6, alice)
    ]
    assert opened.sink.counts() == {alice: 1}


def test_an_id_twice_in_one_batch(opened: Export) -> None:
    assert opened.commit(page(record(1, "a"), record(2), record(1, "b"), record(1, "b"))) == 2
    assert opened.ask("SELECT id, text FROM messages ORDER BY number") == [("1", "b"), ("2", "hello")]
    assert opened.ask("SELECT id, text FROM versions") == [("1", "a")]


def test_ids_with_the_same_number_are_two(opened: Export) -> None:
    assert opened.commit(page(record(7), record(7, id="007"))) == 2
    assert sorted(opened.ids(first=7, last=7)) == ["007", "7"]


# ── committing ──


def test_what_was_added_is_seen_by_others_only_when_it_is_flushed(opened: Export) -> None:
    opened.commit(some(1))
    with opened.journal.transaction():
        opened.sink.add(1, ALL, some(11))
        assert opened.ask("SELECT count(*) FROM messages") == [(10,)]
        opened.sink.flush()
        assert opened.ask("SELECT count(*) FROM messages") == [(20,)]


def test_forgetting_rolls_back_what_was_not_flushed(opened: Export) -> None:
    opened.commit(some(1))
    opened.add(some(11))
    opened.add(some(1, type="changed"), ALICE)
    opened.sink.forget()
    assert opened.sink.counts() == {1: 10}
    assert opened.ask("SELECT count(*) FROM versions") == [(0,)]
    opened.sink.forget()
    assert opened.commit(some(11)) == 10


def test_closing_commits_nothing(out: Path) -> None:
    with Export(out) as opened:
        opened.add(some(1))
    with Export(out) as opened:
        assert opened.lost == []
        assert opened.ids() == []


def test_a_death_between_the_two_commits_does_no_harm(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.tear(some(11))
        opened.sink.forget()
        assert opened.sink.counts() == {1: 20}
    with Export(out) as opened:
        assert opened.lost == []
        assert opened.commit(some(11)) == 0
        assert opened.commit(some(21)) == 10
        assert opened.sink.counts() == {1: 30}
    with Export(out) as opened:
        assert opened.lost == []
        assert len(opened.ids()) == 30


def test_each_method_from_another_thread(opened: Export) -> None:
    def elsewhere(work: Any) -> Any:
        result: list[Any] = []
        thread = threading.Thread(target=lambda: result.append(work()))
        thread.start()
        thread.join()
        return result[0]

    assert elsewhere(lambda: opened.commit(some(1))) == 10
    assert elsewhere(lambda: len(list(opened.sink.stored()))) == 10
    assert elsewhere(opened.sink.counts) == {1: 10}
    assert elsewhere(opened.sink.amend) == 0
    elsewhere(opened.sink.finish)
    elsewhere(opened.sink.close)


# ── opening again ──


def test_nothing_is_lost_of_a_new_export_and_of_a_whole_one(out: Path) -> None:
    for first in (1, 11):
        with Export(out) as opened:
            assert opened.lost == []
            opened.commit(some(first))
            opened.finished()
    with Export(out) as opened:
        assert opened.lost == []
        assert len(opened.ids()) == 20


def test_a_file_that_is_missing_is_made_anew(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished().unlink()
    with Export(out) as opened:
        assert opened.lost == EVERYTHING
        assert opened.ids() == []
        assert opened.commit(some(1)) == 10
    with Export(out) as opened:
        assert opened.lost == []


def test_a_log_without_its_file_is_not_taken_for_a_new_ones(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        log = opened.path.with_name("messages.sqlite-wal")
        kept = log.read_bytes()
    opened.path.unlink()
    log.write_bytes(kept)
    with Export(out) as opened:
        assert opened.lost == EVERYTHING
        assert opened.ids() == []
        opened.commit(some(1))
    assert asked(opened.path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"this is no database, and never was one" * 100,
        lambda data: b"\x00" * len(data),
        lambda data: data[: len(data) // 2],
        lambda data: data[:4096] + b"\xa5" * 4096 + data[8192:],
        lambda data: data[: len(data) // 2] + b"\xa5" * 8192 + data[len(data) // 2 + 8192 :],
        lambda data: b"",
        lambda data: data[:50],
    ],
)
def test_a_damaged_file_is_made_anew(out: Path, damage: Any) -> None:
    with Export(out) as opened:
        for first in range(1, 1000, 100):
            opened.commit(some(first, 100))
        path = opened.finished()
    path.write_bytes(damage(path.read_bytes()))
    with Export(out) as opened:
        assert opened.lost == EVERYTHING
        assert opened.ids() == []
        assert opened.commit(some(1)) == 10
        opened.finished()
    with Export(out) as opened:
        assert opened.lost == []
    assert asked(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_file_that_holds_less_keeps_what_it_holds(out: Path, tmp_path: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        shutil.copy(opened.finished(), tmp_path / "older")
        opened.commit(page(record(1, "edited")))
        opened.commit(some(11))
        opened.finished()
    shutil.copy(tmp_path / "older", opened.path)
    with Export(out) as opened:
        assert opened.lost == EVERYTHING
        assert len(opened.ids()) == 10
        assert opened.commit([*some(1), *some(11)]) == 10
    with Export(out) as opened:
        assert opened.lost == []


def test_rows_that_somebody_has_deleted_are_read_again(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    changed(opened.path, "DELETE FROM messages WHERE number = 3")
    with Export(out) as opened:
        assert opened.lost == EVERYTHING
        assert opened.sink.counts() == {1: 9}
        assert opened.commit(some(1)) == 1


def test_a_loss_that_was_not_committed_is_found_again(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished().unlink()
    with closing(Journal(out / JOURNAL)) as journal:  # a death before the journal's commit
        disk = Disk()
        sink = DatabaseSink(PLAN, Site(out, journal, disk, OpenFiles(disk)))
        with suppress(ZeroDivisionError), journal.transaction():
            assert sink.repair() == EVERYTHING
            raise ZeroDivisionError
        sink.close()
    with Export(out) as opened:
        assert opened.lost == EVERYTHING


def test_somebody_elses_database_is_not_touched(out: Path) -> None:
    out.mkdir()
    path = out / "messages.sqlite"
    changed(path, "CREATE TABLE mine(x)")
    before = path.read_bytes()
    with pytest.raises(RequestInvalidError, match=r"messages\.sqlite is no database of this export"):
        Export(out)
    assert path.read_bytes() == before


def test_another_apps_database_is_not_touched(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    changed(opened.path, "UPDATE export SET value = 'another' WHERE name = 'app'")
    with pytest.raises(RequestInvalidError, match="is no database of this export"):
        Export(out)


def test_a_newer_librarys_database_is_not_touched(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    changed(opened.path, "PRAGMA user_version=2")
    with pytest.raises(RequestInvalidError, match="another version"):
        Export(out)


def test_a_disk_that_fails_is_not_taken_for_damage(out: Path) -> None:
    (out / "messages.sqlite").mkdir(parents=True)
    with pytest.raises(OSError, match=r"messages\.sqlite: unable to open"):
        Export(out)
    assert (out / "messages.sqlite").is_dir()


# ── reading back ──


def test_ids_and_times_choose_what_is_read(opened: Export) -> None:
    opened.commit(page(*(record(number, at=AT + number) for number in (5, 1, 3, 2, 4))))
    opened.commit(page(b'{"id":"x","sentAt":1}', b'{"note":"nothing"}', b'{"id":"6"}'), ALICE)
    always = {"x", key_of(row_of(b'{"note":"nothing"}')), "6"}
    assert set(opened.ids(first=2, last=3)) == {"2", "3"} | always
    assert set(opened.ids(since=AT + 4)) == {"4", "5"} | always
    assert set(opened.ids(first=5, last=LAST, since=AT + 2)) == {"5"} | always
    assert len(opened.ids()) == len(set(opened.ids())) == 8
    sources = {row.id: source for row, source in opened.sink.stored()}
    assert sources["1"] == 1
    assert sources["6"] == sources["x"] == 2


@pytest.mark.parametrize("members", [{}, {"sentAt": None}, {"id": None}, {"sentAt": AT}])
def test_more_than_is_read_at_once(opened: Export, members: dict[str, Any]) -> None:
    raws = [
        json.dumps(json.loads(record(number, f"{number}", at=AT + number // 7)) | members).encode()
        for number in range(1, 1801)
    ]
    opened.commit(page(*raws))
    for where in ({}, {"since": 1}, {"first": 1}):
        found = [bytes(row.raw) for row, _ in opened.sink.stored(**where)]
        assert sorted(found) == sorted(raws)


def test_reading_does_not_stand_in_the_way_of_writing(opened: Export) -> None:
    opened.commit(some(1, 1200))
    reading = opened.sink.stored()
    next(reading)
    opened.commit(some(2000))
    opened.finished()
    assert len(list(reading)) == 1209


def test_counts_are_by_source(opened: Export) -> None:
    assert opened.sink.counts() == {}
    opened.commit(some(1))
    opened.commit(some(5), ALICE)
    assert opened.sink.counts() == {1: 10, 2: 4}
    assert opened.ask("SELECT number, source, messages FROM sources") == [
        (1, ALL.key, 10),
        (2, ALICE.key, 4),
    ]


# ── the end ──


def test_at_the_end_it_is_one_file_with_its_hash(opened: Export) -> None:
    opened.commit(page(*(record(number, at=AT + number) for number in (5, 9, 7))))
    path = opened.finished()
    assert [each.name for each in path.parent.glob("messages*")] == ["messages.sqlite"]
    [part] = opened.journal.parts()
    assert (part.name, part.role, part.state) == ("messages.sqlite", "part", "open")
    assert (part.size, part.digest) == (path.stat().st_size, hashlib.sha256(path.read_bytes()).digest())
    [frame] = opened.journal.frames(part.number)
    assert (frame.start, frame.size, frame.source, frame.rows) == (0, part.size, 0, 3)
    assert (frame.first, frame.last, frame.since, frame.until) == (5, 9, AT + 5, AT + 9)
    assert (frame.loose, frame.digest) == (0, part.digest)
    assert opened.ask("PRAGMA journal_mode") == [("delete",)]
    assert opened.sink.counts() == {1: 3}
    assert path.read_bytes()[18:20] == b"\x01\x01"


def test_an_end_without_messages(opened: Export) -> None:
    path = opened.finished()
    [part] = opened.journal.parts()
    assert part.digest == hashlib.sha256(path.read_bytes()).digest()
    [frame] = opened.journal.frames(part.number)
    assert (frame.rows, frame.first, frame.last, frame.since, frame.loose) == (0, 0, 0, -1, 0)


@pytest.mark.parametrize("raw", [b'{"id":"x","sentAt":1}', b'{"id":"1"}'])
def test_a_frame_tells_of_rows_without_a_number_or_a_time(opened: Export, raw: bytes) -> None:
    opened.commit(page(raw, record(7)))
    opened.finished()
    [frame] = opened.journal.frames(opened.journal.parts()[0].number)
    assert frame.loose == 1


def test_a_run_that_finds_nothing_new_changes_no_byte(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        before = opened.finished().read_bytes()
        parts = opened.journal.parts()
    with Export(out) as opened:
        opened.finished()
        assert opened.journal.parts() == parts
        assert len(opened.journal.frames(parts[0].number)) == 1
    assert opened.path.read_bytes() == before


def test_while_it_is_written_the_journal_claims_no_hash(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    with Export(out) as opened:
        opened.commit(some(11))
        [part] = opened.journal.parts()
        assert (part.size, part.digest) == (0, None)
        assert opened.journal.frames(part.number) == []
    with Export(out) as opened:  # the run before did not come to its end
        path = opened.finished()
        assert opened.journal.parts()[0].digest == hashlib.sha256(path.read_bytes()).digest()


def test_a_death_between_the_commits_of_a_first_batch_does_not_leave_a_wrong_hash(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    with Export(out) as opened:
        opened.tear(some(11))
        opened.sink.forget()
    with Export(out) as opened:
        assert opened.journal.parts()[0].digest is None
        path = opened.finished()
        [part] = opened.journal.parts()
        assert part.digest == hashlib.sha256(path.read_bytes()).digest()
        assert opened.journal.frames(part.number)[0].rows == 20


# ── others at the same time ──


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
            opened.sink.forget()
            assert opened.sink.counts() == {1: 10}
        assert opened.commit(some(11)) == 10
        opened.finished()
    with another_program(opened.path, "BEGIN EXCLUSIVE"), pytest.raises(OSError, match=told):
        Export(out)
    with Export(out) as opened:
        assert opened.lost == []


@pytest.mark.usefixtures("impatient")
def test_another_program_may_read_while_it_is_written(opened: Export) -> None:
    opened.commit(some(1))
    with another_program(opened.path, "BEGIN", "SELECT * FROM messages"):
        opened.commit(some(11))
        with pytest.raises(OSError, match="has it open"):
            opened.finished()
        opened.commit(some(21))
    path = opened.finished()
    assert opened.journal.parts()[0].digest == hashlib.sha256(path.read_bytes()).digest()
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
    opened.sink.forget()
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
    with pytest.raises(OSError, match=r"it is damaged .*; remove it"):
        opened.commit(some(1, 2000, type="changed"))
    with pytest.raises(OSError, match="it is damaged"):
        list(opened.sink.stored())


# ── full-text search ──


def found(path: Path, query: str) -> list[str]:
    sql = "SELECT id FROM messages JOIN messages_fts ON messages_fts.rowid = place WHERE messages_fts MATCH ?"
    return [key for (key,) in asked(path, f"{sql} ORDER BY number", query)]


def test_search_knows_the_new_text_and_not_the_old_one(opened: Export) -> None:
    opened.commit(page(record(1, "the invoice of March"), record(2, "Grüße aus Köln"), record(3, None)))
    assert found(opened.path, "invoice") == ["1"]
    assert found(opened.path, "grusse OR gruße") == ["2"]
    opened.commit(page(record(1, "the receipt of April"), record(3, "invoice at last")))
    assert found(opened.path, "invoice") == ["3"]
    assert found(opened.path, "receipt") == ["1"]
    opened.commit(page(record(1, None, deletedAt=AT)))
    assert found(opened.path, "receipt OR april") == []
    opened.commit(page(record(1, "back again")))
    assert found(opened.path, "again") == ["1"]
    assert_search_is_whole(opened.path)


def assert_search_is_whole(path: Path) -> None:
    changed(path, "INSERT INTO messages_fts(messages_fts, rank) VALUES('integrity-check', 0)")
    assert asked(path, "PRAGMA integrity_check") == [("ok",)]


def test_search_and_versions_of_what_was_rolled_back(opened: Export) -> None:
    opened.commit(page(record(1, "old words")))
    opened.add(page(record(1, "new"), record(2, "new")))
    opened.sink.forget()
    opened.commit(page(record(3, "more")))
    assert found(opened.path, "old") == ["1"]
    assert found(opened.path, "new") == []
    assert_search_is_whole(opened.path)


def test_search_outlives_a_vacuum_and_a_deletion(opened: Export) -> None:
    opened.commit(page(*(record(number, f"word{number}") for number in range(1, 50))))
    path = opened.finished()
    changed(path, "DELETE FROM messages WHERE number < 25")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("VACUUM")
    assert found(path, "word30") == ["30"]
    assert found(path, "word3") == []
    assert_search_is_whole(path)


@pytest.mark.usefixtures("no_fts5")
def test_without_fts5_everything_else_works(opened: Export) -> None:
    opened.commit(page(*ODD))
    opened.commit(page(record(1, "edited")))
    for view in VIEWS:
        opened.ask(f"SELECT * FROM {view}")
    assert opened.ask("SELECT count(*) FROM versions") == [(1,)]
    assert opened.ask("SELECT name FROM sqlite_master WHERE name LIKE '%fts%'") == []
    opened.finished()


def test_fts5_that_comes_and_goes_and_comes(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for has_it, number in ((False, 1), (True, 2), (False, 3), (True, 4)):
        with monkeypatch.context() as patched:
            patched.setattr(database_schema, "has_fts5", lambda db, has_it=has_it: has_it)
            with Export(out) as opened:
                opened.commit(page(record(number, f"number {number}"), record(9, f"edit {number}")))
                path = opened.finished()
                assert opened.journal.parts()[0].digest == hashlib.sha256(path.read_bytes()).digest()
        if has_it:
            assert found(path, "number") == list(map(str, range(1, number + 1)))
            assert found(path, "edit") == ["9"]
            assert found(path, f"{number - 1} AND edit") == []
            assert_search_is_whole(path)


# ── views ──


def test_every_view_takes_records_of_any_shape(opened: Export) -> None:
    opened.commit(page(*ODD))
    opened.commit(page(record(1, "edited"), b'{"id":"2","x":"\xff"}'))
    for view in VIEWS:
        columns = [name for _, name, *_ in opened.ask(f"PRAGMA table_info({view})")]
        opened.ask(f"SELECT * FROM {view}")
        for column in columns:
            opened.ask(f"SELECT count(*) FROM {view} WHERE {column} = 'x' OR {column} > 5")
            opened.ask(f"SELECT * FROM {view} ORDER BY {column} LIMIT 1")


def test_the_chat_in_seconds_and_in_milliseconds(opened: Export) -> None:
    opened.commit(
        page(record(1, "hi", at=AT), record(2, "ho", at=AT * 1000 + 999), b'{"id":"3"}', record(4, at=10**18))
    )
    assert opened.ask("SELECT id, sent_utc, text FROM chat ORDER BY id") == [
        ("1", "2020-09-13 12:26:40", "hi"),
        ("2", "2020-09-13 12:26:40", "ho"),
        ("3", None, None),
        ("4", None, "hello"),
    ]


def test_conversations_tell_their_last_word(opened: Export) -> None:
    opened.commit(
        page(
            record(1, "first", at=AT),
            record(3, "last", at=AT + 60, sender="bob"),
            record(2, "between", at=AT + 60),
            record(4, "elsewhere", conversationId="group_den"),
            record(5, "nowhere", conversationId=None),
            b'{"id":"6","conversationId":"empty"}',
        )
    )
    assert opened.ask("SELECT * FROM conversations ORDER BY 1") == [
        ("alice_user_bob", 3, "2020-09-13 12:26:40", "2020-09-13 12:27:40", "3", "bob", "last"),
        ("empty", 1, None, None, "6", None, None),
        ("group_den", 1, "2020-09-13 12:26:40", "2020-09-13 12:26:40", "4", "alice", "elsewhere"),
    ]


def test_senders_and_days(opened: Export) -> None:
    opened.commit(
        page(
            record(1),
            record(2, at=AT + 86_400, conversationId="group_den"),
            record(3, sender="bob"),
            b'{"id":"4"}',
        )
    )
    assert opened.ask("SELECT sender, messages, conversations, last_utc FROM senders ORDER BY 1") == [
        ("alice", 2, 2, "2020-09-14 12:26:40"),
        ("bob", 1, 1, "2020-09-13 12:26:40"),
    ]
    assert opened.ask("SELECT * FROM messages_per_day ORDER BY 1") == [
        (None, 1, 0, 0),
        ("2020-09-13", 2, 2, 1),
        ("2020-09-14", 1, 1, 1),
    ]


def test_calls_of_made_data(opened: Export) -> None:
    with Store() as store:
        fill_made(store, users=5, messages=300, groups=0, seed=3)
        raws = store.records(store.ids())
    opened.commit(page(*raws))
    calls = [found for raw in raws if (found := json.loads(raw))["category"] == "call"]
    expected = []
    for call in calls:
        its = call["data"]["entities"]["on"]["entity"]
        expected.append((call["id"], call["data"]["action"], its["sessionid"], its["type"], its["status"]))
    sql = "SELECT id, action, session_id, kind, status FROM calls ORDER BY CAST(id AS INTEGER)"
    assert opened.ask(sql) == expected
    assert len(expected) > 10
    [(started,)] = opened.ask("SELECT count(started_utc) FROM calls")
    assert started == sum(call["data"]["action"] == "ongoing" for call in calls)


def test_attachments_are_one_a_row(opened: Export) -> None:
    files = [
        {"url": "https://a", "name": "a.jpg", "mimeType": "image/jpeg", "extension": "jpg", "size": 5},
        "odd",
        {},
    ]
    opened.commit(page(record(1, None, type="image", data={"attachments": files}), record(2)))
    sql = (
        "SELECT id, sender, message_type, attachment, name, mime_type, extension, size, url FROM attachments"
    )
    assert opened.ask(f"{sql} ORDER BY attachment") == [
        ("1", "alice", "image", 1, "a.jpg", "image/jpeg", "jpg", 5, "https://a"),
        ("1", "alice", "image", 2, None, None, None, None, None),
        ("1", "alice", "image", 3, None, None, None, None, None),
    ]


def test_edits_tell_before_and_after(opened: Export) -> None:
    for text in ("one", "two", None, "three"):
        opened.commit(page(record(1, text)))
    assert opened.ask("SELECT id, before, after FROM edits ORDER BY version") == [
        ("1", "one", "two"),
        ("1", "two", None),
        ("1", None, "three"),
    ]


def test_json_of_any_member_can_be_asked_for(opened: Export) -> None:
    opened.commit(page(*ODD, record(100, data={"customData": {"n": 7}})))
    sql = "SELECT json_extract(json, '$.data.customData.n') FROM records WHERE id = '100'"
    assert opened.ask(sql) == [(7,)]
    nulls = {key for (key,) in opened.ask("SELECT id FROM records WHERE json IS NULL")}
    assert nulls == {"1", "2", "5", "7", "17"}


# ── with a service ──


async def test_an_export_holds_what_the_service_serves(out: Path) -> None:
    async with Emulator(users=8, messages=700, groups=2, seed=4) as emulator:
        expected = emulator.store.records(emulator.store.ids())
        async with AsyncSession(emulator.app) as session:
            report = await export(session, out, PLAN)
    assert report.complete
    assert (report.messages, report.written) == (700, 700)
    assert [
        raw.encode() for (raw,) in asked(out / "messages.sqlite", "SELECT raw FROM messages ORDER BY number")
    ] == expected
    assert_whole(out, expected)
    assert verify(out).ok


@pytest.mark.usefixtures("small_pages", "tidy")
async def test_odd_records_of_overlapping_sources(out: Path) -> None:
    plan = Plan(format="sqlite", all_users=True, groups=("den", "oak"), pairs=(("ann", "bob"),))
    async with served(300) as service:
        report = await export(service.session, out, plan)
        assert report.complete, report
        assert_whole(out, service.expected())
        assert verify(out).ok, verify(out)
        assert [
            source
            for (source,) in asked(out / "messages.sqlite", "SELECT source FROM sources ORDER BY number")
        ]
        again = await export(service.session, out)
        assert (again.complete, again.written) == (True, 0)
        assert_whole(out, service.expected())


@pytest.mark.parametrize("oddity", ["integer-ids", "empty-lists", "lone-surrogate", "nan"])
async def test_records_that_the_service_makes_odd(out: Path, oddity: Any) -> None:
    async with Emulator(users=4, messages=120, groups=1) as emulator:
        emulator.weather.add(OddRecords(oddity, 3))
        async with AsyncSession(emulator.app) as session:
            report = await export(session, out, PLAN)
    assert (report.complete, report.messages) == (True, 120)
    assert verify(out).ok, verify(out)
    for view in VIEWS:
        asked(out / "messages.sqlite", f"SELECT * FROM {view}")


@pytest.mark.usefixtures("small_pages", "tidy")
async def test_a_recheck_keeps_the_older_version(out: Path) -> None:
    async with served(100) as service:
        await export(service.session, out, PLAN)
        [old] = service.store.records([98])
        new = edit(service.store, 98, "quite another text")
        report = await export(service.session, out, recheck=10**8)
        assert (report.complete, report.changed, report.written) == (True, 1, 0)
        assert_whole(out, service.expected())
        path = out / "messages.sqlite"
        assert asked(path, "SELECT CAST(raw AS BLOB) FROM versions") == [(old,)]
        assert asked(path, "SELECT raw FROM messages WHERE number = 98") == [(new.decode(),)]
        assert found(path, '"quite another"') == ["98"]
        assert verify(out).ok


@pytest.mark.usefixtures("small_pages", "tidy")
@pytest.mark.parametrize("damage", ["missing", "garbage", "short"])
async def test_an_export_whose_database_is_lost_is_read_again(out: Path, damage: str) -> None:
    path = out / "messages.sqlite"
    async with served(100) as service:
        await export(service.session, out, PLAN)
        if damage == "missing":
            path.unlink()
        elif damage == "garbage":
            path.write_bytes(b"garbage" * 1000)
        else:
            changed(path, "DELETE FROM messages WHERE number BETWEEN 20 AND 60")
        report = await export(service.session, out)
        assert report.complete, report
        assert_whole(out, service.expected())
        assert verify(out).ok


class _Dying:
    """A connection whose every commit may be the process's last statement."""

    def __init__(self, db: sqlite3.Connection, fate: Fate) -> None:
        self._db, self._fate = db, fate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> Any:
        if self._fate.dead or sql == "COMMIT" or sql.startswith("PRAGMA"):
            self._fate.step(f"database {sql}")
        found = self._db.execute(sql, *values)
        if sql == "COMMIT":
            self._fate.step("database committed")
        return found


def dying_database(monkeypatch: pytest.MonkeyPatch, fate: Fate) -> None:
    own = {name: getattr(sqlite3, name) for name in dir(sqlite3) if not name.startswith("_")}

    def connect(*asked: Any, **named: Any) -> Any:
        return _Dying(sqlite3.connect(*asked, **named), fate)

    monkeypatch.setattr(database_file, "sqlite3", SimpleNamespace(**own | {"connect": connect}))


@pytest.mark.usefixtures("small_pages", "fast_disk", "tidy")
async def test_killed_at_every_instant_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_file, "_SETTINGS", database_file._SETTINGS.replace("EXTRA", "OFF"))
    plan = Plan(format="sqlite", all_users=True, groups=("den",))
    steps: set[str] = set()
    async with served(60) as service:
        expected = service.expected()
        for at in count(1):
            fate = Fate(tmp_path / str(at), at)
            with monkeypatch.context() as patched:
                dying_database(patched, fate)
                report = await dies(service.session, fate, plan, monkeypatch, workers=2)
            steps.update(fate.asked)
            if report is not None:
                break
            report = await export(service.session, fate.out, plan)
            assert report.complete, (at, fate.asked[-1], report)
            assert_whole(fate.out, expected)
            shutil.rmtree(fate.out)
    assert {"COMMIT", "database COMMIT", "database committed"} <= steps
    assert at > 40


@pytest.mark.usefixtures("small_pages", "fast_disk", "tidy")
async def test_a_recheck_that_is_killed_keeps_each_version_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_file, "_SETTINGS", database_file._SETTINGS.replace("EXTRA", "OFF"))
    async with served(60) as service:
        await export(service.session, tmp_path / "before", PLAN)
        old = service.store.records([8, 30, 58])
        for number in (8, 30, 58):
            edit(service.store, number, f"edited {number}")
        service.store.add_records(records(30, first=61))
        expected = service.expected()
        for at in count(1):
            fate = Fate(tmp_path / str(at), at)
            shutil.copytree(tmp_path / "before", fate.out)
            with monkeypatch.context() as patched:
                dying_database(patched, fate)
                report = await dies(service.session, fate, PLAN, monkeypatch, recheck=10**9)
            report = report or await export(service.session, fate.out, recheck=10**9)
            assert report.complete, (at, fate.asked[-1], report)
            assert_whole(fate.out, expected)
            path = fate.out / "messages.sqlite"
            assert asked(path, "SELECT CAST(raw AS BLOB) FROM versions ORDER BY CAST(id AS INT)") == [
                (raw,) for raw in old
            ]
            if not fate.dead:
                break
            shutil.rmtree(fate.out)
    assert at > 30


# ── anything in any order ──

IDS = st.sampled_from(["1", "2", "003", "3", "x", None])
BATCHES = st.lists(st.tuples(IDS, st.sampled_from(["red", "blue", None])), max_size=5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["commit", "tear", "add"]), BATCHES),
        st.tuples(st.sampled_from(["finish", "reopen"]), st.just([])),
    ),
    max_size=12,
)


class Model:
    """What the file ought to hold."""

    def __init__(self) -> None:
        self.newest: dict[str, bytes] = {}
        self.older: list[bytes] = []

    def put(self, found: list[Row]) -> None:
        for row in found:
            key, raw = key_of(row), bytes(row.raw)
            if self.newest.get(key, raw) != raw:
                self.older.append(self.newest[key])
            self.newest[key] = raw


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_any_order_of_commits_and_deaths(
    steps: list[tuple[str, list[tuple[str | None, str | None]]]],
) -> None:
    model = Model()
    with TemporaryDirectory() as folder:
        opened = Export(Path(folder))
        try:
            for step, batch in steps:
                found = page(*(record(0, text, id=key) for key, text in batch))
                if step == "reopen":
                    opened.close()
                    opened = Export(Path(folder))
                    assert opened.lost == []
                elif step == "finish":
                    opened.finished()
                else:
                    getattr(opened, step)(found)
                    opened.sink.forget()
                    if step != "add":
                        model.put(found)
                check(opened, model)
        finally:
            opened.close()


def check(opened: Export, model: Model) -> None:
    assert {key_of(row): bytes(row.raw) for row, _ in opened.sink.stored()} == model.newest
    assert sum(opened.sink.counts().values()) == len(model.newest)
    assert opened.ask("SELECT CAST(raw AS BLOB) FROM versions ORDER BY version") == [
        (raw,) for raw in model.older
    ]
    red = {key for key, raw in model.newest.items() if json.loads(raw)["data"].get("text") == "red"}
    assert set(found(opened.path, "red")) == red
