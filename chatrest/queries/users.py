"""The filter of the user list."""

from typing import final

from .checked import Filter, Flag, Ordinal, Presence, SearchIn, Size, Text, Texts


@final
class UserQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of GET /users; a walk starts at `page`."""

    search_key: Text | None = None
    search_in: SearchIn | None = None
    status: Presence | None = None
    count: Flag | None = None
    per_page: Size | None = None
    page: Ordinal | None = None
    role: Text | None = None
    roles: Texts | None = None
    tags: Texts | None = None
    with_tags: Flag | None = None
    only_deactivated: Flag | None = None
    with_deactivated: Flag | None = None
