"""The filter of lists that have nothing to filter: their page, and its size."""

from typing import final

from .checked import Filter, Ordinal, Size


@final
class PageQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The page size of a list by page numbers; a walk starts at `page`."""

    per_page: Size | None = None
    page: Ordinal | None = None
