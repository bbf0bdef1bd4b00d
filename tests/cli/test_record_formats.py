"""The formats of records: what is exact, what is safe on a terminal, and which fields there are."""

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from chatrest.cli import record_formats, streams
from chatrest.cli.record_formats import FORMATS, Format, RecordWriter, kind_of
from chatrest.models.calls import CallEntity
from chatrest.models.groups import Group
from chatrest.models.messages import Message
from chatrest.models.users import AuthToken, User
from tests.cases import loop_over
from tests.commands import Run

from .conftest import error_line

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.exe\u2066 a\r\nb\tc\u2028d\x00\x7f"
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
    """Return a function that makes standard output a terminal of so many columns."""

    def become(columns: int) -> None:
        monkeypatch.setattr(streams, "is_terminal", lambda _: True)
        monkeypatch.setenv("COLUMNS", str(columns))

    return become


def message(text: str = "hello", **members: Any) -> bytes:
    record = {
        "id": "12", "conversationId": "c", "sender": "alice", "receiverType": "user", "receiver": "bob",
        "category": "message", "type": "text", "data": {"text": text}, "sentAt": 1_795_342_260, **members,
    }  # fmt: skip
    return json.dumps(record, ensure_ascii=False).encode()


def printed(
    *records: bytes, kind: Any = Message, format_: Format | None = None, fields: str | None = None
) -> str:
    writer = RecordWriter(kind_of(kind), format_, fields)
    return (writer.encode(records) + writer.end()).decode()


# ── which format ──


def test_a_pipe_gets_json_as_served_and_a_terminal_lines(terminal: Callable[[int], None]) -> None:
    odd = b'{"id":"1", "n":1.50,"category":"message"}'
    assert printed(odd) == odd.decode() + "\n"
    terminal(100)
    assert printed(message()) == "2026-11-22 10:11  alice → bob  hello\n"


def test_a_table_has_columns_of_one_width_and_a_pipe_all_of_each_cell() -> None:
    first, second = message("短い"), message("x" * 300, sender="bob")
    lines = printed(first, second, format_="table", fields="id,text,sender").splitlines()
    assert lines[0].split() == ["id", "text", "sender"]
    assert lines[2] == f"12  {'x' * 300}  bob"
    assert lines[1] == f"12  短い{' ' * 296}  alice"


def test_a_table_fits_a_terminal(terminal: Callable[[int], None]) -> None:
    from rich.cells import cell_len

    terminal(80)
    rows = printed(message("漢字" * 50), message("short"), format_="table").splitlines()
    assert max(map(cell_len, rows)) == 80
    assert rows[1].endswith("…")
    assert rows[0].split() == ["id", "time", "sender", "receiver", "type", "text"]
    assert rows[1].startswith("12  2026-11-22 10:11  alice   bob       text  漢字漢字")


def test_the_widths_are_those_of_the_first_page_and_the_header_comes_once() -> None:
    writer = RecordWriter(kind_of(Message), "table", "sender,text")
    first = writer.encode([message("hello")]).decode().splitlines()
    second = writer.encode([message("much longer than before", sender="al")]).decode()
    assert first == ["sender  text", "alice   hello"]
    assert second == "al      much longer than before\n"
    assert writer.end() == b""


@loop_over(
    ("format_", "header"), [("csv", "uid,name\n"), ("table", "uid  name\n"), ("json", ""), ("text", "")]
)
def test_an_empty_list_has_its_header(format_: Format, header: str) -> None:
    assert printed(kind=User, format_=format_, fields="uid,name") == header


# ── exact, and safe ──


