"""Conversations: the list of a user's chats, their read state, and pins."""

import builtins
from collections.abc import Awaitable
from typing import Final, TypeVar, final

from msgspec import UNSET, UnsetType, structs

from ..core.paging.paging import BY_PAGE, Paging
from ..core.replies.decode import ACK, Ack, many, one
from ..core.requests.endpoint import Endpoint
from ..models.conversations import Conversation
from ..parameters.conversations import (
    ConversationChanges,
    ConversationQuery,
    GroupReset,
    PinnedConversations,
    Pins,
    ReceiptMark,
    UserReset,
)
from ..parameters.fields import MessageNumber, Tags
from ..walk.walk import Walk
from .collection import Collection, Start

T = TypeVar("T")

CURSORED: Final = Paging(numbered=True)
"""The list under `use_cursored_index`: by positions where the reply has them, else by page numbers."""

LIST: Final = Endpoint(
    "conversations.list", "GET", "/conversations", many(Conversation),
    query=ConversationQuery, paging=BY_PAGE, acting="optional",
)  # fmt: skip
GET: Final = Endpoint(
    "conversations.get", "GET", "/conversations/{conversationId}", one(Conversation),
    acting="required", deprecated="conversations.get_user or conversations.get_group",
)  # fmt: skip
DELETE: Final = Endpoint(
    "conversations.delete", "DELETE", "/conversations/{conversationId}", ACK, "idempotent",
    acting="required", deprecated="conversations.reset_user or conversations.reset_group",
)  # fmt: skip
LIST_PINNED: Final = Endpoint("conversations.list_pinned", "GET", "/conversations/pinned", many(Conversation))
REPLACE_PINNED: Final = Endpoint(
    "conversations.replace_pinned", "PUT", "/conversations/pinned", many(Conversation), "idempotent",
    body=PinnedConversations,
)  # fmt: skip
GET_USER: Final = Endpoint(
    "conversations.get_user", "GET", "/users/{uid}/conversation", one(Conversation),
    acting="required",
)  # fmt: skip
UPDATE_USER: Final = Endpoint(
    "conversations.update_user", "PUT", "/users/{uid}/conversation", one(Conversation), "idempotent",
    body=ConversationChanges, acting="required",
)  # fmt: skip
RESET_USER: Final = Endpoint(
    "conversations.reset_user", "DELETE", "/users/{uid}/conversation", ACK, "idempotent",
    body=UserReset, acting="required",
)  # fmt: skip
MARK_DELIVERED_USER: Final = Endpoint(
    "conversations.mark_delivered_user", "POST", "/users/{uid}/conversation/delivered", ACK, "idempotent",
    body=ReceiptMark, acting="required",
)  # fmt: skip
MARK_READ_USER: Final = Endpoint(
    "conversations.mark_read_user", "POST", "/users/{uid}/conversation/read", ACK, "idempotent",
    body=ReceiptMark, acting="required",
)  # fmt: skip
MARK_UNREAD_USER: Final = Endpoint(
    "conversations.mark_unread_user", "DELETE", "/users/{uid}/conversation/read", ACK, "idempotent",
    body=ReceiptMark, acting="required", user_limit=5,
)  # fmt: skip
PIN_USER: Final = Endpoint(
    "conversations.pin_user", "POST", "/users/{uid}/conversation/pin", one(Conversation), "idempotent",
    acting="required",
)  # fmt: skip
UNPIN_USER: Final = Endpoint(
    "conversations.unpin_user", "DELETE", "/users/{uid}/conversation/pin", one(Conversation), "idempotent",
    acting="required",
)  # fmt: skip
GET_GROUP: Final = Endpoint(
    "conversations.get_group", "GET", "/groups/{guid}/conversation", one(Conversation),
    acting="required",
)  # fmt: skip
UPDATE_GROUP: Final = Endpoint(
    "conversations.update_group", "PUT", "/groups/{guid}/conversation", one(Conversation), "idempotent",
    body=ConversationChanges, acting="required",
)  # fmt: skip
RESET_GROUP: Final = Endpoint(
    "conversations.reset_group", "DELETE", "/groups/{guid}/conversation", ACK, "idempotent",
    body=GroupReset, acting="required",
)  # fmt: skip
MARK_DELIVERED_GROUP: Final = Endpoint(
    "conversations.mark_delivered_group", "POST", "/groups/{guid}/conversation/delivered", ACK, "idempotent",
    body=ReceiptMark, acting="required",
)  # fmt: skip
MARK_READ_GROUP: Final = Endpoint(
    "conversations.mark_read_group", "POST", "/groups/{guid}/conversation/read", ACK, "idempotent",
    body=ReceiptMark, acting="required",
)  # fmt: skip
MARK_UNREAD_GROUP: Final = Endpoint(
    "conversations.mark_unread_group", "DELETE", "/groups/{guid}/conversation/read", ACK, "idempotent",
    body=ReceiptMark, acting="required", user_limit=5,
)  # fmt: skip
PIN_GROUP: Final = Endpoint(
    "conversations.pin_group", "POST", "/groups/{guid}/conversation/pin", one(Conversation), "idempotent",
    acting="required",
)  # fmt: skip
UNPIN_GROUP: Final = Endpoint(
    "conversations.unpin_group", "DELETE", "/groups/{guid}/conversation/pin", one(Conversation), "idempotent",
    acting="required",
)  # fmt: skip


