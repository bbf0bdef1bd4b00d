"""Messages to send, and the filters and changes of messages."""

from collections.abc import Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Self,
    TypeAlias,
    TypedDict,
    Unpack,
    get_args,
)

import msgspec
from msgspec import UNSET, Meta, UnsetType, field, structs

from .._secrets import repr_of
from ..errors import RequestInvalidError
from .checked import (
    Attachments,
    Body,
    Bool,
    Direction,
    Filter,
    Json,
    Ordinal,
    PageSize,
    Stamp,
    Text,
    Texts,
    Uid,
    Uids,
    struct_type,
)
from .fields import MessageTags, ReceiverType, StructOrMapping, Switch, Tags, Url, words_of

# ── messages to send ──

MESSAGE_BYTES: Final = 65_536
"""The longest message as JSON, in bytes."""

MediaType: TypeAlias = Literal["image", "file", "audio", "video"]
Goal: TypeAlias = Literal["anyAction", "anyOf", "allOf", "oneOf", "none"]
SentCategory: TypeAlias = Literal["message", "custom"]
_TYPES: Final = {
    "message": ("text", "image", "file", "audio", "video"),
    "interactive": ("card", "form", "customInteractive", "scheduler"),
}
"""The types of a category; a custom message has any type."""
_REFUSED_GOALS: Final = {"form": "anyAction", "card": "anyAction", "scheduler": "anyOf"}


if TYPE_CHECKING:  # the type of an argument: a checked struct makes digits of a number
    ByteCount: TypeAlias = int | str
else:
    ByteCount: TypeAlias = Annotated[
        str, Meta(pattern=r"\A[0-9]+\Z", description="a whole number of bytes, or its digits")
    ]


class MultipleReceivers(Body):
    """Several receivers of one message; one at least."""

    uids: Uids | UnsetType = UNSET
    guids: Uids | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.uids is UNSET and self.guids is UNSET:
            raise RequestInvalidError("expected at least one receiver, in uids or guids")


class NewAttachment(Body):
    """A file of a media message, which the service finds at `url`; `size` in bytes, sent as digits."""

    url: Url
    name: Text | UnsetType = UNSET
    mime_type: Text | UnsetType = UNSET
    extension: Text | UnsetType = UNSET
    """The file name's extension, without the dot."""
    size: ByteCount | UnsetType = UNSET

    def __post_init__(self) -> None:
        if type(self.size) is int and self.size >= 0:
            structs.force_setattr(self, "size", str(self.size))
        super().__post_init__()


class InteractionGoal(Body):
    """The interactions that complete an interactive message, by its type."""

    type: Goal
    """Which interactions complete the message."""
    element_ids: Texts | UnsetType = UNSET
    """Ids of the elements that count."""


Receivers: TypeAlias = Annotated[
    StructOrMapping[MultipleReceivers],
    Meta(description="MultipleReceivers, or a mapping with uids, guids or both"),
]


class ThreadOptions(TypedDict, total=False):
    """The members of any message beside its receiver, type and data."""

    receiver_type: Literal["user", "group"]
    multiple_receivers: Receivers | UnsetType
    tags: Sequence[str] | UnsetType | None


class MessageOptions(ThreadOptions, total=False):
    """The members of a message that is no reply in a thread."""

    quoted_message_id: str | UnsetType | None
    muid: str | UnsetType | None


class MessageBody(Body):
    """The members that every message to send has.

    Raises `RequestInvalidError` if a member is wrong, if there is no receiver, if the type is none of an
    explicit category, or if the JSON has more than 65,536 bytes; the service checks the content of `data`.
    """

    is_reply: ClassVar[bool] = False
    """True for a reply, which may leave the receiver to its thread."""

    receiver: Uid | UnsetType = UNSET
    """The uid of the other user, or with `receiver_type="group"` the guid."""
    receiver_type: ReceiverType = "user"
    category: Text | UnsetType = UNSET
    type: Text
    """The message's type, such as text or image; of a bot also card and others."""
    data: Json
    """The content: `{"text": …}` of a text, else attachments, customData, metadata."""
    multiple_receivers: Receivers | UnsetType = UNSET
    """Several receivers, in place of or beside `receiver`."""
    tags: MessageTags | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.has_receiver or self.is_reply):
            raise RequestInvalidError(
                "receiver is not given: expected a uid or guid, or multiple_receivers in its place"
            )
        types = _TYPES.get(str(self.category))
        if types is not None and self.type not in types:
            raise RequestInvalidError(
                f"type = {repr_of(self.type)}: expected {words_of(types)} in the category {self.category!r}"
            )
        try:
            size = len(msgspec.json.encode(self))
        except (TypeError, ValueError, RecursionError):  # what is no JSON at all is refused when it is sent
            return
        if size > MESSAGE_BYTES:
            raise RequestInvalidError(
                f"data: the message has {size} bytes of JSON; expected at most {MESSAGE_BYTES}"
            )

    @property
    def has_receiver(self) -> bool:
        return self.receiver is not UNSET or self.multiple_receivers is not UNSET


