"""Conversations: the list of a user's chats, their read state, and pins."""

import builtins
from collections.abc import Awaitable
from typing import Final, TypeVar, final

from msgspec import structs

from .._core.replies.decode import ACK, Ack, many, one
from .._core.requests.dialects import BY_PAGE, Paging
from .._core.requests.endpoint import Endpoint, Method, Reader
from .._models.conversations import Conversation
from .._parameters.checked import Body
from .._parameters.conversations import (
    ConversationChanges,
    ConversationQuery,
    GroupReset,
    PinnedConversations,
    Pins,
    ReceiptMark,
    UserReset,
)
from .._parameters.fields import MessageNumber, Tags
from .._walk.walk import Walk
from .collection import Collection, WalkStart

R = TypeVar("R")

LIST: Final = Endpoint(
    "conversations.list", "GET", "/conversations", many(Conversation),
    query=ConversationQuery, paging=BY_PAGE, acting="optional", comparison="conversations",
)  # fmt: skip
_LIST_CURSORED: Final = structs.replace(LIST, paging=Paging(numbered=True))
"""The list under `use_cursored_index`: by positions where the reply has them, else by page numbers."""
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


def _endpoint_pair(
    name: str, method: Method, end: str, reply: Reader[R], *bodies: type[Body]
) -> tuple[Endpoint[R], Endpoint[R]]:
    """Return an operation on the acting user's conversation with a user, and the one with a group."""

    def endpoint(party: str, path: str, body: type[Body] | None) -> Endpoint[R]:
        return Endpoint(
            f"conversations.{name}_{party}", method, f"{path}/conversation{end}", reply,
            "safe" if method == "GET" else "idempotent", body=body, acting="required",
            user_limit=5 if name == "mark_unread" else None,
        )  # fmt: skip

    of_user, of_group = (bodies[0], bodies[-1]) if bodies else (None, None)
    return endpoint("user", "/users/{uid}", of_user), endpoint("group", "/groups/{guid}", of_group)


GET_USER, GET_GROUP = _endpoint_pair("get", "GET", "", one(Conversation))
UPDATE_USER, UPDATE_GROUP = _endpoint_pair("update", "PUT", "", one(Conversation), ConversationChanges)
RESET_USER, RESET_GROUP = _endpoint_pair("reset", "DELETE", "", ACK, UserReset, GroupReset)
DELIVERED_USER, DELIVERED_GROUP = _endpoint_pair("mark_delivered", "POST", "/delivered", ACK, ReceiptMark)
READ_USER, READ_GROUP = _endpoint_pair("mark_read", "POST", "/read", ACK, ReceiptMark)
UNREAD_USER, UNREAD_GROUP = _endpoint_pair("mark_unread", "DELETE", "/read", ACK, ReceiptMark)
PIN_USER, PIN_GROUP = _endpoint_pair("pin", "POST", "/pin", one(Conversation))
UNPIN_USER, UNPIN_GROUP = _endpoint_pair("unpin", "DELETE", "/pin", one(Conversation))


