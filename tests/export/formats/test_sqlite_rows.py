"""The rows of a database: every record byte for byte, what its columns say, and each older version."""

import hashlib
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from chatrest.core.replies.rows import Row, row_of
from chatrest.export.message_ids import key_of
from tests.databases import ALICE, ALL, AT, ODD, VIEWS, Export, page, record, some

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
    assert {bytes(row.raw) for row in opened.archive.scan()} == {raw, record(2)}


def test_a_record_of_any_shape_is_kept_exactly(opened: Export) -> None:
    found = page(*ODD)
    assert len(found) == len(ODD)
    assert opened.commit(found) == len(ODD)
    assert Counter(bytes(row.raw) for row in opened.archive.scan()) == Counter(ODD)
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
        opened.commit([Row(line=raw)])
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
    assert sum(opened.archive.counts().values()) == 15


def test_the_same_again_is_no_version(opened: Export) -> None:
    opened.commit(page(*ODD))
    before = opened.ask("SELECT * FROM messages")
    assert opened.commit(page(*ODD)) == 0
    opened.edit(page(*ODD))
    assert opened.ask("SELECT * FROM messages") == before
    assert opened.ask("SELECT count(*) FROM versions") == [(0,)]


def test_each_older_version_is_kept(opened: Export) -> None:
    raws = [
        record(1, "first"),
        record(1, "second", updatedAt=AT + 9),
        b'{"id":"1","bad":"\xff"}',
        record(1, "first"),
    ]
    opened.commit(page(raws[0]))
    for raw in raws[1:]:
        assert opened.edit(page(raw)) == 1
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
    opened.edit(page(record(1, None, at=AT + 5, sender="bob", deletedAt=AT + 6)))
    alice = opened.journal.source_of(ALICE.key)
    assert opened.ask("SELECT sender, text, sent_at, deleted_at, source FROM messages") == [
        ("bob", None, AT + 5, AT + 6, alice)
    ]
    assert opened.archive.counts() == {alice: 1}


def test_an_id_twice_in_one_batch(opened: Export) -> None:
    assert opened.commit(page(record(1, "a"), record(2), record(1, "b"), record(1, "b"))) == 2
    assert opened.ask("SELECT id, text FROM messages ORDER BY number") == [("1", "a"), ("2", "hello")]
    assert opened.ask("SELECT count(*) FROM versions") == [(0,)]


def test_ids_with_the_same_number_are_two(opened: Export) -> None:
    assert opened.commit(page(record(7), record(7, id="007"))) == 2
    assert sorted(opened.ids(first=7, last=7)) == ["007", "7"]
