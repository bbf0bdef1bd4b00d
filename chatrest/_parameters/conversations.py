"""The filters of lists of conversations and of calls, and the bodies that change conversations."""

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import force_setattr

from ..errors import RequestInvalidError
from .checked import Body, Bool, PageQuery, Stamp, Text, Texts, Uid, struct_type
from .fields import ListOf, MessageNumber, Natural, ReceiverType, Switch, Tags

APP_PINS: Final = 5
"""Conversations that an app may pin."""


class ConversationQuery(PageQuery):
    """The filter of GET /conversations; a walk starts at `page`."""

    search_key: Text | None = None
    """Words to look for."""
    conversation_type: ReceiverType | None = None
    with_tags: Bool | None = None
    tags: Texts | None = None
    """Only those with these tags."""
    with_user_and_group_tags: Bool | None = None
    """Show the tags of users and groups."""
    user_tags: Texts | None = None
    """Only conversations with users who have these tags."""
    group_tags: Texts | None = None
    """Only conversations with groups that have these tags."""
    unread: Bool | None = None
    """Only what the acting user has not read."""
    include_blocked_users: Bool | None = None
    """Include conversations with users whom the acting user blocks."""
    with_blocked_info: Bool | None = None
    """Show who blocks whom."""
    hide_agentic: Bool | None = None
    """Leave out conversations with AI agents."""
    only_agentic: Bool | None = None
    """Only conversations with AI agents."""
    use_cursored_index: Switch | None = None
    """Continue by positions, not by page numbers."""
    unique: Switch | None = None
    """Every user once; not for calls with an acting user."""
    pinned_by: Annotated[ListOf[Literal["me", "system"]], Meta(min_length=1)] | None = None
    """Only conversations pinned by the acting user (me), by the app (system), or by both."""


class ConversationPin(Body):
    """The user (`uid`) or the group (`guid`) whose conversation is pinned; one of the two."""

    uid: Uid | UnsetType = UNSET
    guid: Uid | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.uid is UNSET and self.guid is UNSET:
            raise RequestInvalidError("expected a uid or a guid")


Pins: TypeAlias = Annotated[
    ListOf[ConversationPin],
    Meta(max_length=APP_PINS, description=f"a list of at most {APP_PINS} uids or guids (ConversationPin)"),
]


PinnedConversations: Final = struct_type("PinnedConversations", Body, pinned_conversations=Pins)
ConversationChanges: Final = struct_type("ConversationChanges", Body, tags=Tags)
GroupReset: Final = struct_type("GroupReset", Body, preserve_order=Bool | UnsetType)
UserReset: Final = struct_type(
    "UserReset",
    Body,
    preserve_order=Bool | UnsetType,
    conversation_with=Uid | UnsetType,
    delete_messages_permanently=Bool | UnsetType,
)


class ReceiptMark(Body):
    """The message up to which a conversation is delivered or read; its id is sent as a number."""

    message_id: MessageNumber | UnsetType = UNSET
    """The last message that it is about."""

    def __post_init__(self) -> None:
        value = self.message_id
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
            force_setattr(self, "message_id", int(value))
        super().__post_init__()


class CallQuery(PageQuery):
    """The filter of GET /calls; a walk starts at `page`."""

    type: Literal["audio", "video"] | None = None
    mode: Literal["call", "meet", "presenter"] | None = None
    status: Literal["initiated", "ongoing", "ended", "unanswered", "rejected", "canceled"] | None = None
    participants_count: Natural | None = None
    """Only calls with exactly so many participants."""
    started_at: Stamp | None = None
    """Only calls that started at this time."""
    ended_at: Stamp | None = None
    """Only calls that ended at this time."""
    receiver_type: ReceiverType | None = None
    has_recording: Bool | None = None
    has_transcription: Bool | None = None
    uid: Uid | None = None
    """Only calls in which this user takes part."""


class TranscriptionQuery(PageQuery):
    """The filter of GET /calls/{sessionId}/transcriptions; a walk starts at `page`."""
