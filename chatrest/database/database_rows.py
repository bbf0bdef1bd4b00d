"""Turn records into the rows of a database.

A database holds Unicode without zero bytes. In a record, each half of a surrogate pair, each zero
byte and each byte that is not UTF-8 becomes U+FFFD, in `raw` and in the columns alike, and is counted.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import filterfalse, islice
from typing import Any, Final

from ..export.formats.columns import MESSAGE_COLUMNS, MessageReader

COLUMNS: Final = tuple(each for each in MESSAGE_COLUMNS if each.kind in ("text", "integer", "time"))
"""The columns of `messages`; nested values are only in `raw`."""
NAMES: Final = tuple(column.name for column in COLUMNS)
_REPLACEMENT: Final = "\ufffd".encode()
_ESCAPES: Final = re.compile(
    rb"(\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u0000|\\u[dD][89a-fA-F]..|\0", re.DOTALL
)
"""What no database holds; the group has what only looks like it."""
_READER: Final = MessageReader(COLUMNS)
_ROWS_AT_ONCE: Final = 500
"""Rows of a table that are inserted together."""


def batched(raws: Iterable[bytes]) -> Iterator[list[bytes]]:
    remaining = iter(raws)
    while batch := list(islice(remaining, _ROWS_AT_ONCE)):
        yield batch


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
    if b"\\u" in lines or b"\0" in lines:
        raws = _ESCAPES.sub(replacement, lines).split(b"\n")
    try:
        for raw in filterfalse(bytes.isascii, raws):
            raw.decode()
    except UnicodeDecodeError:
        before = b"".join(raws).count(_REPLACEMENT)
        raws = [raw.decode(errors="replace").encode() for raw in raws]
        count += b"".join(raws).count(_REPLACEMENT) - before
    return raws, count


def message_values(raws: list[bytes]) -> list[Sequence[Any]]:
    """Return the values of each column of `COLUMNS` of clean records."""
    values = _READER.read(b"\n".join(raws), len(raws))
    return [values[name] for name in NAMES]
