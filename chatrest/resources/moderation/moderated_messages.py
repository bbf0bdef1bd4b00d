"""Moderation: messages that users flagged or rules blocked, and messages handed in for moderation."""

from typing import Any, Final

from msgspec import structs

from ...core.paging.paging import BY_NEXT
from ...core.replies.decode import ACK, Ack, many, one
from ...core.requests.endpoint import Endpoint
from ...models.message import Message
from ...models.moderation import BlockedMessage, ReviewedMessage
from ...queries.moderation import (
    BlockReview,
    BlockStatus,
    FlagReview,
    FlagStatus,
    LimitQuery,
    MessageContent,
    ModerationQuery,
    NewFlag,
    NewModeratedMessage,
)
from ...walk.walk import Walk
from ..collection import Collection, Start

FLAG_MESSAGE: Final = Endpoint(
    "moderation.flag_message", "POST", "/messages/{id}/flagged", ACK, "never", body=NewFlag, acting="required"
)
LIST_FLAGGED_MESSAGES: Final = Endpoint(
    "moderation.list_flagged_messages", "GET", "/moderation/flagged-messages", many(Message), query=LimitQuery
)
REVIEW_FLAGGED_MESSAGE: Final = Endpoint(
    "moderation.review_flagged_message", "PATCH", "/moderation/flagged-messages/{id}", ACK, "idempotent",
    body=FlagReview,
)  # fmt: skip
LIST_REVIEWED_MESSAGES: Final = Endpoint(
    "moderation.list_reviewed_messages", "GET", "/moderation/reviewed-messages", many(ReviewedMessage),
    query=LimitQuery,
)  # fmt: skip
LIST_BLOCKED_MESSAGES: Final = Endpoint(
    "moderation.list_blocked_messages", "GET", "/moderation/blocked-messages", many(BlockedMessage)
)
REVIEW_BLOCKED_MESSAGE: Final = Endpoint(
    "moderation.review_blocked_message", "PATCH", "/moderation/blocked-messages/{id}", ACK, "idempotent",
    body=BlockReview,
)  # fmt: skip
LIST_MESSAGES: Final = Endpoint(
    "moderation.list_messages", "GET", "/moderation/messages", many(Message),
    query=ModerationQuery, paging=structs.replace(BY_NEXT, size=""),
)  # fmt: skip
GET_MESSAGE: Final = Endpoint("moderation.get_message", "GET", "/moderation/messages/{id}", one(Message))
CREATE_MESSAGE: Final = Endpoint(
    "moderation.create_message", "POST", "/moderation/messages", one(Message), "never",
    body=NewModeratedMessage,
)  # fmt: skip
UPDATE_MESSAGE: Final = Endpoint(
    "moderation.update_message", "PUT", "/moderation/messages/{id}", one(Message), "idempotent",
    body=MessageContent,
)  # fmt: skip
DELETE_MESSAGE: Final = Endpoint(
    "moderation.delete_message", "DELETE", "/moderation/messages/{id}", ACK, "idempotent"
)


class ModeratedMessages(Collection):
    """The operations of messages under moderation."""

    async def flag_message(self, message_id: str, flag: NewFlag, *, on_behalf_of: str | None = None) -> Ack:
        """Flag a message for a reason (`flag.id`) as a user. Sent once."""
        return await self._call(FLAG_MESSAGE, flag, on_behalf_of=on_behalf_of, id=message_id)

    def list_flagged_messages(self, *, limit: int | None = None) -> Walk[Message]:
        """The flagged messages, each with `flagged_by`, in one reply of `limit` at most (1 to 1000).

        Without a limit, 1000 are asked for. A reply that is full ends in a `CursorError`: there may be more,
        unless it has as many as the caller asked for.
        """
        return self._walk(LIST_FLAGGED_MESSAGES, LimitQuery(limit=limit))

    async def review_flagged_message(self, message_id: str, status: FlagStatus) -> Ack:
        """Approve or disapprove a flagged message."""
        return await self._call(REVIEW_FLAGGED_MESSAGE, FlagReview(status=status), id=message_id)

    def list_reviewed_messages(self, *, limit: int | None = None) -> Walk[ReviewedMessage]:
        """The blocked messages that were reviewed, in one reply of `limit` at most (1 to 1000).

        Without a limit, 1000 are asked for. A reply that is full ends in a `CursorError`: there may be more,
        unless it has as many as the caller asked for.
        """
        return self._walk(LIST_REVIEWED_MESSAGES, LimitQuery(limit=limit))

    def list_blocked_messages(self) -> Walk[BlockedMessage]:
        """The messages that rules blocked, in one reply."""
        return self._walk(LIST_BLOCKED_MESSAGES)

    async def review_blocked_message(
        self, message_id: str, status: BlockStatus, *, reviewed: bool = True
    ) -> Ack:
        """Approve or reject a blocked message."""
        return await self._call(
            REVIEW_BLOCKED_MESSAGE, BlockReview(status=status, reviewed=reviewed), id=message_id
        )

    def list_messages(self, query: ModerationQuery | None = None, *, cursor: Start = None) -> Walk[Message]:
        """The messages that were handed in for moderation. One request a page."""
        return self._walk(LIST_MESSAGES, query, cursor)

    async def get_message(self, message_id: str) -> Message:
        """A message that was handed in, with its status in `data.moderation`."""
        return await self._call(GET_MESSAGE, id=message_id)

    async def create_message(self, message: NewModeratedMessage) -> Message:
        """Hand a message in for moderation: its status is pending. Sent once."""
        return await self._call(CREATE_MESSAGE, message)

    async def update_message(self, message_id: str, data: dict[str, Any]) -> Message:
        """Replace the content of a message that was handed in; its status is worked out anew."""
        return await self._call(UPDATE_MESSAGE, MessageContent(data=data), id=message_id)

    async def delete_message(self, message_id: str) -> Ack:
        """Remove a message that was handed in."""
        return await self._call(DELETE_MESSAGE, id=message_id)
