"""The edits and deletions that a record reports: of another message, or of itself.

A file of its own because the folder of an export, its readers and its databases ask the same of a record.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ..._core.replies.rows import Row, row_of
from ..._models.raw_json import REFUSED

ACTION: Final = b'"action"'
"""In every record of an edit or a deletion."""


class _On(Struct, frozen=True):
    entity: Raw = Raw(b"null")


class _Entities(Struct, frozen=True):
    on: _On = _On()


class _ActionData(Struct, frozen=True):
    action: str = ""
    entities: _Entities = _Entities()


class _Action(Struct, frozen=True):
    category: str = ""
    data: _ActionData = _ActionData()


_READ_ACTION: Final = Decoder(_Action)


class _DeletedMessage(Struct, frozen=True, rename="camel"):
    deleted_at: Any = None


_READ_DELETED: Final = Decoder(_DeletedMessage)


def is_deleted(raw: bytes) -> bool:
    """Return whether a record is that of a message which its author, or a moderator, has deleted."""
    try:
        at = _READ_DELETED.decode(raw).deleted_at if b'"deletedAt"' in raw else None
    except REFUSED:
        return False
    return at not in (None, 0, "", "0", False)


def shown_edits(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the messages that records of edits and deletions show, as they were then."""
    for raw in (row.raw for row in rows):
        if ACTION not in raw:
            continue
        try:
            action = _READ_ACTION.decode(raw)
        except REFUSED:
            continue
        if action.category == "action" and action.data.action in ("edited", "deleted"):
            row = row_of(bytes(action.data.entities.on.entity))
            if row.id:
                yield row
