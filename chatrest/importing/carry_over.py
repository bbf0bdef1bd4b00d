"""The members of an exported record that an import takes, and those that it leaves out. Pure.

The members are those that the import operations document.

Kept are the ids of users and groups, all times that an import takes (`createdAt`, `joinedAt`, `sentAt` …),
and the texts. Messages get new ids, in the order of the old ones.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ..models.raw_json import write_value
from ..queries.checked import Body
from .entities import IMPORTED_CATEGORIES, Kind, Reader, read_entity, read_object

_PROTECTED: Final = ("password", "protected")
_OF_MESSAGES: Final[Mapping[str, str]] = {
    "parentId": "places in threads (a reply becomes a message of its conversation)",
    "editedAt": "marks of edits",
    "pinnedAt": "pins of messages",
    "quotedMessage": "quotes of other messages",
}
_OF_DATA: Final[Mapping[str, str]] = {
    "reactions": "reactions of messages",
    "mentions": "mentions of users (their text is kept)",
    "moderation": "moderation states of messages",
    "attachments": "files of attachments (their addresses are kept)",
}
_EMPTY: Final[tuple[Any, ...]] = (None, "", 0, [], {})


def omitted(kind: Kind, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of a record no import takes, in words."""
    match kind:
        case "users":
            yield from ["status messages of users"] if record.get("statusMessage") else []
        case "groups":
            yield from ["descriptions of groups"] if record.get("description") else []
            if record.get("type") in _PROTECTED:
                yield "passwords of groups (each gets a random one)"
        case "messages":
            yield from _omitted_of_message(record)


def _omitted_of_message(record: Mapping[str, Any]) -> Iterator[str]:
    category, data = record.get("category"), record.get("data")
    if category not in IMPORTED_CATEGORIES:
        yield f"messages of the category {category}"
        return
    if record.get("deletedAt"):
        yield "deleted messages"
        return
    yield from (words for name, words in _OF_MESSAGES.items() if record.get(name) not in _EMPTY)
    if isinstance(data, dict):
        yield from (words for name, words in _OF_DATA.items() if data.get(name) not in _EMPTY)
    receipts = record.get("receipts")
    if isinstance(receipts, dict) and receipts.get("data") not in (*_EMPTY, [[]]):
        yield "receipts of single members"


def active_user(kind: Kind, line: bytes) -> tuple[str, Body]:
    """Return the record of a user who is not deactivated yet: what is deactivated can send nothing."""
    record = read_object(line)
    record.pop("deactivatedAt", None)
    return read_entity(kind, write_value(record))


def group_reader(new_password: Callable[[], str]) -> Reader:
    """Return a reader of groups; one with a password, which no service shows, gets a new one."""

    def read(kind: Kind, line: bytes) -> tuple[str, Body]:
        record = read_object(line)
        if record.get("type") in _PROTECTED and not record.get("password"):
            record |= {"type": "password", "password": new_password()}
        return read_entity(kind, write_value(record))

    return read


def is_deactivated(record: Mapping[str, Any]) -> bool:
    """Return True for a user who is deactivated; 0 stands for never."""
    return bool(record.get("deactivatedAt"))
