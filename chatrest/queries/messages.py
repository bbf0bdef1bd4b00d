"""Filters of the message lists (specification, Endpoints)."""

from typing import final

from ..errors import RequestInvalidError
from .checked import Affix, Attachments, Filter, Flag, Size, Stamp, Text, Texts, Uid, Uids


@final
class MessageQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The 27 query parameters of GET /users/{uid}/messages (specification, Endpoints).

    `limit` and `per_page` are page sizes (how many messages a walk gives is `walk.limit(n)`): `limit` goes
    with an acting user, `per_page` without one; with neither given a walk asks for the largest page.
    Timestamps are in the service's unit (not shown by the specification; epoch seconds on services of this
    kind). A window that ends before it begins is refused.
    """

    search_key: Text | None = None
    has_attachments: Flag | None = None
    attachment_types: Attachments | None = None
    has_mentions: Flag | None = None
    has_links: Flag | None = None
    mentioned_uids: Uids | None = None
    unread: Flag | None = None
    undelivered: Flag | None = None
    count: Flag | None = None
    hide_replies: Flag | None = None
    affix: Affix | None = None
    id: Uid | None = None
    category: Text | None = None
    categories: Texts | None = None
    type: Text | None = None
    types: Texts | None = None
    my_mentions_only: Flag | None = None
    has_reactions: Flag | None = None
    sender: Uid | None = None
    mentions_with_blocked_info: Flag | None = None
    mentions_with_tag_info: Flag | None = None
    per_page: Size | None = None
    limit: Size | None = None
    from_timestamp: Stamp | None = None
    to_timestamp: Stamp | None = None
    with_tags: Flag | None = None
    tags: Texts | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        start, end = self.from_timestamp, self.to_timestamp
        if start is not None and end is not None and end < start:
            raise RequestInvalidError(
                f"to_timestamp = {end}: the window ends before it begins; "
                f"allowed is from_timestamp ({start}) or later"
            )
