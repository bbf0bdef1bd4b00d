"""The content of deleted messages, which a site and a database without it leave to the export alone.

A deleted message is also inside those that quote it, and inside the action that says who deleted it.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from .raw_json import read_value, write_value

HINTS: Final = ("quotedMessage", "lastReply", "lastMessage", "deletedAt", "entityType", "u00")
"""Texts of which each record with a deleted message has at least one; a database can look for them."""
_ABOUT_A_MESSAGE: Final = re.compile(rb'"entityType"\s*:\s*"message"')
_NESTED_MESSAGES: Final = frozenset({"quotedMessage", "lastReply", "lastMessage"})
"""The members that are messages."""
_MESSAGE_MEMBERS: Final = ("data", "sentAt", "category", "deletedAt")
"""Any other object with an id and one of these members is a message, too."""
_REMAINING: Final = frozenset({
    "id", "conversationId", "sender", "receiver", "receiverType", "category", "type", "parentId", "sentAt",
    "updatedAt", "deletedAt", "deletedBy", "resource",
})  # fmt: skip
"""The members that say which message it is, and what became of it."""
_PLACEHOLDER: Final = {"text": "[deleted: only the export has it]"}


def without_deleted_texts(raw: bytes, is_record_deleted: bool, is_deleted: Callable[[Any], bool]) -> bytes:
    """Return a record without the content of deleted messages, byte for byte as it was if it has none.

    `is_record_deleted` says that the record is one itself, `is_deleted` says so of the id of another message.
    A record that is not a JSON object stays as it is, or is `{}` if it is deleted.
    """
    # The texts of a record with another message in it: one expression of all takes ten times as long.
    if not (
        is_record_deleted
        or b"quotedMessage" in raw or b"deletedAt" in raw or b'"last' in raw
        or (b"\\" in raw and b"\\u00" in raw) or _ABOUT_A_MESSAGE.search(raw)
    ):  # fmt: skip
        return raw
    try:
        value = read_value(raw)
        result = _without_content(value) if is_record_deleted else _with_placeholders(value, is_deleted)
        return raw if result == value else write_value(result)
    except (ValueError, RecursionError):
        return b"{}" if is_record_deleted else raw


def _with_placeholders(value: Any, is_deleted: Callable[[Any], bool], name: str = "") -> Any:
    """Return a value without the content of deleted messages; `name` is that of its member, "" at the top."""
    match value:
        case dict():
            has_member = any(member in value for member in _MESSAGE_MEMBERS)
            is_message = name in _NESTED_MESSAGES or (name and has_member)
            if is_message and "id" in value and (value.get("deletedAt") or is_deleted(value["id"])):
                return _without_content(value)
            return {key: _with_placeholders(member, is_deleted, key) for key, member in value.items()}
        case list():
            return [_with_placeholders(item, is_deleted, name or "[]") for item in value]
    return value


def _without_content(value: Any) -> dict[str, Any]:
    members = value if isinstance(value, dict) else {}
    return {name: members[name] for name in members if name in _REMAINING} | {"data": _PLACEHOLDER}
