"""Conversations, as one of their users sees them."""

from typing import TYPE_CHECKING, TypeAlias

from msgspec import UNSET

from .messages import NestedMessage, message_of
from .record import Maybe, Record, text_id, views, whole_count
from .users import Entity


class ConversationParty(Entity):
    """The other side of a conversation: a user has `uid`, a group has `guid`."""

    online_members_count: Maybe[int] = UNSET
    joined_at: Maybe[int] = UNSET
    deactivated_at: Maybe[int] = UNSET
    blocked_by_me: Maybe[bool] = UNSET
    blocked_by_me_at: Maybe[int] = UNSET
    blocked_at: Maybe[int] = UNSET
    has_blocked_me: Maybe[bool] = UNSET
    auth_token: Maybe[str] = UNSET


# Counts and ids are stored as served: some services send digits, others numbers.
if TYPE_CHECKING:
    _Count: TypeAlias = int
    _Id: TypeAlias = str
else:
    _Count = _Id = int | str


@views(message_of, "last_message")
@views(whole_count, "unread_message_count", "unread_mentions_count")
@views(text_id, "latest_message_id", "last_read_message_id", "last_delivered_message_id")
class Conversation(Record):
    """A conversation of a user: with another user or with a group.

    `last_message` is typed like the messages of a list. A pinned conversation has `pinned_at` and `pinned_by`
    (a uid, or app_system); lists of pins and the replies of pinning have little else.
    """

    conversation_id: str
    conversation_type: Maybe[str] = UNSET
    unread_message_count: Maybe[_Count] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET
    last_message: Maybe[NestedMessage] = UNSET
    conversation_with: Maybe[ConversationParty] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
    pinned_at: Maybe[int] = UNSET
    pinned_by: Maybe[str] = UNSET
    unread_mentions_count: Maybe[_Count] = UNSET
    latest_message_id: Maybe[_Id] = UNSET
    last_read_message_id: Maybe[_Id] = UNSET
    last_delivered_message_id: Maybe[_Id] = UNSET
    delivered_at: Maybe[int] = UNSET
    read_at: Maybe[int] = UNSET

    @property
    def identity(self) -> str:
        """The id, the other side and the state: without an acting user, a list has the views of all users."""
        party = self.conversation_with
        other = (party.uid or party.guid) if isinstance(party, ConversationParty) else UNSET
        parts = (self.conversation_id, other, self.updated_at, self.unread_message_count)
        return "/".join("" if part is UNSET or part is None else str(part) for part in parts)
