"""The formats of printed records: text, CSV and JSON lines, for all lists.

| format | a record is                          | values                                                 |
|--------|--------------------------------------|--------------------------------------------------------|
| `text` | a readable line                      | for people: local times, no control characters         |
| `csv`  | a row of RFC 4180, lines end with LF | exact: a text is not changed, also if it begins with = |
| `json` | its JSON as served                   | exact                                                  |

A CSV cell that begins with `=` is not altered, as tools of this kind (psql, Miller) do not: what reads the
file gets what was written, and a phone number or a mention (`+49 …`, `@alice`) stays what it is. Who opens it
in a spreadsheet imports the columns as text, in UTF-8.

What goes to a terminal never has control characters or bidirectional overrides: `streams.write` escapes them
in the way of JSON.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import click
from msgspec import structs

from .._core.replies.scanner import read_record
from .._models.groups import Member
from .._models.messages import Message, UnknownMessage
from .._models.raw_json import write_value
from .._models.users import User
from .._secrets import is_credential
from ..errors import ReplyUnreadableError
from . import streams
from .message_text import LINE_TIME, iso_time, local_time, member, message_line, user_line
from .options import option_table

Format: TypeAlias = Literal["text", "csv", "json"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
format_option: Final = option_table(
    ("--format format_", FORMATS, None,
     ("text: a readable line each; csv: exact values, also where a text begins with =; json: as served.  "
      "[default: text to a terminal, else json]")),
)  # fmt: skip
"""The option of every command that prints records."""
_COLUMNS: Final = 6
_GAP: Final = "  "


class RecordKind(NamedTuple):
    """The facts about the records of one type."""

    columns: Mapping[str, Callable[[Any], Any]]
    """Those of CSV, by their names: each gives the exact value of a record."""
    line: Callable[[Any], str] | None = None
    """A record as a line of text; by default the columns that have a value."""


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


_CSV: Final[Any] = csv.writer(_Echo())


def _columns(kind: Any, *names: str) -> dict[str, Callable[[Any], Any]]:
    """Return the columns of some fields, which a record has as the service spells them."""
    wire = {field.name: field.encode_name for field in structs.fields(kind)}
    return {name: partial(_member, wire[name]) for name in names}


def _member(name: str, record: Any) -> Any:
    return member(record, name)


def _exact_text(message: Any) -> Any:
    data = member(message, "data")
    return member(data, "text") or member(data, "caption")


_KINDS: Final[Mapping[Any, RecordKind]] = {
    Message: RecordKind(
        _columns(UnknownMessage, "id")
        | {"time": lambda message: iso_time(member(message, "sentAt"))}
        | _columns(UnknownMessage, "sender", "receiver", "type")
        | {"text": _exact_text},
        message_line,
    ),
    User: RecordKind(
        _columns(User, "uid", "name", "status", "role", "created_at", "last_active_at"), user_line
    ),
    Member: RecordKind(_columns(Member, "uid", "name", "scope", "joined_at", "status")),
}


def kind_of(record: Any) -> RecordKind:
    """Return what is known about the records of a type: of most their first six fields, no credentials."""
    if record in _KINDS:
        return _KINDS[record]
    try:
        fields = structs.fields(record)
    except TypeError:  # any JSON
        return RecordKind({})
    names = [field.name for field in fields if not is_credential(field.name)]
    return RecordKind(_columns(record, *names[:_COLUMNS]))


class RecordWriter:
    """Turns batches of records into the bytes that are printed; `end` gives what comes after the last one.

    - `format_`: None for text on a terminal and JSON elsewhere.
    - `convert` changes the JSON of each record before all else.

    Raises `click.UsageError` for CSV of records whose fields are not known.
    """

    def __init__(
        self,
        kind: RecordKind,
        format_: Format | None = None,
        *,
        convert: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._kind = kind
        self.is_terminal = streams.is_terminal("stdout")
        self.format: Format = format_ or ("text" if self.is_terminal else "json")
        if not kind.columns and self.format == "csv":
            raise click.UsageError(
                "--format csv: these records have no fields that are known; expected text or json"
            )
        self._convert = convert
        self._has_header = False

    def encode(self, raws: Sequence[bytes]) -> bytes:
        """Return the output of some records, each the JSON of one on one line."""
        if self._convert is not None:
            raws = list(map(self._convert, raws))
        if self.format == "json":
            return b"".join([raw + b"\n" for raw in raws])
        lines = self._csv_lines if self.format == "csv" else self._text_lines
        return "".join(f"{line}\n" for line in lines(map(_read, raws))).encode(errors="backslashreplace")

    def end(self) -> bytes:
        """Return what an output without any record has: the header of CSV."""
        return b"" if self.format != "csv" or self._has_header else self.encode([])

    def _text_lines(self, records: Iterator[Any]) -> Iterator[str]:
        for record in records:
            if self._kind.line is not None and not isinstance(record, str):
                line = streams.visible(self._kind.line(record))
            else:
                cells = (_cell(name, value(record)) for name, value in self._kind.columns.items())
                line = _GAP.join(filter(None, cells)) or _cell("", record)
            yield line

    def _csv_lines(self, records: Iterator[Any]) -> Iterator[str]:
        if not self._has_header:
            self._has_header = True
            yield ",".join(self._kind.columns)
        for record in records:
            # Written with CR LF: before Python 3.13 only the breaks of its own lines are quoted.
            row = [_csv_cell(value(record)) for value in self._kind.columns.values()]
            line: str = _CSV.writerow(row).removesuffix("\r\n")
            yield streams.visible(line) if self.is_terminal else line


def _read(raw: bytes) -> Any:
    """Return a record as Python objects; the text of what is not JSON."""
    try:
        return read_record(raw)
    except ReplyUnreadableError:
        return raw.decode(errors="replace")


def _cell(name: str, value: Any) -> str:
    """Return a value for people: a time of a field such as `created_at` is local."""
    if isinstance(value, int) and not isinstance(value, bool) and name.endswith("_at"):
        value = local_time(value, LINE_TIME) or value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    return streams.visible(_csv_cell(value))


def _csv_cell(value: Any) -> str:
    """Return a text as it is, nothing for null, and the JSON of any other value."""
    if isinstance(value, str):
        return value
    return "" if value is None else write_value(value).decode()
