"""The format of the message lists: the envelope's dialect, the order inside a page, the order of the list."""

from typing import Final, Literal, NamedTuple, TypeAlias

Dialect: TypeAlias = Literal["cursor", "next"]
PageOrder: TypeAlias = Literal["ascending", "descending"]
ListOrder: TypeAlias = Literal["id", "time"]
DIALECTS: Final = ("documented", "cursor", "next")
PAGE_ORDERS: Final = ("ascending", "descending")
LIST_ORDERS: Final = ("id", "time")


class PageFormat(NamedTuple):
    """The format of the pages of one list."""

    dialect: Dialect
    """`cursor`: meta.pagination and meta.cursor. `next`: meta.current and meta.next."""
    page_order: PageOrder = "ascending"
    """The order inside a page, by what orders the list."""
    list_order: ListOrder = "id"
    """`time`: by `sentAt`, and by id where that is the same; ids may then come in any order."""
