"""The formats of printed records: text, CSV and JSON lines, for all lists.

| format | a record is                          | values                                                 |
|--------|--------------------------------------|--------------------------------------------------------|
| `text` | a readable line                      | for people: local times, no control characters         |
| `csv`  | a row of RFC 4180, lines end with LF | exact: a text is not changed, also if it begins with = |
| `json` | its JSON as served                   | exact                                                  |

A record may be of any shape, as users write parts of it: in its readable line a member that is not as
documented is left out, or shown as JSON.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import partial
from typing import Any, Final, Literal, TypeAlias, get_args

import click
from msgspec import structs

from .._core.replies.scanner import read_record
from .._models.messages import Message, UnknownMessage
from .._models.raw_json import write_value
from .._models.users import Member, User
from .._secrets import is_credential
from ..errors import ReplyUnreadableError, RequestInvalidError
from ..times import to_datetime
from . import streams

Format: TypeAlias = Literal["text", "csv", "json"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
FORMAT: Final = (
    "--format format_", FORMATS, "FORMAT",
    "text, csv, or json as served.  [default: text to a terminal, else json]",
)  # fmt: skip
_GAP: Final = "  "
_MENTION: Final = re.compile(r"<@(?:uid|all):([^<>\s]+)>")


def member(value: Any, *names: str) -> Any:
    """Return a member of nested objects; None if one of them is no object or has no such member."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def local_time(stamp: Any, zone: tzinfo | None = None) -> str:
    """Return a timestamp in seconds or milliseconds as local time; "" for what is no time."""
    try:
        moment = to_datetime(stamp)
        return "" if moment is None or not stamp else moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")
    except (RequestInvalidError, OverflowError, ValueError, OSError):
        return ""


def message_line(message: Any, zone: tzinfo | None = None) -> str:
    """Return `2026-11-22 12:11  alice → bob  hello  (edited) 👍2`."""
    if not isinstance(member(message, "category"), str):  # such as the counts of unread messages
        return _json(message)
    sender, receiver = (_text(member(message, name)) or "?" for name in ("sender", "receiver"))
    group = "#" if member(message, "receiverType") == "group" else ""
    when = local_time(member(message, "sentAt"), zone) or "-"
    marks = " ".join(_marks(message))
    return _GAP.join(filter(None, (when, f"{sender} → {group}{receiver}", message_text(message), marks)))


def message_text(message: Any) -> str:
    """Return what a message says, of any category: its text, its files, an action, a call, or its JSON."""
    if member(message, "deletedAt"):
        return "(deleted)"
    data, category = member(message, "data"), member(message, "category")
    kind = _text(member(message, "type"))
    text = _MENTION.sub(r"@\1", _text(member(data, "text")) or _text(member(data, "caption")))
    match category:
        case "message":
            return " ".join(filter(None, (text, *_files(data, kind))))
        case "action":
            return f"[{_action(data)}]"
        case "call":
            state = member(data, "action") or member(data, "entities", "on", "entity", "status")
            return f"[{' '.join(filter(None, (kind, 'call', _text(state))))}]"
        case "custom" | "interactive":
            content = member(data, "customData") if category == "custom" else member(data, "interactiveData")
            return f"[{kind}] {text or (_json(content) if content is not None else '')}".strip()
    return f"[{_text(category)} {kind}] {_json(data)}"


def _files(data: Any, kind: str) -> Iterator[str]:
    attachments = member(data, "attachments")
    for file in attachments if isinstance(attachments, list) else [data]:
        url = _text(member(file, "url"))
        name = _text(member(file, "name")) or url.partition("?")[0].rpartition("/")[2]
        if name or (kind not in ("", "text") and file is data):
            yield f"[{' '.join(filter(None, (kind if kind != 'text' else 'file', name)))}]"


def _action(data: Any) -> str:
    """Return `alice added bob`, or `alice edited message 12`."""
    entities = member(data, "entities")
    subject, target = (member(entities, role, "entity") for role in ("by", "on"))
    thing = _party(target)
    if not thing and (number := member(target, "id")) is not None:
        thing = f"message {_text(number)}"
    return " ".join(filter(None, (_party(subject), _text(member(data, "action")), thing)))


def _party(entity: Any) -> str:
    return _text(member(entity, "uid")) or _text(member(entity, "guid"))


