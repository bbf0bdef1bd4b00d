"""The list envelope's `meta`: the position in a list, in all known dialects.

Values have the type that the service sends (`int | str | None`): a cursor is sent back unchanged, and the
numbers of `pagination` may be wrong (`total` is often 0).
"""

from typing import TypeAlias

from msgspec import UNSET, UnsetType

from .record import Record

Value: TypeAlias = int | str | UnsetType | None


class Pagination(Record, rename={}):
    """`meta.pagination` as served; absent members are None."""

    total: int | None = None
    count: int | None = None
    per_page: int | None = None
    current_page: int | None = None
    total_pages: int | None = None


class PageCounts(Record):
    """`meta.current`: the requested (`limit`) and returned (`count`) number of records."""

    limit: int | None = None
    count: int | None = None


class Position(Record):
    """The position and direction of the next page; the members depend on the list.

    It is `meta.cursor`, `meta.next`, `meta.previous`, or `cursor` at the reply's top level.
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


class Meta(Record):
    """`meta` of a list; members that are absent or have an unknown shape are None."""

    pagination: Pagination | None = None
    cursor: Position | None = None
    next: Position | None = None
    previous: Position | None = None
    current: PageCounts | None = None
