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
class Mark(Record, frozen=True, gc=False, rename="camel"):
    """`meta.cursor` or `meta.next`: from where, and which way, the list goes on."""

    affix: Value = UNSET
    id: Value = UNSET
    sent_at: Value = UNSET
    updated_at: Value = UNSET


@final
class Meta(Record, frozen=True, gc=False):
    """`meta` of a list. A member that the service left out, or sent in a shape of its own, is None."""

    pagination: Pagination | None = None
    cursor: Mark | None = None
    next: Mark | None = None
    previous: Mark | None = None