@final
class Conversations(Collection):
    """The conversations of users: `session.conversations`.

    All but the lists of pins are about one user's view of a conversation: that of the acting user.
    """

    def list(
        self, query: ConversationQuery | None = None, *, on_behalf_of: str | None = None, cursor: Start = None
    ) -> Walk[Conversation]:
        """GET /conversations: the conversations of the acting user, in the service's order.

        Without an acting user those of all users. One request a page; a conversation that moves meanwhile may
        come twice or not at all, as the list goes by page numbers.
        """
        is_cursored = query is not None and getattr(query, "use_cursored_index", None) == 1
        endpoint = structs.replace(LIST, paging=CURSORED) if is_cursored else LIST
        return self._walk(endpoint, query, cursor, on_behalf_of=on_behalf_of)

    def get(self, conversation_id: str, *, on_behalf_of: str | None = None) -> Awaitable[Conversation]:
        """GET /conversations/{conversationId}: one conversation. Deprecated: `get_user`, `get_group`."""
        return self._call(GET, on_behalf_of=on_behalf_of, conversationId=conversation_id)

    def delete(self, conversation_id: str, *, on_behalf_of: str | None = None) -> Awaitable[Ack]:
        """DELETE /conversations/{conversationId}: remove a conversation from the acting user's view.

        Deprecated: use `reset_user` or `reset_group`.
        """
        return self._call(DELETE, on_behalf_of=on_behalf_of, conversationId=conversation_id)

    def list_pinned(self) -> Walk[Conversation]:
        """GET /conversations/pinned: the conversations that the app has pinned for everybody, in their order.

        One request.
        """
        return self._walk(LIST_PINNED)

    async def replace_pinned(self, pinned_conversations: Pins) -> "builtins.list[Conversation]":
        """PUT /conversations/pinned: pin these conversations for everybody, and no others; return the pins.

        Repeats count once; an empty list pins none. `BadRequestError` over the limit of pins.
        """
        body = PinnedConversations(pinned_conversations=pinned_conversations)
        return (await self._call(REPLACE_PINNED, body)).items

    async def get_user(self, uid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """GET /users/{uid}/conversation: the acting user's conversation with a user.

        `PermissionDeniedError` where it is still empty.
        """
        return await self._call(GET_USER, on_behalf_of=on_behalf_of, uid=uid)

    async def update_user(self, uid: str, tags: Tags, *, on_behalf_of: str | None = None) -> Conversation:
        """PUT /users/{uid}/conversation: give a conversation other tags, and return it; an empty list removes
        them.
        """
        return await self._call(
            UPDATE_USER, ConversationChanges(tags=tags), on_behalf_of=on_behalf_of, uid=uid
        )

    async def reset_user(
        self,
        uid: str,
        *,
        conversation_with: str | None = None,
        delete_messages_permanently: bool | None = None,
        preserve_order: bool | None = None,
        on_behalf_of: str | None = None,
    ) -> Ack:
        """DELETE /users/{uid}/conversation: empty the acting user's view of the conversation with a user.

        `delete_messages_permanently` removes the messages for both; `preserve_order` keeps the place in the
        list.
        """
        body = UserReset(
            conversation_with=_given(conversation_with),
            delete_messages_permanently=_given(delete_messages_permanently),
            preserve_order=_given(preserve_order),
        )
        return await self._call(RESET_USER, body, on_behalf_of=on_behalf_of, uid=uid)

    async def mark_delivered_user(
        self, uid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """POST /users/{uid}/conversation/delivered: mark messages as delivered, `message_id` the last."""
        return await self._call(
            MARK_DELIVERED_USER,
            _mark(message_id),
            on_behalf_of=on_behalf_of,
            uid=uid,
        )

    async def mark_read_user(
        self, uid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """POST /users/{uid}/conversation/read: mark messages as read, `message_id` the last."""
        return await self._call(MARK_READ_USER, _mark(message_id), on_behalf_of=on_behalf_of, uid=uid)

    async def mark_unread_user(
        self, uid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """DELETE /users/{uid}/conversation/read: mark messages as unread, `message_id` the first."""
        return await self._call(MARK_UNREAD_USER, _mark(message_id), on_behalf_of=on_behalf_of, uid=uid)

    async def pin_user(self, uid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """POST /users/{uid}/conversation/pin: pin a conversation for the acting user alone; the first
        `pinned_at` stays.

        `BadRequestError` at the limit of pins, `PermissionDeniedError` for one that the app has pinned.
        """
        return await self._call(PIN_USER, on_behalf_of=on_behalf_of, uid=uid)

    async def unpin_user(self, uid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """DELETE /users/{uid}/conversation/pin: unpin a conversation of the acting user.

        `PermissionDeniedError` for one that the app has pinned.
        """
        return await self._call(UNPIN_USER, on_behalf_of=on_behalf_of, uid=uid)

    async def get_group(self, guid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """GET /groups/{guid}/conversation: the acting user's conversation with a group.

        `PermissionDeniedError` where it is still empty.
        """
        return await self._call(GET_GROUP, on_behalf_of=on_behalf_of, guid=guid)

    async def update_group(self, guid: str, tags: Tags, *, on_behalf_of: str | None = None) -> Conversation:
        """PUT /groups/{guid}/conversation: give a conversation other tags, and return it; an empty list
        removes them.
        """
        return await self._call(
            UPDATE_GROUP, ConversationChanges(tags=tags), on_behalf_of=on_behalf_of, guid=guid
        )

    async def reset_group(
        self, guid: str, *, preserve_order: bool | None = None, on_behalf_of: str | None = None
    ) -> Ack:
        """DELETE /groups/{guid}/conversation: empty the acting user's view of the conversation with a group.

        `preserve_order` keeps the place in the list.
        """
        body = None if preserve_order is None else GroupReset(preserve_order=preserve_order)
        return await self._call(RESET_GROUP, body, on_behalf_of=on_behalf_of, guid=guid)

    async def mark_delivered_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """POST /groups/{guid}/conversation/delivered: mark messages as delivered, up to and with
        `message_id`.
        """
        return await self._call(
            MARK_DELIVERED_GROUP,
            _mark(message_id),
            on_behalf_of=on_behalf_of,
            guid=guid,
        )

    async def mark_read_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """POST /groups/{guid}/conversation/read: mark messages as read, `message_id` the last."""
        return await self._call(MARK_READ_GROUP, _mark(message_id), on_behalf_of=on_behalf_of, guid=guid)

    async def mark_unread_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """DELETE /groups/{guid}/conversation/read: mark messages as unread, `message_id` the first."""
        return await self._call(
            MARK_UNREAD_GROUP,
            _mark(message_id),
            on_behalf_of=on_behalf_of,
            guid=guid,
        )

    async def pin_group(self, guid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """POST /groups/{guid}/conversation/pin: pin a conversation for the acting user alone; the first
        `pinned_at` stays.

        `BadRequestError` at the limit of pins, `PermissionDeniedError` for one that the app has pinned.
        """
        return await self._call(PIN_GROUP, on_behalf_of=on_behalf_of, guid=guid)

    async def unpin_group(self, guid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """DELETE /groups/{guid}/conversation/pin: unpin a conversation of the acting user.

        `PermissionDeniedError` for one that the app has pinned.
        """
        return await self._call(UNPIN_GROUP, on_behalf_of=on_behalf_of, guid=guid)


def _mark(message_id: MessageNumber | None) -> ReceiptMark | None:
    """Return the body of a receipt; None, and so no body, where it is about all messages."""
    return None if message_id is None else ReceiptMark(message_id=message_id)


def _given(value: T | None) -> T | UnsetType:
    """Return what an argument stands for in a body: None is not sent."""
    return UNSET if value is None else value
