"""The list envelope's `meta` (specification, Resources): where a list stands, in every dialect seen.

Values are taken as they come (`int | str | None`): a cursor is handed back, not reckoned with, and the
numbers of `pagination` are hints (`total` is often 0).
"""

from typing import TypeAlias, final

from msgspec import UNSET, UnsetType

from .record import Record

Value: TypeAlias = int | str | UnsetType | None


@final
class Pagination(Record, frozen=True, gc=False, rename={}):
    """`meta.pagination`, as served; None where a member is absent."""

    total: int | None = None
    count: int | None = None
    per_page: int | None = None
    current_page: int | None = None
    total_pages: int | None = None


@final
class Current(Record, frozen=True, gc=False):
    """`meta.current`: how many records the service was asked for, and how many it gave."""

    limit: int | None = None
    count: int | None = None


@final
class Position(Record, frozen=True, gc=False, rename="camel"):
    """From where, and in which direction, a list goes on: `meta.cursor`, `meta.next`, `meta.previous`, or a
    `cursor` at the reply's top level. Which members are there depends on the list.
    """

    affix: Value = UNSET
    id: Value = UNSET
    sent_at: Value = UNSET
    updated_at: Value = UNSET
    created_at: Value = UNSET
    cursor: Value = UNSET
    message_id: Value = UNSET
    cursor_field: Value = UNSET
    cursor_value: Value = UNSET
    cursor_id: Value = UNSET
    cursor_affix: Value = UNSET


@final
class Meta(Record, frozen=True, gc=False):
    """`meta` of a list. A member that the service left out, or sent in a shape of its own, is None."""

    pagination: Pagination | None = None
    cursor: Position | None = None
    next: Position | None = None
    previous: Position | None = None
    current: Current | None = None