class TrackedMessage(MessageBody):
    """A message that may have an id of the caller's (`muid`) and quote another one."""

    quoted_message_id: Text | UnsetType = UNSET
    """The id of the message that this one quotes."""
    muid: Text | UnsetType = UNSET
    """An id that the caller chooses and the message keeps; `find_sent` finds it by this id."""

    @classmethod
    def text(
        cls,
        receiver: str,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[MessageOptions],
    ) -> Self:
        """Return a text message; `RequestInvalidError` if `text` is empty or another argument is wrong."""
        return cls(receiver=receiver, type="text", data=_text_data(text, metadata), **_not_none(**options))

    @classmethod
    def media(
        cls,
        receiver: str,
        type: MediaType,
        attachments: Sequence[NewAttachment],
        *,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[MessageOptions],
    ) -> Self:
        """Return a message with files, which the service finds at their addresses; `text` is the caption."""
        data = {"attachments": [*attachments]} | _not_none(text=text, metadata=metadata)
        return cls(receiver=receiver, category="message", type=type, data=data, **_not_none(**options))

    @classmethod
    def custom(
        cls,
        receiver: str,
        type: str,
        custom_data: Mapping[str, Any],
        *,
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[MessageOptions],
    ) -> Self:
        """Return a message of any type with content that the app defines."""
        data = {"customData": custom_data} | _not_none(metadata=metadata)
        return cls(receiver=receiver, category="custom", type=type, data=data, **_not_none(**options))


class NewMessage(TrackedMessage):
    """A message to send: the body of POST /messages. `text`, `media` and `custom` make the usual ones."""

    category: SentCategory | UnsetType = UNSET
    """By default message."""


class NewBotMessage(TrackedMessage):
    """A message of a bot, also an interactive one, which quotes no other: POST /bots/{uid}/messages."""

    category: Literal["message", "interactive", "custom"] | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.category != "interactive":
            return
        if self.quoted_message_id is not UNSET:
            raise RequestInvalidError(
                f"quoted_message_id = {repr_of(self.quoted_message_id)}: expected none in the "
                "category 'interactive'",
                name="quoted_message_id",
            )
        goal = self.data.get("interactionGoal")
        kind = getattr(goal, "type", None) or (goal.get("type") if isinstance(goal, Mapping) else None)
        goals = [value for value in get_args(Goal) if value != _REFUSED_GOALS.get(self.type)]
        if kind is not None and kind not in goals:
            raise RequestInvalidError(
                f"interaction_goal = {repr_of(kind)}: expected {words_of(goals)} for the type {self.type!r}"
            )

    @classmethod
    def interactive(
        cls,
        receiver: str,
        type: Literal["card", "form", "customInteractive", "scheduler"],
        interactive_data: Mapping[str, Any],
        *,
        goal: InteractionGoal | None = None,
        allow_sender_interaction: bool | None = None,
        **options: Unpack[MessageOptions],
    ) -> Self:
        """Return an interactive message; the shape of `interactive_data` depends on the type."""
        given = _not_none(interactionGoal=goal, allowSenderInteraction=allow_sender_interaction)
        data = {"interactiveData": interactive_data} | given
        return cls(receiver=receiver, category="interactive", type=type, data=data, **_not_none(**options))


class NewThreadMessage(MessageBody):
    """A reply in the thread of a message: the body of POST /messages/{id}/thread.

    Without a receiver it goes to the conversation of the thread, for one request more. The operation declares
    no `muid`, and quotes nothing.
    """

    is_reply: ClassVar[bool] = True

    category: SentCategory | UnsetType = UNSET

    @classmethod
    def text(
        cls,
        text: str,
        *,
        receiver: str | UnsetType = UNSET,
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[ThreadOptions],
    ) -> Self:
        """Return a text reply; `RequestInvalidError` if `text` is empty or another argument is wrong."""
        return cls(receiver=receiver, type="text", data=_text_data(text, metadata), **_not_none(**options))