def test_csv_gives_every_text_back_as_it_was() -> None:
    texts = ['a "quote"', "two\nlines", "a\rb", "=1+1", "+49 30", "-5", "@alice", "", "x,y", HOSTILE]
    data = printed(*map(message, texts), format_="csv", fields="id,text")
    with io.StringIO(data, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["id", "text"]
    assert [row[1] for row in rows[1:]] == texts
    assert data.count("\r\n") == HOSTILE.count("\r\n")  # its own lines end with LF


def test_csv_has_exact_values_and_utc() -> None:
    fields = "id,time,sent_at,data,tags,replyCount,muid"
    line = printed(message(tags=["a", "b"], replyCount=2), format_="csv", fields=fields).splitlines()[1]
    assert line == '12,2026-11-22T10:11:00Z,1795342260,"{""text"":""hello""}","[""a"",""b""]",2,'


@loop_over("format_", ["text", "table"])
@loop_over("fields", [None, "id,text,sender"])
def test_text_cannot_steer_a_terminal(format_: Format, fields: str | None) -> None:
    data = printed(message(HOSTILE, sender=f"al{HOSTILE}ce"), format_=format_, fields=fields)
    assert not set(UNSAFE) & set(data)
    assert len(data.splitlines()) == 1 + (format_ == "table")
    assert "\\x1b[2J" in data
    assert "\\u202egnp.exe" in data


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_steers_a_terminal_in_any_format(terminal: Callable[[int], None], format_: Format) -> None:
    terminal(500)
    data = printed(message(HOSTILE), format_=format_)
    assert not set(UNSAFE) & set(data)
    if format_ == "json":
        assert json.loads(data)["data"]["text"] == HOSTILE


def test_joiners_of_emojis_and_scripts_stay() -> None:
    assert "👩🏽‍💻 می‌خواهم" in printed(message("👩🏽‍💻 می‌خواهم"), format_="text")


def test_a_long_text_is_cut_on_a_terminal_only(terminal: Callable[[int], None]) -> None:
    assert len(printed(message("x" * 9_000), format_="text")) > 9_000
    terminal(80)
    assert printed(message("x" * 9_000), format_="text").endswith("… (7,031 more characters)\n")


@loop_over("raw", [b"{broken", b'{"data": "\xff"', b"5", b"null", b'"\\ud800"', b"[" * 5000])
@loop_over("format_", ["text", "table", "csv"])
def test_a_damaged_record_is_printed_and_no_crash(raw: bytes, format_: Format) -> None:
    assert len(printed(raw, format_=format_).splitlines()) == 1 + (format_ != "text")


def test_a_lone_surrogate_is_an_escape() -> None:
    raw = b'{"id":"1","category":"message","data":{"text":"a\\ud800"}}'
    assert "a\\ud800" in printed(raw, format_="text")
    assert "a\\ud800" in printed(raw, format_="csv", fields="text")
    assert json.loads(printed(raw, format_="json", fields="text")) == {"text": "a\ud800"}


# ── fields ──


def test_fields_have_either_spelling_and_reach_into_objects() -> None:
    raw = message(tags=["x", "y"], pet={"name": "Rex"})
    fields = "sent_at,sentAt,data.text,tags.1,.pet.name,muid"
    assert json.loads(printed(raw, fields=fields)) == {
        "sent_at": 1795342260, "sentAt": 1795342260, "data.text": "hello", "tags.1": "y", "pet.name": "Rex",
        "muid": None,
    }  # fmt: skip
    assert printed(raw, format_="text", fields="id, sender ,text") == "12\talice\thello\n"


def test_a_member_that_the_service_writes_with_an_underscore_is_found() -> None:
    assert json.loads(printed(b'{"data":{"my_own":5}}', fields="data.my_own")) == {"data.my_own": 5}


@loop_over("fields", ["txt", "id,sendr", "", "id,,text", ".", "pet", "reason"])
def test_a_field_that_no_record_can_have_is_refused(fields: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a field; expected are names such as"):
        RecordWriter(kind_of(Message), "text", fields)


def test_the_records_of_every_list_have_columns() -> None:
    group = {"guid": "team", "name": "Team", "type": "public", "owner": "al", "createdAt": 1_795_342_260}
    line = printed(json.dumps(group).encode(), kind=Group, format_="text")
    assert line == "team  Team  public  al  2026-11-22 10:11\n"
    assert kind_of(Any).columns == ()


def test_records_without_known_fields_need_fields_for_a_table() -> None:
    raw = b'{"a":1,"b":[2]}'
    assert printed(raw, kind=Any, format_="text") == '{"a":1,"b":[2]}\n'
    assert printed(raw, kind=Any, format_="csv", fields="b,a") == "b,a\n[2],1\n"
    with pytest.raises(click.UsageError, match="--format table of these records needs --fields"):
        RecordWriter(kind_of(Any), "table")


def test_a_table_shows_credentials_on_request_only() -> None:
    assert "auth_token" not in kind_of(AuthToken).columns
    raw = b'{"uid":"ann","authToken":"t0k3n"}'
    assert "t0k3n" not in printed(raw, kind=AuthToken, format_="table")
    assert printed(raw, kind=AuthToken, format_="text", fields="auth_token") == "t0k3n\n"


def test_a_field_that_the_service_spells_in_its_own_way_is_found() -> None:
    raw = b'{"sessionid":"s-1"}'
    assert json.loads(printed(raw, kind=CallEntity, fields="session_id,sessionid")) == {
        "session_id": "s-1", "sessionid": "s-1",
    }  # fmt: skip


@loop_over("record", record_formats._KINDS)
def test_every_column_is_a_field(record: Any) -> None:
    kind = kind_of(record)
    assert set(kind.columns) <= kind.names.keys() | kind.derived.keys()
    assert RecordWriter(kind, "csv").end().decode() == ",".join(kind.columns) + "\n"


# ── the commands ──


def test_the_lists_of_the_command_share_the_formats(command: Run) -> None:
    for args in (
        ("users", "--limit", "2"),
        ("messages", "user-01", "--limit", "2"),
        ("call", "users.list", "--limit", "2"),
        ("call", "groups.list", "--limit", "2"),
        ("apps",),
    ):
        lines = command(*args, "--format", "csv").stdout.splitlines()
        assert len(lines) in (2, 3)
        assert lines[0].split(",")[0] in ("uid", "id", "guid")
        assert command(*args, "--format", "table").exit_code == 0
    counts = command("messages", "user-01", "--count", "--format", "csv").stdout.splitlines()
    assert counts[0] == "entity_type,entity_id,count"


def test_keys_are_hidden_in_every_format(command: Run) -> None:
    for format_ in FORMATS:
        result = command("apps", "--format", format_, "--fields", "id,apiKeys,accessKey")
        assert result.exit_code == 0
        assert "test-full-access-key" not in result.stdout


@loop_over(
    ("args", "words"),
    [
        (("users", "--fields", "uid,nam"), "'nam' is not a field; expected are names such as name"),
        (("users", "--format", "xml"), "'xml' is not one of"),
        (("call", "users.get", "uid=user-01", "--format", "csv"), "--format"),
        (("call", "users.list", "--each", "-", "--format", "csv"), "--format is of one list"),
        (("cat", "out", "--raw", "--format", "csv"), "--raw prints the records as they are"),
    ],
)
def test_wrong_options_are_named(command: Run, args: tuple[str, ...], words: str) -> None:
    assert words in error_line(command(*args), 2)