def _marks(message: Any) -> Iterator[str]:
    if member(message, "deletedAt"):
        return
    if member(message, "editedAt"):
        yield "(edited)"
    if parent := member(message, "parentId"):
        yield f"(reply to {_text(parent)})"
    if isinstance(replies := member(message, "replyCount"), int) and replies > 0:
        yield f"({replies} {'reply' if replies == 1 else 'replies'})"
    reactions = member(message, "data", "reactions")
    for each in reactions if isinstance(reactions, list) else ():
        if reaction := _text(member(each, "reaction")):
            yield f"{reaction}{_text(member(each, 'count'))}"


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _json(value: Any) -> str:
    return "" if value is None else write_value(value).decode()


def iso_time(stamp: Any) -> str | None:
    try:
        moment: datetime | None = to_datetime(stamp)
    except RequestInvalidError:
        return None
    return None if moment is None else moment.isoformat(timespec="seconds").replace("+00:00", "Z")


class _Echo:
    def write(self, text: str) -> str:
        return text


_CSV: Final[Any] = csv.writer(_Echo())
_COLUMNS: Final[Mapping[Any, tuple[str, ...]]] = {
    Message: ("id", "time", "sender", "receiver", "type", "text"),
    User: ("uid", "name", "status", "role", "created_at", "last_active_at", "deactivated_at"),
    Member: ("uid", "name", "scope", "joined_at", "status"),
}
_MAX_COLUMNS: Final = 6
_OF_MESSAGES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "time": lambda message: iso_time(member(message, "sentAt")),
    "text": lambda message: member(message, "data", "text") or member(message, "data", "caption"),
}


def columns_of(record: Any) -> dict[str, Callable[[Any], Any]]:
    """Return the columns of CSV by their names, each with the exact value of a record; of any JSON none."""
    try:
        fields = structs.fields(UnknownMessage if record is Message else record)
    except TypeError:
        return {}
    wire = {field.name: field.encode_name for field in fields if not is_credential(field.name)}
    names = _COLUMNS.get(record, tuple(wire)[:_MAX_COLUMNS])
    special = _OF_MESSAGES if record is Message else {}
    return {name: special.get(name) or partial(_member, wire[name]) for name in names}


def _member(name: str, record: Any) -> Any:
    return member(record, name)


class RecordWriter:
    """Turns batches of records of a type into the bytes that are printed; `end` gives what comes after them.

    - `format_`: None for text on a terminal and JSON elsewhere.
    - `has_header`: False for CSV that continues an earlier output.

    Raises `click.UsageError` for CSV of records whose fields are not known.
    """

    def __init__(self, record: Any, format_: Format | None = None, *, has_header: bool = True) -> None:
        self._columns, self._is_message = columns_of(record), record is Message
        self.is_terminal = streams.is_terminal("stdout")
        self.format: Format = format_ or ("text" if self.is_terminal else "json")
        if not self._columns and self.format == "csv":
            raise click.UsageError(
                "--format csv: these records have no fields that are known; expected text or json"
            )
        self._lacks_header = has_header and self.format == "csv"

    def encode(self, raws: Sequence[bytes]) -> bytes:
        if self.format == "json":
            return b"".join([raw + b"\n" for raw in raws])
        lines = self._csv_lines if self.format == "csv" else self._text_lines
        return "".join(f"{line}\n" for line in lines(map(_read, raws))).encode(errors="backslashreplace")

    def end(self) -> bytes:
        """Return what an output without any record has: the header of CSV."""
        return self.encode([]) if self._lacks_header else b""

    def _text_lines(self, records: Iterator[Any]) -> Iterator[str]:
        for record in records:
            if self._is_message and not isinstance(record, str):
                line = streams.visible(message_line(record))
            else:
                cells = (_cell(name, value(record)) for name, value in self._columns.items())
                line = _GAP.join(filter(None, cells)) or _cell("", record)
            yield line

    def _csv_lines(self, records: Iterator[Any]) -> Iterator[str]:
        if self._lacks_header:
            self._lacks_header = False
            yield ",".join(self._columns)
        for record in records:
            # Written with CR LF: before Python 3.13 only the breaks of its own lines are quoted.
            row = [_csv_cell(value(record)) for value in self._columns.values()]
            line: str = _CSV.writerow(row).removesuffix("\r\n")
            yield streams.visible(line) if self.is_terminal else line


def _read(raw: bytes) -> Any:
    try:
        return read_record(raw)
    except ReplyUnreadableError:
        return raw.decode(errors="replace")


def _cell(name: str, value: Any) -> str:
    """Return a value for people: of `created_at` the text `created 2026-11-22 12:11`, in local time."""
    if name.endswith("_at") and type(value) is int and (time := local_time(value)):
        value = f"{name.removesuffix('_at').replace('_', ' ')} {time}"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    return streams.visible(_csv_cell(value))


def _csv_cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else write_value(value).decode()
