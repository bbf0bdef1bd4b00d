"""The formats of records: what is exact, what is safe on a terminal, and which fields there are."""

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta, timezone
from typing import Any

import click
import pytest

from chatrest._cli import streams
from chatrest._cli.record_formats import (
    Format,
    RecordWriter,
    columns_of,
    iso_time,
    local_time,
    message_line,
    message_text,
)
from chatrest._models.messages import Message
from chatrest._models.users import AuthToken, Group, Member, User
from tests.support.cases import loop_over
from tests.support.commands import Run

from .conftest import error_line

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.exe\u2066 a\r\nb\tc\u2028d\x00\x7f"
ZONE = timezone(timedelta(hours=2))
AT = 1_795_342_260  # 2026-11-22 10:11 UTC
UNSAFE = "\x1b\x07\x9b\u202e\u2066\r\u2028\x00\x7f"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def become(columns: int) -> None:
        monkeypatch.setattr(streams, "is_terminal", lambda _: True)
        monkeypatch.setenv("COLUMNS", str(columns))

    return become


def talk(**members: Any) -> dict[str, Any]:
    return {
        "id": "12", "sender": "alice", "receiver": "bob", "receiverType": "user", "category": "message",
        "type": "text", "data": {"text": "hello"}, "sentAt": AT, **members,
    }  # fmt: skip


def message(text: str = "hello", **members: Any) -> bytes:
    return json.dumps(talk(data={"text": text}, **members), ensure_ascii=False).encode()


def printed(*records: bytes, kind: Any = Message, format_: Format | None = None) -> str:
    writer = RecordWriter(kind, format_)
    return (writer.encode(records) + writer.end()).decode()


def test_a_pipe_gets_json_as_served_and_a_terminal_lines(terminal: Callable[[int], None]) -> None:
    odd = b'{"id":"1", "n":1.50,"category":"message"}'
    assert printed(odd) == odd.decode() + "\n"
    terminal(100)
    assert printed(message()) == "2026-11-22 10:11  alice → bob  hello\n"


def test_csv_has_one_header_even_for_an_empty_list() -> None:
    header = "uid,name,scope,joined_at,status\n"
    assert printed(kind=Member, format_="csv") == header
    writer = RecordWriter(Member, "csv")
    pages = [writer.encode([b'{"uid":"ann"}']), writer.encode([b'{"uid":"bob"}']), writer.end()]
    assert b"".join(pages).decode() == f"{header}ann,,,,\nbob,,,,\n"
    assert printed(kind=Member, format_="json") == printed(kind=Member, format_="text") == ""


def test_csv_round_trips_every_text() -> None:
    texts = ['a "quote"', "two\nlines", "a\rb", "=1+1", "+49 30", "-5", "@alice", "", "x,y", HOSTILE]
    data = printed(*map(message, texts), format_="csv")
    with io.StringIO(data, newline="") as file:
        rows = list(csv.reader(file))
    assert [row[-1] for row in rows] == ["text", *texts]
    assert data.count("\r\n") == HOSTILE.count("\r\n")  # its own lines end with LF


def test_csv_has_exact_values_and_utc() -> None:
    line = printed(message("a, b", type={"odd": [1]}), format_="csv").splitlines()[1]
    assert line == '12,2026-11-22T10:11:00Z,alice,bob,"{""odd"":[1]}","a, b"'
    group = b'{"guid":"team","membersCount":2,"createdAt":1795342260}'
    assert printed(group, kind=Group, format_="csv").splitlines()[1] == "team,,,,1795342260,2"


def test_text_cannot_steer_a_terminal() -> None:
    data = printed(message(HOSTILE, sender=f"al{HOSTILE}ce"), format_="text")
    assert not set(UNSAFE) & set(data)
    assert len(data.splitlines()) == 1
    assert "\\x1b[2J" in data
    assert "\\u202egnp.exe" in data


def test_csv_escapes_control_characters_and_has_one_line_per_record(terminal: Callable[[int], None]) -> None:
    terminal(500)
    data = printed(message(HOSTILE), format_="csv")
    assert not set(UNSAFE) & set(data)
    assert len(data.splitlines()) == 2


@loop_over("raw", [b"{broken", b'{"data": "\xff"', b"5", b"null", b'"\\ud800"', b"[" * 5000])
@loop_over("format_", ["text", "csv"])
def test_a_damaged_record_is_printed_and_no_crash(raw: bytes, format_: Format) -> None:
    assert len(printed(raw, format_=format_).splitlines()) == 1 + (format_ != "text")


def test_the_records_of_every_list_have_columns() -> None:
    group = {"guid": "team", "name": "Team", "type": "public", "owner": "al", "createdAt": 1_795_342_260}
    line = printed(json.dumps(group).encode(), kind=Group, format_="text")
    assert line == "team  Team  public  al  created 2026-11-22 10:11\n"
    user = {"uid": "alice", "name": "Al", "role": "moderator", "lastActiveAt": AT, "deactivatedAt": AT}
    line = printed(json.dumps(user).encode(), kind=User, format_="text")
    assert line == "alice  Al  moderator  last active 2026-11-22 10:11  deactivated 2026-11-22 10:11\n"


def test_records_without_known_fields_are_no_csv() -> None:
    raw = b'{"a":1,"b":[2]}'
    assert printed(raw, kind=Any, format_="text") == '{"a":1,"b":[2]}\n'
    with pytest.raises(click.UsageError, match="no fields that are known; expected text or json"):
        RecordWriter(Any, "csv")


