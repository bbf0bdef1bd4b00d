"""The filter of the app list of the management interface."""

from typing import final

from .checked import Filter, Ordinal, Size, Text


@final
class AppQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of GET {management_base_url}/apps; a walk starts at `page`."""

    search_key: Text | None = None
    per_page: Size | None = None
    page: Ordinal | None = None
