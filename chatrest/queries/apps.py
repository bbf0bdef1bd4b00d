"""Filters of the app list, on the management interface."""

from typing import final

from .checked import Filter, Ordinal, Size, Text


@final
class AppQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filters of GET {management_base_url}/apps."""

    search_key: Text | None = None
    per_page: Size | None = None
    page: Ordinal | None = None
