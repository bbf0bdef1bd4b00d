"""The content of deleted messages, which a site and a database without it leave to the export alone.

A deleted message is also in those that quote it, and in the action that says who deleted it.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from .raw_json import read_value, write_value

_ABOUT_A_MESSAGE: Final = re.compile(rb'"entityType"\s*:\s*"message"')
HINTS: Final = ("quotedMessage", "lastReply", "lastMessage", "deletedAt", "entityType", "u00")
"""Texts, at least one of which is in each such record; a database can look for them."""
_NAMES: Final = frozenset({"quotedMessage", "lastReply", "lastMessage"})
"""The members that are messages."""
_OF_MESSAGES: Final = ("data", "sentAt", "category", "deletedAt")
"""The members of which any other object with an id has one where it is a message."""
_LEFT: Final = frozenset({
    "id", "conversationId", "sender", "receiver", "receiverType", "category", "type", "parentId", "sentAt",
    "updatedAt", "deletedAt", "deletedBy", "resource",
})  # fmt: skip
"""The members that say which message it is, and what became of it."""
_CONTENT: Final = {"text": "[deleted: only the export has it]"}


def without_deleted_texts(raw: bytes, is_gone: bool, is_deleted: Callable[[Any], bool]) -> bytes:
    """Return a record without the content of deleted messages; `is_gone` says that it is one itself.

    `is_deleted` says so of the id of another message. A record that is no JSON object is left as it is where
    it is not deleted; so is one that has none of it.
    """
    # What is in a record with another message in it: one expression of all takes ten times as long.
    if not (
        is_gone
        or b"quotedMessage" in raw or b"deletedAt" in raw or b'"last' in raw
        or (b"\\" in raw and b"\\u00" in raw) or _ABOUT_A_MESSAGE.search(raw)
    ):  # fmt: skip
        return raw
    try:
        value = read_value(raw)
        rest = _left(value) if is_gone else _without(value, is_deleted)
        return raw if rest == value else write_value(rest)
    except (ValueError, RecursionError):
        return b"{}" if is_gone else raw


def _left(value: Any) -> dict[str, Any]:
    members = value if isinstance(value, dict) else {}
    return {name: each for name, each in members.items() if name in _LEFT} | {"data": _CONTENT}


def _without(value: Any, is_deleted: Callable[[Any], bool], name: str = "") -> Any:
    """Return a value without the content of deleted messages; `name` is that of its member, "" at the top."""
    match value:
        case dict():
            is_message = name in _NAMES or (name and any(each in value for each in _OF_MESSAGES))
            if is_message and "id" in value and (value.get("deletedAt") or is_deleted(value["id"])):
                return _left(value)
            return {key: _without(each, is_deleted, key) for key, each in value.items()}
        case list():
            return [_without(each, is_deleted, name or "[]") for each in value]
    return value
