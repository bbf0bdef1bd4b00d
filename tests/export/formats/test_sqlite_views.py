"""The database's views: what a person reads there, whatever shape records have."""

import json

from chatrest.emulator.store import Store
from chatrest.emulator.store.data import fill as fill_made
from tests.databases import AT, ODD, VIEWS, Export, page, record


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
    opened.commit(page(record(1, "one")))
    for text in ("two", None, "three"):
        opened.edit(page(record(1, text)))
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
