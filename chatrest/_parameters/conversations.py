"""The filter of conversation lists, and the bodies that change conversations."""

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import force_setattr

from ..errors import RequestInvalidError
from .checked import Body, Filter, Flag, Ordinal, Size, Text, Texts, Uid
from .fields import Listed, MessageNumber, ReceiverType, Switch, Tags

APP_PINS: Final = 5
"""Conversations that an app may pin."""

PinnedBy: TypeAlias = Annotated[Listed[Literal["me", "system"]], Meta(min_length=1)]


class ConversationQuery(Filter):
    """The filter of GET /conversations; a walk starts at `page`.

    `use_cursored_index` and `unique` are sent as 0 or 1; `unique` is not for calls with an acting user.
    """

    search_key: Text | None = None
    conversation_type: ReceiverType | None = None
    with_tags: Flag | None = None
    tags: Texts | None = None
    with_user_and_group_tags: Flag | None = None
    user_tags: Texts | None = None
    group_tags: Texts | None = None
    unread: Flag | None = None
    per_page: Size | None = None
    page: Ordinal | None = None
    include_blocked_users: Flag | None = None
    with_blocked_info: Flag | None = None
    hide_agentic: Flag | None = None
    only_agentic: Flag | None = None
    use_cursored_index: Switch | None = None
    unique: Switch | None = None
    pinned_by: PinnedBy | None = None


class ConversationPin(Body):
    """The user (`uid`) or the group (`guid`) whose conversation is pinned; one of the two."""

    uid: Uid | UnsetType = UNSET
    guid: Uid | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.uid is UNSET and self.guid is UNSET:
            raise RequestInvalidError("pinned_conversations: each needs a uid or a guid")


Pins: TypeAlias = Annotated[
    Listed[ConversationPin],
    Meta(max_length=APP_PINS, description=f"a list of at most {APP_PINS} uids or guids (ConversationPin)"),
]


class PinnedConversations(Body):
    """The conversations that the app pins, in the order in which they are shown; an empty list pins none."""

    pinned_conversations: Pins


class ConversationChanges(Body):
    """The new tags of a conversation; an empty list removes those that it has."""

    tags: Tags


class UserReset(Body):
    """The reset of a conversation with a user: `preserve_order` keeps its place in the list.

    `conversation_with` is the uid of the path.
    """

    conversation_with: Uid | UnsetType = UNSET
    delete_messages_permanently: Flag | UnsetType = UNSET
    preserve_order: Flag | UnsetType = UNSET


class GroupReset(Body):
    """The reset of a conversation with a group: `preserve_order` keeps its place in the list."""

    preserve_order: Flag | UnsetType = UNSET


class ReceiptMark(Body):
    """The message up to which a conversation is delivered or read, or from which it is unread.

    An id as records have it, or its number: it is sent as a number.
    """

    message_id: MessageNumber | UnsetType = UNSET

    def __post_init__(self) -> None:
        value = self.message_id
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
            force_setattr(self, "message_id", int(value))
        super().__post_init__()
