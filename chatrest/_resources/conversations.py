"""Conversations: the list of a user's chats, their read state, and pins; the history of calls."""

import builtins
from collections.abc import Awaitable
from typing import Final, TypeVar, final

from msgspec import structs

from .._core.replies.decode import ACK, Ack, many, one
from .._core.requests.dialects import BY_PAGE, Paging
from .._core.requests.endpoint import Endpoint, Method, Reader
from .._models.calls import CallRecord, Transcription
from .._models.conversations import Conversation
from .._parameters.checked import Body
from .._parameters.conversations import (
    CallQuery,
    ConversationChanges,
    ConversationQuery,
    GroupReset,
    PinnedConversations,
    Pins,
    ReceiptMark,
    TranscriptionQuery,
    UserReset,
)
from .._parameters.fields import MessageNumber, Tags
from .._walk.walk import Walk
from .collection import Collection, Start

R = TypeVar("R")

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


def _of_both(
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


GET_USER, GET_GROUP = _of_both("get", "GET", "", one(Conversation))
UPDATE_USER, UPDATE_GROUP = _of_both("update", "PUT", "", one(Conversation), ConversationChanges)
RESET_USER, RESET_GROUP = _of_both("reset", "DELETE", "", ACK, UserReset, GroupReset)
DELIVERED_USER, DELIVERED_GROUP = _of_both("mark_delivered", "POST", "/delivered", ACK, ReceiptMark)
READ_USER, READ_GROUP = _of_both("mark_read", "POST", "/read", ACK, ReceiptMark)
UNREAD_USER, UNREAD_GROUP = _of_both("mark_unread", "DELETE", "/read", ACK, ReceiptMark)
PIN_USER, PIN_GROUP = _of_both("pin", "POST", "/pin", one(Conversation))
UNPIN_USER, UNPIN_GROUP = _of_both("unpin", "DELETE", "/pin", one(Conversation))


@final
class Conversations(Collection):
    """The conversations of users: `session.conversations`.

    All but the lists of pins are about one user's view of a conversation: that of the acting user.
    """

    def list(
        self, query: ConversationQuery | None = None, *, on_behalf_of: str | None = None, cursor: Start = None
    ) -> Walk[Conversation]:
        """GET /conversations: the conversations of the acting user, in the service's order.

        Without an acting user: those of all users. One request per page. The list has page numbers, so a
        conversation that moves meanwhile may be missing or returned twice.
        """
        is_cursored = query is not None and getattr(query, "use_cursored_index", None) == 1
        endpoint = structs.replace(LIST, paging=CURSORED) if is_cursored else LIST
        return self._walk(endpoint, query, cursor, on_behalf_of=on_behalf_of)

    def get(self, conversation_id: str, *, on_behalf_of: str | None = None) -> Awaitable[Conversation]:
        """GET /conversations/{conversationId}: one conversation. Deprecated: `get_user`, `get_group`."""
        return self._call(GET, on_behalf_of=on_behalf_of, conversationId=conversation_id)

    def delete(self, conversation_id: str, *, on_behalf_of: str | None = None) -> Awaitable[Ack]:
        """DELETE /conversations/{conversationId}: empty a view. Deprecated: `reset_user`, `reset_group`."""
        return self._call(DELETE, on_behalf_of=on_behalf_of, conversationId=conversation_id)

    def list_pinned(self) -> Walk[Conversation]:
        """GET /conversations/pinned: those that the app has pinned, in their order. One request."""
        return self._walk(LIST_PINNED)

    async def replace_pinned(self, pinned_conversations: Pins) -> "builtins.list[Conversation]":
        """PUT /conversations/pinned: pin these conversations for everybody, and no others; return the pins.

        Repeats count once; an empty list pins none. `BadRequestError` over the limit of pins.
        """
        body = PinnedConversations(pinned_conversations=pinned_conversations)
        return (await self._call(REPLACE_PINNED, body)).items

    async def get_user(self, uid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """GET /users/{uid}/conversation: the acting user's conversation with a user.

        `PermissionDeniedError` if it is empty.
        """
        return await self._call(GET_USER, on_behalf_of=on_behalf_of, uid=uid)

    async def update_user(self, uid: str, tags: Tags, *, on_behalf_of: str | None = None) -> Conversation:
        """PUT /users/{uid}/conversation: give a conversation other tags, or none, and return it."""
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

        `delete_messages_permanently` removes the messages for both, `preserve_order` keeps the list's order.
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
        """POST /users/{uid}/conversation/delivered: mark messages as delivered, `message_id` the last."""
        return await self._call(DELIVERED_USER, _mark(message_id), on_behalf_of=on_behalf_of, uid=uid)

    async def mark_read_user(
        self, uid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """POST /users/{uid}/conversation/read: mark messages as read, `message_id` the last."""
        return await self._call(READ_USER, _mark(message_id), on_behalf_of=on_behalf_of, uid=uid)

    async def mark_unread_user(
        self, uid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """DELETE /users/{uid}/conversation/read: mark messages as unread, `message_id` the first."""
        return await self._call(UNREAD_USER, _mark(message_id), on_behalf_of=on_behalf_of, uid=uid)

    async def pin_user(self, uid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """POST /users/{uid}/conversation/pin: pin a conversation for the acting user alone.

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

        `PermissionDeniedError` if it is empty.
        """
        return await self._call(GET_GROUP, on_behalf_of=on_behalf_of, guid=guid)

    async def update_group(self, guid: str, tags: Tags, *, on_behalf_of: str | None = None) -> Conversation:
        """PUT /groups/{guid}/conversation: give a conversation other tags, or none, and return it."""
        return await self._call(
            UPDATE_GROUP, ConversationChanges(tags=tags), on_behalf_of=on_behalf_of, guid=guid
        )

    async def reset_group(
        self, guid: str, *, preserve_order: bool | None = None, on_behalf_of: str | None = None
    ) -> Ack:
        """DELETE /groups/{guid}/conversation: empty the acting user's view of it, see `reset_user`."""
        body = None if preserve_order is None else GroupReset(preserve_order=preserve_order)
        return await self._call(RESET_GROUP, body, on_behalf_of=on_behalf_of, guid=guid)

    async def mark_delivered_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """POST /groups/{guid}/conversation/delivered: mark messages as delivered, `message_id` the last."""
        return await self._call(DELIVERED_GROUP, _mark(message_id), on_behalf_of=on_behalf_of, guid=guid)

    async def mark_read_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """POST /groups/{guid}/conversation/read: mark messages as read, `message_id` the last."""
        return await self._call(READ_GROUP, _mark(message_id), on_behalf_of=on_behalf_of, guid=guid)

    async def mark_unread_group(
        self, guid: str, message_id: MessageNumber | None = None, *, on_behalf_of: str | None = None
    ) -> Ack:
        """DELETE /groups/{guid}/conversation/read: mark messages as unread, `message_id` the first."""
        return await self._call(UNREAD_GROUP, _mark(message_id), on_behalf_of=on_behalf_of, guid=guid)

    async def pin_group(self, guid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """POST /groups/{guid}/conversation/pin: pin a conversation, see `pin_user`."""
        return await self._call(PIN_GROUP, on_behalf_of=on_behalf_of, guid=guid)

    async def unpin_group(self, guid: str, *, on_behalf_of: str | None = None) -> Conversation:
        """DELETE /groups/{guid}/conversation/pin: unpin a conversation of the acting user.

        `PermissionDeniedError` for one that the app has pinned.
        """
        return await self._call(UNPIN_GROUP, on_behalf_of=on_behalf_of, guid=guid)


def _mark(message_id: MessageNumber | None) -> ReceiptMark | None:
    """Return the body of a receipt; None, and so no body, where it is about all messages."""
    return None if message_id is None else ReceiptMark(message_id=message_id)


# ── calls: the history of calls and meetings, on a separate interface ──

CALLS_LIST: Final = Endpoint(
    "calls.list", "GET", "/calls", many(CallRecord),
    query=CallQuery, paging=BY_PAGE, acting="optional", interface="calls",
)  # fmt: skip
CALLS_GET: Final = Endpoint(
    "calls.get", "GET", "/calls/{sessionId}", one(CallRecord), acting="optional", interface="calls"
)
LIST_TRANSCRIPTIONS: Final = Endpoint(
    "calls.list_transcriptions", "GET", "/calls/{sessionId}/transcriptions", many(Transcription),
    query=TranscriptionQuery, paging=BY_PAGE, acting="optional", interface="calls",
)  # fmt: skip


@final
class Calls(Collection):
    """The history of calls: `session.calls`."""

    def list(
        self, query: CallQuery | None = None, *, on_behalf_of: str | None = None, cursor: Start = None
    ) -> Walk[CallRecord]:
        """GET /calls: the calls, in the service's order. One request per page."""
        return self._walk(CALLS_LIST, query, cursor, on_behalf_of=on_behalf_of)

    async def get(self, session_id: str, *, on_behalf_of: str | None = None) -> CallRecord:
        """GET /calls/{sessionId}: one call; `NotFoundError` for no such call."""
        return await self._call(CALLS_GET, on_behalf_of=on_behalf_of, sessionId=session_id)

    def list_transcriptions(
        self,
        session_id: str,
        query: TranscriptionQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: Start = None,
    ) -> Walk[Transcription]:
        """GET /calls/{sessionId}/transcriptions: those of a call, the newest first. One request per page."""
        return self._walk(LIST_TRANSCRIPTIONS, query, cursor, on_behalf_of=on_behalf_of, sessionId=session_id)
