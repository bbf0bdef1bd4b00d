"""Records as rows of a database.

A database holds Unicode without zero bytes. In a record, each half of a surrogate pair, each zero
byte and each byte that is not UTF-8 becomes U+FFFD, in `raw` and in the columns alike, and is counted.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import filterfalse, islice
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, defstruct, field
from msgspec.structs import astuple

from .._core.replies.rows import row_of
from .._models.raw_json import REFUSED
from ..export.formats.columns import (
    LATEST,
    MESSAGE_COLUMNS,
    Column,
    row_values,
)
from ..export.formats.record_members import fit, read
from ..export.plan.message_ids import key_of, number, plain_numbers
from ..times import MILLISECONDS_FROM

Text: TypeAlias = str | None
Instant: TypeAlias = Annotated[int, Meta(ge=0, le=LATEST)] | None
COLUMNS: Final = tuple(each for each in MESSAGE_COLUMNS if each.kind in ("text", "integer", "time"))
"""Those of `messages`; what is nested is in `raw`."""
NAMES: Final = tuple(column.name for column in COLUMNS)
_REPLACEMENT: Final = "\ufffd".encode()
_ESCAPES: Final = re.compile(
    rb"(\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u0000|\\u[dD][89a-fA-F]..|\0", re.DOTALL
)
"""What no database takes; the group is what only looks like it."""


def _struct(name: str, columns: Iterable[Column], **others: Any) -> Any:
    types: dict[str, Any] = {"text": Text, "time": Instant}
    fields = [(each.name, types[each.kind], field(default=None, name=each.path[-1])) for each in columns]
    return defstruct(name, [*fields, *((key, kind, None) for key, kind in others.items())], gc=False)


_TOP: Final = [each for each in COLUMNS if len(each.path) == 1 and each.name not in ("id", "number")]
_INNER: Final = [each for each in COLUMNS if len(each.path) == 2]
_Data: Final = _struct("_Data", _INNER)
_Members: Final = _struct("_Members", _TOP, id=str | int | None, data=_Data | None)
_DECODER: Final = msgspec.json.Decoder(_Members)
_NOTHING: Final = _Data()


_ROWS: Final = 500
"""Rows of a table that are inserted at once."""


_DECODED: Final = 32
"""Records whose UTF-8 is checked at once: with more, most of the time goes to getting memory."""


def batched(raws: Iterable[bytes]) -> Iterator[list[bytes]]:
    rest = iter(raws)
    while batch := list(islice(rest, _ROWS)):
        yield batch


def _has_escape(lines: bytes) -> bool:
    """Return True if JSON has `\\u`: to go from one backslash to the next is faster than to look for both."""
    at = lines.find(b"\\")
    while at >= 0 and lines[at + 1 : at + 2] != b"u":
        at = lines.find(b"\\", at + 2)
    return at >= 0


def clean_records(raws: list[bytes]) -> tuple[list[bytes], int]:
    """Return records that a database can hold, and how many characters were replaced in them."""
    count = 0

    def replacement(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if match[1] is not None:
            return match[1]
        count += 1
        return _REPLACEMENT

    lines = b"\n".join(raws)
    if _has_escape(lines) or b"\0" in lines:
        raws = _ESCAPES.sub(replacement, lines).split(b"\n")
    others = list(filterfalse(bytes.isascii, raws))
    try:
        for at in range(0, len(others), _DECODED):
            b"".join(others[at : at + _DECODED]).decode()
    except UnicodeDecodeError:
        before = b"".join(raws).count(_REPLACEMENT)
        raws = [raw.decode(errors="replace").encode() for raw in raws]
        count += b"".join(raws).count(_REPLACEMENT) - before
    return raws, count


def message_values(raws: list[bytes]) -> list[Sequence[Any]]:
    """Return the values of each column of `COLUMNS` of clean records.

    Records that all have their documented types are read at once, others one by one.
    """
    try:
        records: list[Any] = _DECODER.decode_lines(b"\n".join(raws))
    except REFUSED:
        records = []
    if len(records) != len(raws):
        records = list(map(_members, raws))
    *top, keys, contents = zip(*map(astuple, records), strict=True)
    ids = [str(key or "") for key in keys]
    if not all(ids):
        ids = [key_of(row_of(raw)) for raw in raws]
    inner = zip(*(astuple(data or _NOTHING) for data in contents), strict=True)
    values: dict[str, Sequence[Any]] = {"id": ids, "number": plain_numbers(ids) or list(map(number, ids))}
    for column, own in zip((*_TOP, *_INNER), (*top, *inner), strict=True):
        values[column.name] = own
        if column.kind == "time" and any(own):
            values[column.name] = [
                (at if at >= MILLISECONDS_FROM else at * 1000) if at else None for at in own
            ]
    return [values[name] for name in NAMES]


def _members(raw: bytes) -> Any:
    try:
        return _DECODER.decode(raw)
    except REFUSED:
        record = read(raw)
    members = fit(_Members, record)
    members.id = row_of(raw, record).id
    return members


def table_row(columns: Sequence[Column], raw: bytes) -> list[Any]:
    """Return the values of a table's record; lists are JSON, and times epoch milliseconds."""
    values = row_values(columns, raw)
    return [msgspec.json.encode(each).decode() if isinstance(each, list) else each for each in values]
