"""The paging of a list, as a value: positions, the parameters that send them, order, and page size.

| dialect      | the reply leads on by                         | the next request says   | order         |
|--------------|-----------------------------------------------|-------------------------|---------------|
| `BY_ID`      | `meta.cursor {id, affix}`                     | `id`, `affix`           | by id         |
| `BY_NEXT`    | `meta.next {affix, sentAt, id}`               | `affix`, `sentAt`, `id` | by id         |
| `BY_THREAD`  | the same, or page numbers                     | the same, or `page`     | by id         |
| `BY_UPDATED` | `cursor {updatedAt, affix}`, in `meta` or not | `updatedAt`, `affix`    | the service's |
| `BY_CREATED` | `meta.next {affix, createdAt}`, or its items  | `affix`, `createdAt`    | the service's |
| `BY_CURSOR`  | `meta.next {affix, cursor}`, or ends          | `affix`, `cursor`       | the service's |
| `BY_PAGE`    | `meta.pagination`, or nothing                 | `page`                  | the service's |
| `BY_REPLY_PAGE` | the same                                   | `page`, and no size     | the service's |
| `UNPAGED`    | nothing                                       | nothing                 | the service's |
| `ONE_REPLY`  | nothing                                       | nothing, and no size    | the service's |
| `ONE_LIMITED_REPLY` | nothing                                | nothing                 | the service's |

The dialect says what is documented, the reply decides: services of this kind send `meta.cursor` where
`meta.next` is documented, and positions at the top level.
"""

from collections.abc import Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Struct, structs

from ..._models.meta import Position

Order: TypeAlias = Literal["id", "service"]

MAX_PAGE_SIZE: Final = 1000
"""The most records of a page; a walk asks for so many if neither caller nor paging names fewer."""
MIN_DEFAULT: Final = 10
"""Records of the smallest page that is documented for a request without a size."""
POSITION_MEMBERS: Final = (
    ("id", "id"), ("sentAt", "sent_at"), ("updatedAt", "updated_at"), ("createdAt", "created_at"),
    ("cursor", "cursor"), ("messageId", "message_id"), ("cursorField", "cursor_field"),
    ("cursorValue", "cursor_value"), ("cursorId", "cursor_id"), ("cursorAffix", "cursor_affix"),
)  # fmt: skip
"""The members of a position that lead on: (on the wire, in `Position`)."""

COMPARED_MEMBERS: Final = frozenset({"id", "sentAt", "updatedAt", "createdAt"})
"""The members whose numbers rise with `append` and fall with `prepend`."""


class Paging(Struct, frozen=True, kw_only=True, dict=True):
    """The documented paging of a list; a dialect is an instance of it."""

    order: Order = "service"
    """`id`: ascending or descending ids, whatever the order inside a page.

    `service`: as the service gives them.
    """
    size: str = "perPage"
    """The query parameter that asks for a page's size, in records; "" where the list has none."""
    acting_size: str | None = None
    """The parameter for the same with an acting user; None if it is `size`."""
    largest: int = MAX_PAGE_SIZE
    positions: bool = True
    """True if the list is documented to continue by a position in the reply."""
    numbered: bool = False
    """True if the list is documented to continue by page numbers."""
    renames: tuple[tuple[str, str], ...] = ()
    """Members of a position that are sent back under another name."""
    own_member: str = ""
    """The member of a position that every item has, too, by its name on the wire; "" for none.

    If a page has no next position, the list is continued from its last item.
    """
    smallest_cap: int = 0
    """Records of the smallest page that a service is expected to cut off; 0 for no expectation."""
    shows_end: bool = False
    """True if a reply with `meta` and without `meta.next` is documented as the last one."""
    filters: tuple[tuple[str, str], ...] = ()
    """Filters of this list that have the name of a position, with their values.

    A walk moves by them only if the service ignores page numbers and gives such a position, and never to
    records that the filter excludes.
    """

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        return tuple(name for name in (self.size, self.acting_size) if name)

    @cached_property
    def sent_names(self) -> tuple[str, ...]:
        """The names under which `POSITION_MEMBERS` are sent back, in their order."""
        renames = dict(self.renames)
        return tuple(renames.get(wire, wire) for wire, _ in POSITION_MEMBERS)

    @cached_property
    def position_names(self) -> frozenset[str]:
        """The query parameters by which a walk moves, and by nothing else."""
        return frozenset({"affix", "page", *self.sizes, *self.sent_names}) - dict(self.filters).keys()

    def filtered_by(self, values: Mapping[str, Any]) -> "Paging":
        """Return the paging of a list whose query has these values.

        A list by page numbers continues by them also if its query names a position, such as `updatedAt`:
        paging by time could skip items changed in the same second.
        """
        if self.positions or not self.numbered:
            return self
        names = self.position_names.intersection(values) - {"page", *self.sizes}
        if not names:
            return self
        return structs.replace(self, filters=tuple([(name, str(values[name])) for name in sorted(names)]))

    def size_name(self, *, is_acting: bool) -> str:
        """Return the parameter for a page's size, with or without an acting user; "" for none."""
        return self.acting_size if is_acting and self.acting_size is not None else self.size


BY_ID: Final = Paging(order="id", size="perPage", acting_size="limit")
BY_NEXT: Final = Paging(order="id", size="limit")
BY_UPDATED: Final = Paging(size="limit")
BY_CREATED: Final = Paging(size="limit", largest=100, own_member="createdAt")
"""Agents and their tools: `createdAt` in milliseconds. No largest size is documented, so pages are
asked for that are as large as those of knowledge.
"""
BY_CURSOR: Final = Paging(size="limit", largest=100, shows_end=True)
"""Knowledge: an opaque cursor, in `meta.next` only if there is a next page."""
BY_PAGE: Final = Paging(positions=False, numbered=True)
UNPAGED: Final = Paging(positions=False)
BY_REPLY_PAGE: Final = Paging(positions=False, numbered=True, size="")
"""By page numbers, without a size: `meta.pagination` is in the reply, and no parameter in the query."""
ONE_REPLY: Final = Paging(positions=False, size="")
"""All in one reply, without a size: an operation without any paging."""
ONE_LIMITED_REPLY: Final = Paging(positions=False, size="limit")
"""All in one reply, of a size that can be asked for: an operation without paging, but with a `limit`."""
BY_THREAD: Final = Paging(order="id", numbered=True)
"""Replies to a message: `page` in the query, `meta.next` in the reply."""


def position_pairs(position: Position, paging: Paging) -> tuple[tuple[str, str], ...]:
    """Return the query pairs that continue from a position, without its `affix`; empty for no location."""
    values = zip(paging.sent_names, _members(position), strict=True)
    return tuple(
        [(name, str(value)) for name, value in values if value is not UNSET and value not in _NOWHERE]
    )


_members = attrgetter(*(name for _, name in POSITION_MEMBERS))
_NOWHERE: Final = (None, 0, "", "0")
