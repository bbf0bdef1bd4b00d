"""How records are printed: as text, as a table, as CSV or as JSON lines; the mechanism of all lists.

| format  | a record is                             | values                                                 |
|---------|-----------------------------------------|--------------------------------------------------------|
| `text`  | a readable line, or fields with tabs    | for people: local times, no control characters         |
| `table` | a row; a terminal cuts what is too long | as text                                                |
| `csv`   | a row of RFC 4180, lines end with LF    | exact: a text is not changed, also if it begins with = |
| `json`  | its JSON as served, or of some fields   | exact                                                  |

A CSV cell that begins with `=` is not altered, as tools of this kind (psql, Miller) do not: what reads the
file gets what was written, and a phone number or a mention (`+49 …`, `@alice`) stays what it is. Who opens it
in a spreadsheet imports the columns as text.

What goes to a terminal never has control characters or bidirectional overrides: in JSON they are escaped in
the JSON's own way. The widths of a table are those of its first page, as a list may have no end.
"""

import csv
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final, get_args

import click
from msgspec import structs

from ..core.replies.scanner import read_record
from ..errors import ReplyUnreadableError
from ..models.apps import AppInfo
from ..models.conversations import Conversation
from ..models.groups import Group, Member
from ..models.messages import Message, UnknownMessage
from ..models.raw_json import write_value
from ..models.users import User
from ..secrets import is_credential
from . import streams
from .message_text import LINE_TIME, iso_time, local_time, member, message_line, message_text, user_line
from .options import option_table

