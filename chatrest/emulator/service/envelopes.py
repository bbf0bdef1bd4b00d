"""The envelopes of replies, around records that are JSON already."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec.json import encode

Envelope: TypeAlias = Callable[[Any], bytes]
"""Makes a reply's body of what an operation gives: a document, or a list of documents."""

root_reply: Final[Envelope] = encode
"""Gives the value itself, without `data`."""


def acked(message: str) -> Envelope:
    """Return the envelope of an acknowledgement with this message, whatever the operation gives."""
    return lambda _: ack_reply(message)


def root_acked(message: str) -> Envelope:
    """Return the envelope of an acknowledgement at the root, without `data`."""
    return lambda _: encode({"success": True, "message": message})


def root_success(_: Any) -> bytes:
    """Return `{"success": true}`, without `data`."""
    return encode({"success": True})


def succeeded(message: str | None = None) -> Envelope:
    """Return the envelope `{"success": true, "message": …, "data": value}`; None for no message."""
    words = {} if message is None else {"message": message}
    return lambda value: encode({"success": True, **words, "data": value})


def one_reply(record: bytes) -> bytes:
    """Return `{"data": record}`."""
    return b'{"data":%b}' % record


def data_reply(value: Any) -> bytes:
    """Return `{"data": value}`."""
    return encode({"data": value})


def success_reply(_: Any) -> bytes:
    """Return `{"data": {"success": true}}`."""
    return encode({"data": {"success": True}})


def member_reply(name: str) -> Envelope:
    """Return the envelope `{"data": {name: value}}`."""
    return lambda value: encode({"data": {name: value}})


def current_reply(documents: Sequence[Mapping[str, Any]], limit: int = 100) -> bytes:
    """Return a list with `meta.current {limit, count}`."""
    return encode({"data": documents, "meta": {"current": {"limit": limit, "count": len(documents)}}})


def list_reply(records: Iterable[bytes], members: Mapping[str, Any]) -> bytes:
    """Return `{"data": [records], …}`; `members` stand beside `data`, one at least."""
    return b'{"data":[%b],%b' % (b",".join(records), encode(members)[1:])


def ack_reply(message: str | None, name: str = "message") -> bytes:
    """Return the acknowledgement of a call that has succeeded; its text is under `name`, None for none."""
    text = {} if message is None else {name: message}
    return encode({"data": {"success": True, **text}})


def pagination(total: int, count: int, size: int, page: int = 1) -> dict[str, int]:
    """Return `meta.pagination`; there is always at least one page."""
    pages = max(1, -(-total // size))
    return {"total": total, "count": count, "per_page": size, "current_page": page, "total_pages": pages}