def test_columns_have_no_credentials() -> None:
    assert "auth_token" not in columns_of(AuthToken)
    raw = b'{"uid":"ann","authToken":"t0k3n"}'
    assert "t0k3n" not in printed(raw, kind=AuthToken, format_="text")
    assert "t0k3n" not in printed(raw, kind=AuthToken, format_="csv")


def test_the_lists_of_the_command_share_the_formats(command: Run) -> None:
    for args in (
        ("users", "--limit", "2"),
        ("messages", "user-001", "--limit", "2"),
        ("call", "users.list", "--limit", "2"),
        ("call", "groups.list", "--limit", "2"),
        ("apps",),
    ):
        lines = command(*args, "--format", "csv").stdout.splitlines()
        assert len(lines) in (2, 3)
        assert lines[0].split(",")[0] in ("uid", "id", "guid")
        assert "test-full-access-key" not in "".join(lines)
    counts = command("messages", "user-001", "--count", "--format", "csv").stdout.splitlines()
    assert counts[0] == "entity_type,entity_id,count"


@loop_over(
    ("args", "words"),
    [
        (("users", "--fields", "uid"), "No such option '--fields'"),
        (("users", "--format", "xml"), "--format 'xml': expected 'text', 'csv' or 'json' (see"),
        (("call", "users.get", "uid=user-001", "--format", "csv"), "--format"),
    ],
)
def test_wrong_options_are_named(command: Run, args: tuple[str, ...], words: str) -> None:
    assert words in error_line(command(*args), 2)


@loop_over(
    ("members", "line"),
    [
        ({}, "2026-11-22 12:11  alice → bob  hello"),
        ({"sentAt": AT * 1000}, "2026-11-22 12:11  alice → bob  hello"),
        (
            {"editedAt": AT, "data": {"text": "hello", "reactions": [{"reaction": "👍", "count": 2}]}},
            "2026-11-22 12:11  alice → bob  hello  (edited) 👍2",
        ),
        ({"parentId": "7", "replyCount": 1}, "2026-11-22 12:11  alice → bob  hello  (reply to 7) (1 reply)"),
        ({"replyCount": 0, "parentId": None, "editedAt": 0}, "2026-11-22 12:11  alice → bob  hello"),
        ({"receiver": "team", "receiverType": "group"}, "2026-11-22 12:11  alice → #team  hello"),
        ({"deletedAt": AT, "editedAt": AT, "replyCount": 3}, "2026-11-22 12:11  alice → bob  (deleted)"),
        ({"sentAt": None, "sender": None}, "-  ? → bob  hello"),
    ],
)
def test_a_message_is_a_line(members: dict[str, Any], line: str) -> None:
    assert message_line(talk(**members), ZONE) == line
    assert message_line({"entityId": "bob", "count": 3}) == '{"entityId":"bob","count":3}'


def action(verb: str, **target: Any) -> dict[str, Any]:
    entities = {"by": {"entity": {"uid": "carol"}}, "on": {"entity": target}}
    return {"category": "action", "data": {"action": verb, "entities": entities}}


CAT = {"text": "my cat", "attachments": [{"name": "cat.png", "url": "https://x/y"}]}


@loop_over(
    ("members", "text"),
    [
        ({"data": {"text": "hi <@uid:bob> and <@all:everyone>!"}}, "hi @bob and @everyone!"),
        ({"type": "image", "data": CAT}, "my cat [image cat.png]"),
        ({"type": "file", "data": {"url": "https://x.example/a/b.pdf?token=1"}}, "[file b.pdf]"),
        ({"type": "text", "data": {"text": "see", "attachments": [{"name": "a.md"}]}}, "see [file a.md]"),
        ({"type": "audio", "data": {}}, "[audio]"),
        (action("added", uid="bob"), "[carol added bob]"),
        (action("edited", id=9), "[carol edited message 9]"),
        (action("joined", guid="team"), "[carol joined team]"),
        ({"category": "call", "type": "video", "data": {"action": "ongoing"}}, "[video call ongoing]"),
        ({"category": "custom", "type": "poll", "data": {"customData": {"q": "?"}}}, '[poll] {"q":"?"}'),
        ({"category": "interactive", "type": "form", "data": {"text": "Fill this"}}, "[form] Fill this"),
        ({"category": "hologram", "type": "3d", "data": {"beam": 1}}, '[hologram 3d] {"beam":1}'),
    ],
)
def test_every_category_prints_a_text(members: dict[str, Any], text: str) -> None:
    assert message_text(talk(**members)) == text


@loop_over("data", [None, 5, [], "x", {"text": 5}, {"attachments": [None]}, {"reactions": 1}])
@loop_over("category", ["message", "action", "call", "custom", "interactive", "other"])
def test_a_record_of_any_shape_is_a_line(data: Any, category: str) -> None:
    line = message_line(talk(category=category, data=data, sentAt="x", parentId=[], replyCount="?"), ZONE)
    assert line.startswith("-  alice → bob")


@loop_over("stamp", [None, 0, "5", True, 10**40, -(10**17), {}])
def test_a_value_that_is_not_a_time_is_printed_unchanged(stamp: Any) -> None:
    assert local_time(stamp, ZONE) == ""
    assert iso_time(stamp) in (None, "1970-01-01T00:00:00Z")
