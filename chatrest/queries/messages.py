"""The filters of message and thread lists, and the bodies that change messages."""

from collections.abc import Mapping
from typing import Any, Final, Self, final

from msgspec import UNSET, UnsetType, field

from ..errors import RequestInvalidError
from ..secrets import shown
from .checked import (
    Affix,
    Attachments,
    Body,
    Filter,
    Flag,
    Json,
    Ordinal,
    Size,
    Stamp,
    Text,
    Texts,
    Uid,
    Uids,
)
from .message_fields import AnyTags, ReceiverType as ReceiverType, Switch
from .new_messages import NewMessage as NewMessage

_WINDOWS: Final = (
    ("from_timestamp", "to_timestamp"),
    ("sent_at_from", "sent_at_to"),
    ("updated_at_from", "updated_at_to"),
    ("edited_at_from", "edited_at_to"),
)


@final
class MessageQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of message lists: the 27 query parameters of GET /users/{uid}/messages, then further ones.

    `limit` and `per_page` are page sizes (`walk.limit(n)` limits the number of messages): `limit` is for
    calls with an acting user, `per_page` for calls without one; by default a walk requests the largest page.
    Timestamps are in the service's unit, epoch seconds on services of this kind. `sent_at` is where a walk
    starts, with `affix`; `sent_at_from` to `edited_at_to` are windows. A service may ignore a parameter that
    its list does not declare. Raises `RequestInvalidError` for a wrong value, or if a window ends before it
    begins.
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

    hide_messages_from_blocked_users: Flag | None = None
    receiver_type: ReceiverType | None = None
    hide_deleted: Flag | None = None
    only_deleted: Flag | None = None
    sent_at: Stamp | None = None
    sent_at_from: Stamp | None = field(default=None, name="sentAt[from]")
    sent_at_to: Stamp | None = field(default=None, name="sentAt[to]")
    updated_at_from: Stamp | None = field(default=None, name="updatedAt[from]")
    updated_at_to: Stamp | None = field(default=None, name="updatedAt[to]")
    edited_at_from: Stamp | None = field(default=None, name="editedAt[from]")
    edited_at_to: Stamp | None = field(default=None, name="editedAt[to]")
    senders: Uids | None = None
    conversation_id: Text | None = None
    hide_quoted_messages: Flag | None = None
    saved: Switch | None = None
    pinned: Switch | None = None
    page: Ordinal | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for first, last in _WINDOWS:
            start, end = getattr(self, first), getattr(self, last)
            if isinstance(start, int) and isinstance(end, int) and end < start:
                raise RequestInvalidError(
                    f"{last} = {end}: the window ends before it begins; allowed is {first} ({start}) or later"
                )


@final
class ThreadQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of thread lists: `updated_at` is where a walk starts, with `affix`; `limit` is a page's
    size.

    `participated_by_me` and the counts are about the acting user.
    """

    limit: Size | None = None
    affix: Affix | None = None
    updated_at: Stamp | None = None
    participated_by_me: Flag | None = None
    with_unread_reply_count: Flag | None = None
    with_mention_count: Flag | None = None


@final
class MessageChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """The changes of a message: `data` with a new `text`, `metadata` or both, and the new `tags`.

    Empty `tags` remove those that the message has. Raises `RequestInvalidError` where nothing is changed.
    """

    data: Json | UnsetType = UNSET
    tags: AnyTags | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data is UNSET and self.tags is UNSET:
            raise RequestInvalidError("update: one change at least is needed, in data or tags")

    @classmethod
    def text(cls, text: str, *, metadata: Mapping[str, Any] | None = None) -> Self:
        """Return the change of a message's text; `RequestInvalidError` if it is empty."""
        if not (text and isinstance(text, str)):
            raise RequestInvalidError(f"text = {shown(text)}: allowed is a text that is not empty")
        return cls(data={"text": text} if metadata is None else {"text": text, "metadata": metadata})


@final
class MessageDeletion(Body, frozen=True, kw_only=True, rename="camel"):
    """The body of a message's deletion; `permanent` removes the record too."""

    permanent: Flag | UnsetType = UNSET


@final
class Interactions(Body, frozen=True, kw_only=True, rename="camel"):
    """The elements of an interactive message that the acting user has used, by their ids."""

    interactions: Texts