@final
class Conversations(Collection):
    """The conversations of users: `session.conversations`.

    All but the lists are about the acting user's view of a conversation: `RequestInvalidError` without an
    acting user, `NotFoundError` if there is no such user, group or conversation. To pin, or to unpin, is a
    `BadRequestError` at the limit of pins, and a `PermissionDeniedError` if the app pinned the conversation.
    """

    def list(
        self,
        query: ConversationQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: WalkStart = None,
    ) -> Walk[Conversation]:
        """The conversations of the acting user; without one, those of all users. One request per page.

        The list has page numbers: one that moves meanwhile may be missing or returned twice, except with
        `use_cursored_index=1`, where the service has positions.
        """
        is_cursored = query is not None and getattr(query, "use_cursored_index", None) == 1
        return self._walk(_LIST_CURSORED if is_cursored else LIST, query, cursor, on_behalf_of=on_behalf_of)

    def get(self, conversation_id: str, *, on_behalf_of: str | None = None) -> Awaitable[Conversation]:
        """A conversation by its id, for the acting user. Deprecated: use `get_user`, `get_group`."""
        return self._call(GET, on_behalf_of=on_behalf_of, conversationId=conversation_id)

    def delete(self, conversation_id: str, *, on_behalf_of: str | None = None) -> Awaitable[Ack]:
        """Empty the acting user's view of a conversation. Deprecated: use `reset_user`, `reset_group`."""
        return self._call(DELETE, on_behalf_of=on_behalf_of, conversationId=conversation_id)

    def list_pinned(self) -> Walk[Conversation]:
        """The conversations that the app has pinned for everybody, in the order of pins. One request."""
        return self._walk(LIST_PINNED)

    async def replace_pinned(self, pinned_conversations: Pins) -> "builtins.list[Conversation]":
        """Pin these conversations for everybody, and no others; return the pins.

        Their order is that of the list; repeats count once, and an empty list removes all pins.
        `BadRequestError` over the limit of pins.
        """
        body = PinnedConversations(pinned_conversations=pinned_conversations)
        return (await self._call(REPLACE_PINNED, body)).items

    async def get_user(self, uid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """The acting user's conversation with a user; `PermissionDeniedError` if it is empty."""
        return await self._call(GET_USER, on_behalf_of=on_behalf_of, uid=uid)

    async def update_user(self, uid: str, tags: Tags, *, on_behalf_of: str | None = None) -> Conversation:
        """Replace the acting user's tags of a user's conversation, and return it; `[]` removes all."""
        body = ConversationChanges(tags=tags)
        return await self._call(UPDATE_USER, body, on_behalf_of=on_behalf_of, uid=uid)

    async def reset_user(
        self,
        uid: str,
        *,
        conversation_with: str | None = None,
        delete_messages_permanently: bool | None = None,
        preserve_order: bool | None = None,
        on_behalf_of: str | None = None,
    ) -> Ack:
        """Empty the acting user's view of the conversation with a user.

        `delete_messages_permanently=True` deletes the messages for both users, `preserve_order=True` keeps
        the conversation's position in the list, `conversation_with` repeats the uid of the other user. None
        is not sent: both flags are then off.
        """
        body = UserReset(
            conversation_with=conversation_with,
            delete_messages_permanently=delete_messages_permanently,
            preserve_order=preserve_order,
        )
        return await self._call(RESET_USER, body, on_behalf_of=on_behalf_of, uid=uid)

    async def mark_delivered_user(
        self, uid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """Mark a user's messages as delivered to the acting user, up to `message_id`; None means all."""
        return await self._call(DELIVERED_USER, _mark_body(message_id), on_behalf_of=on_behalf_of, uid=uid)

    async def mark_read_user(
        self, uid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """Mark a user's messages as read by the acting user, up to `message_id`; None means all."""
        return await self._call(READ_USER, _mark_body(message_id), on_behalf_of=on_behalf_of, uid=uid)

    async def mark_unread_user(
        self, uid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """Mark a user's messages as unread by the acting user, from `message_id` on; None means all."""
        return await self._call(UNREAD_USER, _mark_body(message_id), on_behalf_of=on_behalf_of, uid=uid)

    async def pin_user(self, uid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """Pin the acting user's conversation with a user, and return it."""
        return await self._call(PIN_USER, on_behalf_of=on_behalf_of, uid=uid)

    async def unpin_user(self, uid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """Unpin the acting user's conversation with a user, and return it."""
        return await self._call(UNPIN_USER, on_behalf_of=on_behalf_of, uid=uid)

    async def get_group(self, guid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """The acting user's conversation with a group; `PermissionDeniedError` if it is empty."""
        return await self._call(GET_GROUP, on_behalf_of=on_behalf_of, guid=guid)

    async def update_group(self, guid: str, tags: Tags, *, on_behalf_of: str | None = None) -> Conversation:
        """Replace the acting user's tags of a group's conversation, and return it; `[]` removes all."""
        body = ConversationChanges(tags=tags)
        return await self._call(UPDATE_GROUP, body, on_behalf_of=on_behalf_of, guid=guid)

    async def reset_group(
        self, guid: str, *, preserve_order: bool | None = None, on_behalf_of: str | None = None
    ) -> Ack:
        """Empty the acting user's view of a group; `preserve_order=True` keeps its position in the list."""
        body = None if preserve_order is None else GroupReset(preserve_order=preserve_order)
        return await self._call(RESET_GROUP, body, on_behalf_of=on_behalf_of, guid=guid)

    async def mark_delivered_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """Mark a group's messages as delivered to the acting user, up to `message_id`; None means all."""
        return await self._call(DELIVERED_GROUP, _mark_body(message_id), on_behalf_of=on_behalf_of, guid=guid)

    async def mark_read_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """Mark a group's messages as read by the acting user, up to `message_id`; None means all."""
        return await self._call(READ_GROUP, _mark_body(message_id), on_behalf_of=on_behalf_of, guid=guid)

    async def mark_unread_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """Mark a group's messages as unread by the acting user, from `message_id` on; None means all."""
        return await self._call(UNREAD_GROUP, _mark_body(message_id), on_behalf_of=on_behalf_of, guid=guid)

    async def pin_group(self, guid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """Pin the acting user's conversation with a group, and return it."""
        return await self._call(PIN_GROUP, on_behalf_of=on_behalf_of, guid=guid)

    async def unpin_group(self, guid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """Unpin the acting user's conversation with a group, and return it."""
        return await self._call(UNPIN_GROUP, on_behalf_of=on_behalf_of, guid=guid)


def _mark_body(message_id: MessageNumber | None) -> ReceiptMark | None:
    """Return the body of a receipt; None, which sends no body, if it is about all messages."""
    return None if message_id is None else ReceiptMark(message_id=message_id)