def _text_data(text: str, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    if not (text and isinstance(text, str)):
        raise RequestInvalidError(f"text = {repr_of(text)}: expected a non-empty text", name="text")
    return {"text": text} | _not_none(metadata=metadata)


def _not_none(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


# ── filters and changes ──


class MessageQuery(Filter):
    """The filter of message lists: the 27 query parameters of GET /users/{uid}/messages, then further ones.

    `limit` and `per_page` are page sizes (`walk.limit(n)` limits the number of messages): `limit` is for
    calls with an acting user, `per_page` for calls without one; by default a walk requests the largest page.
    A service may ignore a parameter that its list does not declare. Raises `RequestInvalidError` for a wrong
    value, or if a window ends before it begins.
    """

    windows: ClassVar[tuple[tuple[str, str], ...]] = (
        ("from_timestamp", "to_timestamp"),
        ("sent_at_from", "sent_at_to"),
        ("updated_at_from", "updated_at_to"),
        ("edited_at_from", "edited_at_to"),
    )

    search_key: Text | None = None
    """Only messages with these words."""
    has_attachments: Bool | None = None
    """Only messages with attachments."""
    attachment_types: Attachments | None = None
    """Only messages with attachments of these types."""
    has_mentions: Bool | None = None
    """Only messages with mentions."""
    has_links: Bool | None = None
    """Only messages with links."""
    mentioned_uids: Uids | None = None
    """Only messages that mention these users."""
    unread: Bool | None = None
    """Only messages that the acting user has not read."""
    undelivered: Bool | None = None
    """Only messages that are not delivered to the acting user."""
    count: Bool | None = None
    """Count instead of listing; `messages.counts` reads the counts of messages."""
    hide_replies: Bool | None = None
    """Leave out replies inside threads."""
    affix: Direction | None = None
    """Append: oldest first, those after `id`; prepend: newest first, those before it."""
    id: Uid | None = None
    """The message after or before which the list continues, see `affix`."""
    category: Text | None = None
    """Only this category: message, custom, action, call or interactive."""
    categories: Texts | None = None
    """Only these categories: message, custom, action, call, interactive."""
    type: Text | None = None
    """Only this type, such as text or image."""
    types: Texts | None = None
    """Only these types, such as text and image."""
    my_mentions_only: Bool | None = None
    """Only messages that mention the acting user."""
    has_reactions: Bool | None = None
    """Only messages of `sender` that have reactions."""
    sender: Uid | None = None
    """Only messages of this user."""
    mentions_with_blocked_info: Bool | None = None
    """Show of mentioned users who blocks whom."""
    mentions_with_tag_info: Bool | None = None
    """Show the tags of mentioned users."""
    per_page: PageSize | None = None
    """Records of a page; without an acting user."""
    limit: PageSize | None = None
    """Records of a page; with an acting user."""
    from_timestamp: Stamp | None = None
    """Sent at this time or later: "7d", "yesterday", a date, a datetime, a timedelta, a timestamp."""
    to_timestamp: Stamp | None = None
    """Sent at this time or earlier; a date is its whole day."""
    with_tags: Bool | None = None
    tags: Texts | None = None
    """Only those with these tags."""

    hide_messages_from_blocked_users: Bool | None = None
    """Leave out messages of users whom the acting user blocks."""
    receiver_type: ReceiverType | None = None
    hide_deleted: Bool | None = None
    """Leave out deleted messages."""
    only_deleted: Bool | None = None
    """Only deleted messages."""
    sent_at: Stamp | None = None
    """The time from which the list continues, see `affix`."""
    sent_at_from: Stamp | None = field(default=None, name="sentAt[from]")
    """Sent at this time or later, as `from_timestamp`, which all services know."""
    sent_at_to: Stamp | None = field(default=None, name="sentAt[to]")
    """Sent at this time or earlier, as `to_timestamp`, which all services know."""
    updated_at_from: Stamp | None = field(default=None, name="updatedAt[from]")
    updated_at_to: Stamp | None = field(default=None, name="updatedAt[to]")
    edited_at_from: Stamp | None = field(default=None, name="editedAt[from]")
    """Edited at this time or later."""
    edited_at_to: Stamp | None = field(default=None, name="editedAt[to]")
    """Edited at this time or earlier."""
    senders: Uids | None = None
    """Only messages of these users."""
    conversation_id: Text | None = None
    """Only messages of this conversation."""
    hide_quoted_messages: Bool | None = None
    """Leave out the quoted message inside a message."""
    saved: Switch | None = None
    """Only messages that the acting user saved."""
    pinned: Switch | None = None
    """Only pinned messages."""
    page: Ordinal | None = None


class ThreadQuery(Filter):
    """The filter of thread lists."""

    limit: PageSize | None = None
    affix: Direction | None = None
    updated_at: Stamp | None = None
    """The time of change from which the list continues, see `affix`."""
    participated_by_me: Bool | None = None
    """Only threads in which the acting user wrote."""
    with_unread_reply_count: Bool | None = None
    """Count the unread replies of the acting user."""
    with_mention_count: Bool | None = None
    """Count the mentions of the acting user."""


class MessageChanges(Body):
    """Changes of a message; what is not given stays.

    `data` is its new content: a `text`, `metadata` or both. Empty `tags` remove those that it has. Raises
    `RequestInvalidError` if nothing is changed: the service would mark the message as edited.
    """

    data: Json | UnsetType = UNSET
    """The content: `{"text": …}` of a text, else attachments, customData, metadata."""
    tags: Tags | UnsetType = UNSET
    """All tags from now on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data is UNSET and self.tags is UNSET:
            raise RequestInvalidError("expected at least one change, in data or tags")

    @classmethod
    def text(cls, text: str, *, metadata: Mapping[str, Any] | None = None) -> Self:
        """Return the change of a message's text; `RequestInvalidError` if it is empty."""
        return cls(data=_text_data(text, metadata))


Interactions: Final = struct_type("Interactions", Body, interactions=Texts)
