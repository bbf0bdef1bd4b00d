"""The envelopes of replies, around records that are JSON already (operations table, reply)."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.json import encode


def one_reply(record: bytes) -> bytes:
    """Return `{"data": record}`."""
    return b'{"data":%b}' % record


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
