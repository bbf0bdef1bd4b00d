"""Loads of an export into SQLite and Postgres, compared with what the export holds."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, ChatRestError, MessageChanges, NewMessage, RequestInvalidError
from chatrest.database import LoadReport, load, postgres, sqlite
from chatrest.emulator import Emulator
from chatrest.export import Plan, changes, export, read_raw, read_table
from tests.support.buckets import ADDRESS
from tests.support.stored_exports import START, StoredRuns, record

from .conftest import Database


def counts(report: LoadReport) -> tuple[int, int, int, int]:
    return report.run, report.new, report.changed, report.deleted


@pytest.mark.usefixtures("buckets", "fast_ramp")
async def test_repeated_loads_keep_the_database_equal_to_the_export(
    database: Database, tmp_path: Path
) -> None:
    out, options = str(tmp_path / "out"), dict[str, Any]()
    if database.is_sqlite:
        out, options["journal"] = ADDRESS, tmp_path / "journal"

    async def night(session: AsyncSession) -> LoadReport:
        await export(
            session, out, Plan(all_users=True), tables=("users", "members"), recheck=86_400, **options
        )
        report = load(out, database.url)
        assert database.records() == {each["id"]: each for each in map(json.loads, read_raw(out))}
        assert database.deleted() == {each.id for each in changes(out) if each.kind == "deleted"}
        for table, key in (("users", "uid"), ("members", "uid, guid")):
            records = [json.loads(each) for each in read_table(out, table)]
            rows = sorted(tuple(each[name] for name in key.split(", ")) for each in records)
            assert [tuple(row) for row in database.ask(f"SELECT {key} FROM {table} ORDER BY {key}")] == rows
            assert rows
        return report

    async with Emulator(users=12, messages=400, seed=1) as emulator, AsyncSession(emulator.app) as session:
        sender = session.as_user("user-001")
        sent = [await sender.messages.send(NewMessage.text("user-002", text)) for text in ("one", "two")]
        first = await night(session)
        assert (first.run, first.new + first.deleted, first.changed) == (1, 402, 0)
        for number in range(3):
            await sender.messages.send(NewMessage.text("user-002", f"good night {number}"))
        await sender.messages.update(sent[0].id, MessageChanges(data={"text": "good evening"}))
        await sender.messages.delete(sent[1].id, permanent=True)
        report = await night(session)
    assert (report.new, report.changed, report.deleted) == (5, 1, 1)
    assert sent[1].id in database.deleted()
    assert ("one", "good evening") in database.ask("SELECT before, after FROM edits")
    again = load(out, database.url)
    assert (again.run, again.new, again.tables) == (2, 0, {})


def test_characters_that_a_database_refuses_are_replaced_and_counted(
    database: Database, tmp_path: Path
) -> None:
    runs = StoredRuns(tmp_path / "out")
    odd = {
        1: record(1, text="a\0b \ud83d \\u0000 \\\\ud800 😀"),
        2: record(2, text="wrong").replace(b"wrong", b"\xff"),
        3: record(3, sent_at=START * 1000 + 5, sender=7, receiver=None, parentId=12, data=[1]),
        4: record(4, sentAt="soon", editedAt=10**30, deletedAt=-(10**15), updatedAt={}),
        5: record(5, id="five\0"), 6: record(6, id="five\ud800"),
        7: record(7, text="large").replace(b'"large"', b'"large","n":1e999999'),
        8: record(8, metadata=json.loads("[" * 400 + "]" * 400)),
    }  # fmt: skip
    runs.run(odd.values())
    assert load(runs.folder, database.url).replaced == 5
    texts = database.texts()
    assert texts == {
        "1": "a\ufffdb \ufffd \\u0000 \\\\ud800 😀", "2": "\ufffd", "3": None, "4": "message 4",
        "five\ufffd": "message 6", "7": "large", "8": "message 8",
    }  # fmt: skip
    rows = database.ask("SELECT sender, receiver, parent_id FROM messages WHERE id IN ('3', '4') ORDER BY id")
    assert rows == [("7", None, "12"), ("ann", "bob", None)]
    sent = dict(database.ask("SELECT id, sent_utc FROM chat"))
    assert str(sent["3"]).startswith("2020-09-13 12:26:40")
    assert sent["4"] is None
    runs.run(deleted=["five\0"])
    load(runs.folder, database.url)
    assert database.deleted() == {"five\ufffd"}


class _Failing:
    """A connection, or a cursor of it, that fails at a statement and from then on."""

    def __init__(self, inner: Any, left: list[int]) -> None:
        self._inner, self._left = inner, left

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name not in ("execute", "executemany", "copy", "commit"):
            return value

        def call(*args: Any, **options: Any) -> Any:
            self._left[0] -= 1
            if self._left[0] < 0:
                raise KeyboardInterrupt
            return value(*args, **options)

        return call

    def cursor(self) -> Any:
        return _Cursor(self._inner.cursor(), self._left)


class _Cursor(_Failing):
    def __enter__(self) -> Any:
        self._inner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._inner.__exit__(*error)


@pytest.mark.parametrize("is_later", [False, True])
def test_a_load_that_fails_at_any_statement_has_changed_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_later: bool
) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1), record(2), record(3)])
    if is_later:
        load(runs.folder, database.url)
        runs.run([record(4)], changed=[record(1, text="edited")], deleted=[2])
    before, left = database.state(), [0]
    module: Any = sqlite.sqlite3 if database.is_sqlite else postgres.psycopg
    connect, statements = module.connect, 0
    monkeypatch.setattr(module, "connect", lambda *a, **k: _Failing(connect(*a, **k), left))
    while True:
        left[0] = statements
        with suppress(KeyboardInterrupt):
            load(runs.folder, database.url)
            break
        left[0] = 10**9
        assert database.state() == before, statements
        statements += 1
    assert statements > 10
    left[0] = 10**9
    assert database.records() == {each["id"]: each for each in map(json.loads, read_raw(runs.folder))}
    assert database.deleted() == ({"2"} if is_later else set())
    assert load(runs.folder, database.url).new == 0


def test_every_version_is_stored_once_whenever_loaded(database: Database, tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1, text="a"), record(2, text="x")])
    runs.run(changed=[record(1, text="b")])
    load(runs.folder, database.url)
    runs.run(changed=[record(1, text="c"), record(2, text="y")])
    runs.run(changed=[record(1, text="d")], deleted=[2])
    load(runs.folder, database.url)
    edits = database.ask("SELECT id, before, after FROM edits ORDER BY id, version")
    assert edits == [("1", "a", "b"), ("1", "b", "c"), ("1", "c", "d"), ("2", "x", "y")]
    assert database.texts() == {"1": "d", "2": "y"}


def test_a_message_that_is_shown_again_is_not_deleted_any_more(database: Database, tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1), record(2)])
    runs.run(deleted=[1])
    assert counts(load(runs.folder, database.url)) == (2, 1, 0, 1)
    assert database.deleted() == {"1"}
    runs.run(restored=[1])
    assert counts(load(runs.folder, database.url)) == (3, 1, 0, 0)
    assert database.deleted() == set()


def test_contents_of_deleted_messages_are_removed_on_request(database: Database, tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1, text="wordone"), record(2, text="wordtwo"), record(3, text="kept")])
    runs.run(changed=[record(1, text="wordnext"), record(2, text="wordlast", deletedAt=START)])
    load(runs.folder, database.url)
    assert database.texts() == {"1": "wordnext", "2": "wordlast", "3": "kept"}
    assert load(runs.folder, database.url, deleted="blank").blanked == 1
    assert database.texts() == {"1": "wordnext", "2": None, "3": "kept"}
    runs.run(deleted=[1])
    report = load(runs.folder, database.url)
    assert (report.deleted, report.blanked) == (1, 1)
    assert load(runs.folder, database.url).blanked == 0
    assert database.texts() == {"1": None, "2": None, "3": "kept"}
    reasons = dict(database.ask("SELECT id, deleted_reason FROM messages"))
    assert reasons == {"1": "not_shown", "2": "by_author", "3": None}
    assert database.ask("SELECT raw FROM messages WHERE id IN ('1', '2')") == [(None,), (None,)]
    assert database.ask("SELECT * FROM versions") == []
    with pytest.raises(
        RequestInvalidError, match=r"expected .blank., as .* was loaded with it, or a new database"
    ):
        load(runs.folder, database.url, deleted="keep")
    if database.is_sqlite:
        [data] = [path.read_bytes() for path in tmp_path.glob("chat.sqlite")]
        assert b"wordone" not in data
        assert b"wordlast" not in data
    with pytest.raises(RequestInvalidError, match="deleted = 'erase': expected 'keep', 'blank', or None"):
        load(runs.folder, database.url, deleted="erase")  # type: ignore[arg-type]


def test_a_deleted_message_is_in_no_record_of_another_one(database: Database, tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    old = {"id": "1", "category": "message", "data": {"text": "wordone"}, "sentAt": START}
    on = {"entities": {"on": {"entity": old, "entityType": "message"}}}
    action = record(3, category="action", type="message", data={"action": "edited", **on})
    reply = record(4, text="yes", quotedMessage=old)
    runs.run([record(1, text="wordtwo"), action, reply, unrelated := record(5, lastReply={**old, "id": "9"})])
    load(runs.folder, database.url, deleted="blank")
    before = database.records()
    assert str(before).count("wordone") == 3
    done = record(6, category="action", type="message", data={"action": "deleted", **on})
    runs.run([done], changed=[record(1, text="wordtwo", deletedAt=START)])
    load(runs.folder, database.url)
    after = database.records()
    assert "wordone" in str(after.pop("5"))
    assert "wordone" not in str(after)
    assert after["6"]["data"]["entities"]["on"]["entity"]["id"] == "1"
    assert (after["4"]["data"], database.texts()["4"]) == ({"text": "yes"}, "yes")
    if database.is_sqlite:
        [[raw]] = database.ask("SELECT raw FROM messages WHERE id = '5'")
        assert raw.encode() == unrelated, "what has none of it stays to its last byte"
        data = (tmp_path / "chat.sqlite").read_bytes().replace(unrelated, b"")
        assert b"wordone" not in data


def test_another_export_is_refused(tmp_path: Path, chat: Database) -> None:
    first, second = StoredRuns(tmp_path / "first"), StoredRuns(tmp_path / "second", format="parquet")
    first.run([record(1, text="a"), record(2, text="a")])
    load(first.folder, chat.url)
    shutil.move(first.folder, tmp_path / "moved")
    assert load(tmp_path / "moved", chat.url).new == 0
    second.run([record(2, text="b")], is_killed=True)
    second.run()  # its run 2 is the first one that has ended
    with pytest.raises(RequestInvalidError, match="was loaded from another export"):
        load(second.folder, chat.url)
    assert chat.texts() == {"1": "a", "2": "a"}


def test_tables_of_another_program_are_left_alone(database: Database, tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1)])
    database.ask("CREATE TABLE users(uid text)")
    with pytest.raises(ChatRestError, match=r"users.* already exists.*; nothing was changed"):
        load(runs.folder, database.url)
    assert database.state() == []


@pytest.mark.parametrize(
    ("out", "url", "text"),
    [
        ("out", "mysql://x", "expected a file, sqlite:///FILE or postgresql://"),
        ("out", "postgresql://u:pass%zz@h/d", "database: not an address of Postgres: expected postgresql://user@host"),
        ("out", "postgresql://u:secret@127.0.0.1:1/d", "Postgres 127.0.0.1/d: connection failed: .* refused"),
        ("out", "sqlite:///no/such/folder.sqlite", "no/such/folder.sqlite: unable to open database file"),
        ("out", "{}/other.txt", "other.txt: file is not a database"),
        ("out", "{}/out/chat.sqlite", "database = .*chat.sqlite': expected a place outside of the folder"),
        ("nothing", "{}/x.sqlite", "is not an export"),
    ],
)  # fmt: skip
def test_an_error_is_one_sentence(out: str, url: str, text: str, tmp_path: Path) -> None:
    StoredRuns(tmp_path / "out").run([record(1)])
    (tmp_path / "other.txt").write_text("no database")
    with pytest.raises(ChatRestError, match=text) as error:
        load(tmp_path / out, url.format(tmp_path))
    assert "pass" not in str(error.value)
    assert "secret" not in str(error.value)
    assert not (tmp_path / "x.sqlite").exists()


def test_every_view_has_rows_for_any_records(database: Database, tmp_path: Path) -> None:
    rows = [record(number, data=data) for number, data in enumerate([[], {"entities": {"on": 1}}, 7], 10)]
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1, text="one", conversationId="c"), *rows, b"null", b"[1]", b'"text"'])
    load(runs.folder, database.url)
    counts = [database.ask(f"SELECT count(*) FROM {view}")[0][0] for view in ("chat", "edits")]
    assert counts == [7, 0]
    [[text, sent]] = database.ask("SELECT text, sent_utc FROM chat WHERE id = '1'")
    assert (text, str(sent)[:19]) == ("one", "2020-09-13 13:26:40")
