"""The filter of the message lists, and the body of a message to send (specification, Endpoints)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias, final

from msgspec import UNSET, Meta, UnsetType

from ..errors import RequestInvalidError
from ..secrets import shown
from .checked import Affix, Attachments, Body, Filter, Flag, Json, Size, Stamp, Text, Texts, Uid, Uids

ReceiverType: TypeAlias = Annotated[Literal["user", "group"], Meta(description="'user' or 'group'")]
SentCategory: TypeAlias = Annotated[Literal["message", "custom"], Meta(description="'message' or 'custom'")]


@final
class MessageQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The 27 query parameters of GET /users/{uid}/messages (specification, Endpoints).

    `limit` and `per_page` are page sizes (`walk.limit(n)` limits the number of messages): `limit` is for
    calls with an acting user, `per_page` for calls without one; by default a walk requests the largest page.
    Timestamps are in the service's unit (not shown by the specification; epoch seconds on services of this
    kind). Raises `RequestInvalidError` for a wrong value, or if `to_timestamp` is before `from_timestamp`.
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
        if (
            isinstance(start, int) and isinstance(end, int) and end < start
        ):  # `super().__post_init__()` made them numbers
            raise RequestInvalidError(
                f"to_timestamp = {end}: the window ends before it begins; "
                f"allowed is from_timestamp ({start}) or later"
            )


@final
class NewMessage(Body, frozen=True, kw_only=True, rename="camel"):
    """A message to send: the body of POST /messages (specification, Endpoints).

    `receiver` is a uid for `receiver_type="user"`, a guid for `"group"`. `data` is a JSON object, `{"text":
    …}` for a text. `muid` is an id that the caller chooses and the message keeps. Raises
    `RequestInvalidError` if a member is wrong; the service checks the content of `data`.
    """

    receiver: Uid
    receiver_type: ReceiverType = "user"
    category: SentCategory | UnsetType = UNSET
    type: Text
    data: Json
    muid: Text | UnsetType = UNSET
    tags: Texts | UnsetType = UNSET

    @classmethod
    def text(
        cls,
        receiver: str,
        text: str,
        *,
        receiver_type: Literal["user", "group"] = "user",
        metadata: Mapping[str, Any] | None = None,
        muid: str | UnsetType | None = UNSET,
        tags: Sequence[str] | UnsetType | None = UNSET,
    ) -> Self:
        """Return a text message; `RequestInvalidError` if `text` is empty or another argument is wrong."""
        if not (text and isinstance(text, str)):
            raise RequestInvalidError(f"text = {shown(text)}: allowed is a text that is not empty")
        data: dict[str, Any] = {"text": text}
        if metadata is not None:
            data["metadata"] = metadata
        return cls(
            receiver=receiver,
            receiver_type=receiver_type,
            type="text",
            data=data,
            muid=UNSET if muid is None else muid,
            tags=UNSET if tags is None else tags,
        )
