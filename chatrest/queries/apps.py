"""Filters of the app list, on the management interface."""

from typing import final

from .checked import Filter, Ordinal, Size, Text


@final
class AppQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """What GET {management_base_url}/apps can be narrowed to."""

    search_key: Text | None = None
    per_page: Size | None = None
    page: Ordinal | None = None
