"""How a list is paged, as a value: what leads on, what is sent back, the order, the size parameter.

| dialect      | the reply leads on by                         | the next request says   | order         |
|--------------|-----------------------------------------------|-------------------------|---------------|
| `BY_ID`      | `meta.cursor {id, affix}`                     | `id`, `affix`           | by id         |
| `BY_NEXT`    | `meta.next {affix, sentAt, id}`               | `affix`, `sentAt`, `id` | by id         |
| `BY_THREAD`  | the same, or page numbers                     | the same, or `page`     | by id         |
| `BY_UPDATED` | `cursor {updatedAt, affix}`, in `meta` or not | `updatedAt`, `affix`    | the service's |
| `BY_PAGE`    | `meta.pagination`, or nothing                 | `page`                  | the service's |
| `UNPAGED`    | nothing                                       | nothing                 | the service's |

The dialect says what is documented, the reply decides: services of this kind send `meta.cursor` where
`meta.next` is documented, and positions at the top level (operations table, cursors.conflict).
"""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

Order: TypeAlias = Literal["id", "service"]

LARGEST_PAGE: Final = 1000
"""Records a page may hold at most (specification, Limits): what a walk asks for where nobody says less."""


class Paging(Struct, frozen=True, kw_only=True):
    """One dialect."""

    order: Order = "service"
    """`id`: ascending or descending ids, whatever the order inside a page.

    `service`: as the service gives them.
    """
    size: str = "perPage"
    """The query parameter that asks for a page's size, in records."""
    acting_size: str | None = None
    """The one that does where a user acts (specification, Endpoints, `limit`); None: the same."""
    largest: int = LARGEST_PAGE
    positions: bool = True
    """Whether the list is documented to go on by a position in the reply."""
    numbered: bool = False
    """Whether the list is documented to go on by page numbers."""
    renames: tuple[tuple[str, str], ...] = ()
    """Members of a position that are sent back under another name."""

    def size_name(self, acting_user: str | None) -> str:
        """The parameter that asks for a page's size, with or without an acting user."""
        return self.acting_size if acting_user is not None and self.acting_size is not None else self.size


BY_ID: Final = Paging(order="id", size="perPage", acting_size="limit")
BY_NEXT: Final = Paging(order="id", size="limit")
BY_UPDATED: Final = Paging(size="limit")
BY_PAGE: Final = Paging(positions=False, numbered=True)
UNPAGED: Final = Paging(positions=False)
BY_THREAD: Final = Paging(order="id", numbered=True)
"""Replies to a message: `page` in the query, `meta.next` in the reply (operations table,
messages.list_thread).
"""