Format: TypeAlias = Literal["text", "table", "csv", "json"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
format_options: Final = option_table(
    ("--format format_", FORMATS, None,
     ("text: a readable line each; table; csv: exact values, also where a text begins with =; json: as "
      "served.  [default: text to a terminal, else json]")),
    ("--fields", None, "NAMES",
     ("Print these only: id,sender,text. A member of an object is data.text; after a dot (.pet) any name "
      "is taken.")),
)  # fmt: skip
"""The options of every command that prints records."""
_SHOWN: Final = 6
_NARROWEST: Final = 6
"""The least width to which the columns of a table are cut, so that it fits a terminal."""
_LONGEST: Final = 2_000
"""Characters of a line of text on a terminal."""
_GAP: Final = "  "
_CAMEL: Final = re.compile(r"_([a-z0-9])")
Derived: TypeAlias = Callable[[Any], Any]


@final
class RecordKind(NamedTuple):
    """What is known about the records of one type."""

    names: Mapping[str, str]
    """Their fields in both spellings, each with the service's."""
    columns: tuple[str, ...]
    """Those of a table."""
    line: Callable[[Any], str] | None = None
    """A record as a line of text; by default the columns that have a value."""
    derived: Mapping[str, tuple[Derived, Derived]] = {}
    """Fields that are not in a record as such: the value for people, and the exact one."""


@final
class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


_CSV: Final[Any] = csv.writer(_Echo())


def _names(kind: Any) -> dict[str, str]:
    wire = {field.name: field.encode_name for field in structs.fields(kind)}
    return wire | {name: name for name in wire.values()}


def _exact_text(message: Any) -> Any:
    data = member(message, "data")
    return member(data, "text") or member(data, "caption")


_MESSAGE: Final = RecordKind(
    {name: wire for name, wire in _names(UnknownMessage).items() if name not in ("raw", "reason")},
    ("id", "time", "sender", "receiver", "type", "text"),
    message_line,
    {
        "text": (message_text, _exact_text),
        "time": (
            lambda message: local_time(member(message, "sentAt"), LINE_TIME),
            lambda message: iso_time(member(message, "sentAt")),
        ),
    },
)
_KINDS: Final[Mapping[Any, RecordKind]] = {
    Message: _MESSAGE,
    User: RecordKind(
        _names(User), ("uid", "name", "status", "role", "created_at", "last_active_at"), user_line
    ),
    Member: RecordKind(_names(Member), ("uid", "name", "scope", "joined_at", "status")),
    Group: RecordKind(_names(Group), ("guid", "name", "type", "owner", "members_count", "created_at")),
    AppInfo: RecordKind(_names(AppInfo), ("id", "name", "region", "plan", "created_at")),
    Conversation: RecordKind(
        _names(Conversation),
        ("conversation_id", "conversation_type", "unread_message_count", "updated_at"),
    ),
}


def kind_of(record: Any) -> RecordKind:
    """Return what is known about the records of a type: of most the fields.

    A table shows the first six of these, without credentials; `--fields` shows any.
    """
    if record in _KINDS:
        return _KINDS[record]
    try:
        fields = structs.fields(record)
    except TypeError:  # any JSON
        return RecordKind({}, ())
    names = [field.name for field in fields if not is_credential(field.name)]
    return RecordKind(_names(record), tuple(names[:_SHOWN]))


@final
class _Field(NamedTuple):
    name: str
    path: tuple[tuple[str, str], ...]
    """Each step as it was written, and as the service writes it."""
    derived: tuple[Derived, Derived] | None

    def value(self, record: Any, *, exact: bool) -> Any:
        if self.derived is not None:
            return self.derived[exact](record)
        for name, wire in self.path:
            if isinstance(record, list) and name.isdecimal():
                record = record[int(name)] if int(name) < len(record) else None
            else:
                record = member(record, wire if isinstance(record, dict) and wire in record else name)
        return record


def _fields(names: str, kind: RecordKind) -> tuple[_Field, ...]:
    """Return the fields of `--fields`; raise `click.BadParameter` for one that the records cannot have."""
    known = kind.names.keys() | kind.derived.keys()
    fields = []
    for name in [name.strip() for name in names.split(",")]:
        first = name.partition(".")[0]
        if not name.strip(".") or (first and known and first not in known):
            near = get_close_matches(first, known, 3) or kind.columns
            raise click.BadParameter(
                f"{name!r} is not a field; expected are names such as {', '.join(near)}, "
                "or a dot and the name of any other member (.pet)",
                param_hint="'--fields'",
            )
        fields.append(_field(name, kind))
    return tuple(fields)


def _field(name: str, kind: RecordKind) -> _Field:
    steps = name.removeprefix(".").split(".")
    wire = [_CAMEL.sub(lambda match: match[1].upper(), step) for step in steps]
    wire[0] = kind.names.get(steps[0], wire[0])
    path = tuple(zip(steps, wire, strict=True))
    return _Field(".".join(steps), path, kind.derived.get(name))


@final
class RecordWriter:
    """Turns batches of records into the bytes that are printed; `end` gives what comes after the last one.

    - `format_`: None for text on a terminal and JSON elsewhere. `fields`: the value of `--fields`.
    - `convert` changes the JSON of each record before all else.

    Raises `click.BadParameter` for a wrong field, and `click.UsageError` for a table without columns.
    """

    def __init__(
        self,
        kind: RecordKind,
        format_: Format | None = None,
        fields: str | None = None,
        *,
        convert: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._kind = kind
        self.is_terminal = streams.is_terminal("stdout")
        self.format: Format = format_ or ("text" if self.is_terminal else "json")
        self._asked = None if fields is None else _fields(fields, kind)
        self._fields = self._asked or tuple(_field(name, kind) for name in kind.columns)
        if not self._fields and self.format in ("table", "csv"):
            raise click.UsageError(f"--format {self.format} of these records needs --fields")
        self._convert = convert
        self._widths: list[int] | None = None
        self._has_header = False

    def encode(self, raws: Sequence[bytes]) -> bytes:
        """Return the output of some records, each the JSON of one on one line."""
        if self._convert is not None:
            raws = list(map(self._convert, raws))
        if self.format == "json":
            is_exact = self._asked is None and not self.is_terminal
            return b"".join([b"%b\n" % raw for raw in raws] if is_exact else map(self._json_line, raws))
        lines = _LINES[self.format](self, [_read(raw) for raw in raws])
        return "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")

    def end(self) -> bytes:
        """Return what an output without any record has: the header of a table or CSV."""
        return b"" if self.format in ("json", "text") or self._has_header else self.encode([])

    # ── JSON ──

    def _json_line(self, raw: bytes) -> bytes:
        if self._asked is not None:
            record = _read(raw)
            raw = write_value({field.name: field.value(record, exact=True) for field in self._asked})
        if self.is_terminal:
            raw = streams.JSON_UNSAFE.sub(_escape_json, raw.decode(errors="replace")).encode()
        return raw + b"\n"

    # ── text ──

    def _text_lines(self, records: list[Any]) -> Iterator[str]:
        for record in records:
            if self._asked is not None:
                line = "\t".join(self._cells(record))
            elif self._kind.line is not None and not isinstance(record, str):
                line = streams.visible(self._kind.line(record))
            else:
                line = _GAP.join(filter(None, self._cells(record))) or _cell("", record)
            if self.is_terminal and len(line) > _LONGEST:
                line = f"{line[:_LONGEST]}… ({len(line) - _LONGEST:,} more characters)"
            yield line

    def _cells(self, record: Any) -> list[str]:
        return [_cell(field.name, field.value(record, exact=False)) for field in self._fields]

    # ── a table ──

    def _table_lines(self, records: list[Any]) -> Iterator[str]:
        rows = list(map(self._cells, records))
        if self._widths is None:
            header = [field.name for field in self._fields]
            self._widths = self._measure([header, *rows])
            self._has_header = True
            rows.insert(0, header)
        for row in rows:
            yield _GAP.join(map(self._padded, row, self._widths)).rstrip()

    def _measure(self, rows: list[list[str]]) -> list[int]:
        from rich.cells import cell_len

        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        if not self.is_terminal or not widths:
            return widths
        room, most = shutil.get_terminal_size().columns - len(_GAP) * (len(widths) - 1), max(widths)
        while most > _NARROWEST and sum(min(width, most) for width in widths) > room:
            most -= 1  # the widest columns give way first
        return [min(width, most) for width in widths]

    def _padded(self, cell: str, width: int) -> str:
        from rich.cells import cell_len, set_cell_size

        if (length := cell_len(cell)) <= width:
            return cell + " " * (width - length)
        return f"{set_cell_size(cell, width - 1)}…" if self.is_terminal else cell

    # ── CSV ──

    def _csv_lines(self, records: list[Any]) -> Iterator[str]:
        rows: Iterable[list[str]] = (
            [_csv_cell(field.value(record, exact=True)) for field in self._fields] for record in records
        )
        if not self._has_header:
            self._has_header = True
            rows = chain([[field.name for field in self._fields]], rows)
        for row in rows:
            # Written with CR LF: before Python 3.13 only the breaks of its own lines are quoted.
            line: str = _CSV.writerow(row).removesuffix("\r\n")
            yield streams.visible(line) if self.is_terminal else line


_LINES: Final[Mapping[str, Callable[[RecordWriter, list[Any]], Iterator[str]]]] = {
    "text": RecordWriter._text_lines,
    "table": RecordWriter._table_lines,
    "csv": RecordWriter._csv_lines,
}


def _read(raw: bytes) -> Any:
    """Return a record as Python objects; the text of what is not JSON."""
    try:
        return read_record(raw)
    except ReplyUnreadableError:
        return raw.decode(errors="replace")


def _cell(name: str, value: Any) -> str:
    """Return a value for people: a time of a field such as `created_at` is local."""
    if isinstance(value, int) and not isinstance(value, bool) and name.endswith(("_at", "At")):
        value = local_time(value, LINE_TIME) or value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    return streams.visible(_csv_cell(value))


def _csv_cell(value: Any) -> str:
    """Return a text as it is, nothing for null, and the JSON of any other value."""
    if isinstance(value, str):
        return value
    return "" if value is None else write_value(value).decode()


def _escape_json(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
