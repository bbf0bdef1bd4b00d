"""The index of a message: from its JSON bytes to the columns for filters, and the names of its lists.

Rules:
- A record is stored as the bytes that are served; its columns are read from those bytes and from nothing
  else, so what a filter sees and what a client gets cannot differ.
- Odd records are welcome (a test may want them): a field of an unexpected type leaves its column empty.
- `tags` are cut out of the stored bytes: a list shows them only `withTags`.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import DecodeError
from msgspec.json import decode, encode

from ...errors import RequestInvalidError

ALL: Final = "*"
"""The list that holds every message of the app."""

COLUMNS: Final = (
    "id INTEGER PRIMARY KEY", "conversation TEXT", "sender TEXT", "receiver TEXT", "receiver_type TEXT",
    "category TEXT", "type TEXT", "sent_at INTEGER", "parent TEXT", "read INTEGER", "delivered INTEGER",
    "deleted INTEGER", "links INTEGER", "reactions INTEGER", "attachments TEXT", "mentions TEXT", "tags TEXT",
    "text TEXT", "updated_at INTEGER", "edited_at INTEGER", "quoting INTEGER",
)  # fmt: skip


class IndexedMessage(NamedTuple):
    columns: tuple[str | int | None, ...]
    """In the order of `COLUMNS`."""
    record: bytes
    """The JSON that is served, without `tags`."""
    lists: tuple[str, ...]
    """The names of the lists that the message is in."""


def conversation_list(conversation: str) -> str:
    """Name the list of one conversation: `<uid>_user_<uid>`, the two sorted, or `group_<guid>`."""
    return f"c:{conversation}"


def group_list(guid: str) -> str:
    return conversation_list(f"group_{guid}")


def participant_list(uid: str) -> str:
    """Name the list of all that a user has sent, and all that was sent to that user alone."""
    return f"u:{uid}"


def thread_list(parent: str) -> str:
    return f"t:{parent}"


def conversation_id(uid: str, other: str) -> str:
    first, second = sorted((uid, other))
    return f"{first}_user_{second}"


def index_message(raw: bytes, last: int) -> IndexedMessage:
    """Index the record `raw` under its own id, or under `last + 1` where that isn't a number above `last`."""
    record = parse_record(raw)
    own = number_of(record.get("id")) or 0
    number = own if own > last else last + 1
    tags = record.get("tags")
    if tags is not None:
        raw = encode({name: value for name, value in record.items() if name != "tags"})
    data = record.get("data")
    columns = (number, *_columns(record, data if isinstance(data, dict) else {}))
    return IndexedMessage(columns, raw, _lists(record))


def parse_record(raw: bytes) -> dict[str, Any]:
    """Return the record as an object; lone surrogates, which are not UTF-8, become question marks."""
    try:
        record = decode(raw)
    except DecodeError:
        record = _decode_surrogates(raw)
    return record if isinstance(record, dict) else {}


def _decode_surrogates(raw: bytes) -> Any:
    try:
        return json.loads(json.dumps(json.loads(raw), ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError as error:
        raise RequestInvalidError(f"record = {raw[:80]!r}: expected JSON in UTF-8; {error}") from None


def _change(record: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return `updatedAt` and `editedAt` of a message that has changed since it was sent."""
    updated_at, edited_at = record.get("updatedAt"), record.get("editedAt")
    if not isinstance(updated_at, int) or (updated_at == record.get("sentAt") and edited_at is None):
        return None, None
    return updated_at, edited_at if isinstance(edited_at, int) else None


def _columns(record: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[str | int | None]:
    for name in ("conversationId", "sender", "receiver", "receiverType", "category", "type"):
        yield _text(record.get(name))
    at = record.get("sentAt")
    yield at if isinstance(at, int) else None
    yield _text(record.get("parentId"))
    for name in ("readAt", "deliveredAt", "deletedAt"):
        yield int(name in record)
    text = data.get("text")
    folded = text.casefold() if isinstance(text, str) else ""
    yield int("http://" in folded or "https://" in folded)
    yield int(bool(data.get("reactions")))
    yield _list(_kinds(data.get("attachments")))
    yield _list(data.get("mentions"))
    yield _list(record.get("tags"))
    yield folded
    yield from _change(record)
    yield int(record.get("quotedMessage") is not None)


def _lists(record: Mapping[str, Any]) -> tuple[str, ...]:
    sender, receiver = _text(record.get("sender")) or "", _text(record.get("receiver")) or ""
    lists = [ALL, conversation_list(_text(record.get("conversationId")) or ""), participant_list(sender)]
    if record.get("receiverType") == "user" and receiver != sender:
        lists.append(participant_list(receiver))
    if parent := _text(record.get("parentId")):
        lists.append(thread_list(parent))
    return tuple(lists)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None if value is None else str(value)


def number_of(id: Any) -> int | None:
    """Return the number that an id is; None for what is no number that a database can hold."""
    text = str(id)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _list(values: Any) -> str | None:
    if not values or not isinstance(values, list | dict):
        return None
    return encode([value for value in values if isinstance(value, str)]).decode()


def _kinds(attachments: Any) -> list[str]:
    if not isinstance(attachments, list):
        return []
    types = [str(item.get("mimeType")).partition("/")[0] for item in attachments if isinstance(item, dict)]
    return [kind if kind in ("image", "video", "audio") else "file" for kind in types]
