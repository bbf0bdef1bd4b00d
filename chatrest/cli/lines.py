"""A page's records as JSON lines: the very bytes that the service sent, in the walk's order.

A walk gives structs, sorted and without repeats; the page has the reply's whole body. The two meet by id.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ..core.scan import envelope
from ..models.message import UnknownMessage
from ..walk import Page


class _Records(Struct):
    data: list[Raw]


class _Id(Struct, gc=False):
    id: str


class _Uid(Struct, gc=False, rename={"id": "uid"}):
    id: str


class _Ids(Struct):
    data: list[_Id]


class _Uids(Struct):
    data: list[_Uid]


_RECORDS: Final = msgspec.json.Decoder(_Records)
_NAMES: Final[Mapping[str, msgspec.json.Decoder[_Ids] | msgspec.json.Decoder[_Uids]]] = {
    "id": msgspec.json.Decoder(_Ids),
    "uid": msgspec.json.Decoder(_Uids),
}
_REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")


def lines_of(page: Page[Any], key: str = "id") -> list[bytes]:
    """The records of the page's items, one line each, without a newline at the end.

    `key` is the name of the record's id: `id`, or `uid` for users. A record that the service wrote over
    several lines has spaces for the line breaks: JSON has none inside a text, so nothing else changes.
    """
    served = _served(page.raw, key)
    records = [
        item.raw if isinstance(item, UnknownMessage) else served[getattr(item, key)] for item in page.items
    ]
    return [_on_one_line(record) for record in records]


def _on_one_line(record: bytes) -> bytes:
    return record.translate(_ONE_LINE) if b"\n" in record or b"\r" in record else record


def _served(body: bytes, key: str) -> dict[str, bytes]:
    """The bytes of each record by its id; of several with one id the first, as a walk takes it."""
    try:
        names = [record.id for record in _NAMES[key].decode(body).data]
        records = [bytes(record) for record in _RECORDS.decode(body).data]
        return dict(zip(reversed(names), reversed(records), strict=True))
    except _REFUSED:
        found: dict[str, bytes] = {}
        for name, record in _patiently(body, key):
            found.setdefault(name, record)
        return found


def _patiently(body: bytes, key: str) -> Iterator[tuple[str, bytes]]:
    for record, raw in envelope(body)[1]:
        if isinstance(record, dict) and key in record:
            yield str(record[key]), raw
