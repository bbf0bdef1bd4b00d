"""Messages: sending, reading and changing them; threads, reactions, pins and saves."""

import builtins
from collections.abc import Awaitable, Mapping, Sequence
from copy import copy
from os import urandom
from typing import Any, Final, TypeVar, final

from msgspec import UNSET, structs

from .._core.replies.decode import ACK, Ack, Listing, Outcomes, many, one
from .._core.replies.expectation import is_sent_by_other
from .._core.requests.dialects import BY_ID, BY_NEXT, BY_THREAD, BY_UPDATED, MIN_DEFAULT, Paging
from .._core.requests.endpoint import Acting, Call, Comparison, Endpoint, Method
from .._models.messages import Message, MessageCount, Reaction, SentMessage
from .._parameters.checked import Body, Filter
from .._parameters.fields import ReceiverType
from .._parameters.messages import (
    Interactions,
    MessageBody,
    MessageChanges,
    MessageQuery,
    NewBotMessage,
    NewMessage,
    NewThreadMessage,
    ThreadQuery,
    TrackedMessage,
)
from .._parameters.users import Deletion
from .._secrets import repr_of
from .._walk.walk import Walk
from ..errors import OutcomeUnknownError, ReplyUnreadableError, RequestInvalidError
from .collection import Collection, WalkStart
from .sent_messages import (
    SentMessages,
    find_by_muid,
    first_message,
    first_record,
    with_failures,
    with_receiver,
)

R = TypeVar("R")
B = TypeVar("B", bound=MessageBody)

REACTIONS: Final = Paging(size="limit", smallest_cap=MIN_DEFAULT)
"""By the position of the reply, in the service's order; a few reactions that lead back are all."""

_LIST_DELAY: Final = 1.0
"""Seconds after which a service shows a new message in its lists."""

SEND: Final = Endpoint(
    "messages.send", "POST", "/messages", one(Message, first_record), "never",
    body=NewMessage, acting="optional", is_by_other=is_sent_by_other, user_limit=30,
)  # fmt: skip
SEND_BOT: Final = Endpoint(
    "messages.send_bot", "POST", "/bots/{uid}/messages", one(Message, first_record), "never",
    body=NewBotMessage,
)  # fmt: skip
SEND_THREAD: Final = Endpoint(
    "messages.send_thread", "POST", "/messages/{id}/thread", one(Message, first_record), "never",
    body=NewThreadMessage, acting="required", is_by_other=is_sent_by_other, user_limit=30,
)  # fmt: skip
_SEND_EACH: Final[Mapping[Endpoint[Any], Endpoint[Any]]] = {
    endpoint: structs.replace(endpoint, reply=SentMessages(endpoint.name))
    for endpoint in (SEND, SEND_BOT, SEND_THREAD)
}
"""The operations that send, each with the outcome of every receiver as its reply."""


def _list(
    name: str, path: str, paging: Paging, comparison: Comparison, query: type[Filter] = MessageQuery
) -> Endpoint[Listing[Message]]:
    return Endpoint(
        f"messages.{name}", "GET", path, many(Message),
        query=query, paging=paging, acting="optional", comparison=comparison,
    )  # fmt: skip


LIST: Final = _list("list", "/messages", BY_NEXT, "messages")
LIST_USER: Final = _list("list_user", "/users/{uid}/messages", BY_ID, "user")
LIST_GROUP: Final = _list("list_group", "/groups/{guid}/messages", BY_NEXT, "group")
LIST_THREAD: Final = _list("list_thread", "/messages/{id}/thread", BY_THREAD, "thread")
_COUNTS: Final[Mapping[Endpoint[Any], Endpoint[Any]]] = {
    endpoint: structs.replace(endpoint, reply=many(MessageCount), comparison="none")
    for endpoint in (LIST, LIST_USER, LIST_GROUP)
}
"""The lists whose reply may hold counts in place of messages, each as a list of these."""
GET: Final = Endpoint("messages.get", "GET", "/messages/{id}", one(Message), acting="optional")


def _change(
    name: str, method: Method, end: str = "", body: type[Body] | None = None, acting: Acting = "optional"
) -> Endpoint[Message]:
    path = f"/messages/{{id}}{end}"
    return Endpoint(f"messages.{name}", method, path, one(Message), "idempotent", body=body, acting=acting)


UPDATE: Final = _change("update", "PUT", body=MessageChanges)
DELETE: Final = _change("delete", "DELETE", body=Deletion)
ADD_REACTION: Final = _change("add_reaction", "POST", "/reactions/{reaction}", acting="required")
REMOVE_REACTION: Final = _change("remove_reaction", "DELETE", "/reactions/{reaction}", acting="required")
PIN: Final = _change("pin", "POST", "/pin")
UNPIN: Final = _change("unpin", "DELETE", "/pin")
SAVE: Final = _change("save", "POST", "/save", acting="required")
UNSAVE: Final = _change("unsave", "DELETE", "/save", acting="required")
MARK_INTERACTED: Final = Endpoint(
    "messages.mark_interacted", "PATCH", "/messages/{id}/interacted", ACK, "idempotent",
    body=Interactions, acting="required",
)  # fmt: skip
LIST_REACTIONS: Final = Endpoint(
    "messages.list_reactions", "GET", "/messages/{id}/reactions", many(Reaction),
    paging=REACTIONS, acting="optional",
)  # fmt: skip
LIST_REACTION: Final = Endpoint(
    "messages.list_reaction", "GET", "/messages/{id}/reactions/{reaction}", many(Reaction),
    paging=REACTIONS, acting="optional",
)  # fmt: skip
LIST_THREADS: Final = _list("list_threads", "/threads", BY_UPDATED, "threads", ThreadQuery)
LIST_THREADS_USER: Final = _list(
    "list_threads_user", "/users/{uid}/threads", BY_UPDATED, "threads", ThreadQuery
)
LIST_THREADS_GROUP: Final = _list(
    "list_threads_group", "/groups/{guid}/threads", BY_UPDATED, "threads", ThreadQuery
)
SUBSCRIBE_THREAD: Final = Endpoint(
    "messages.subscribe_thread", "POST", "/messages/{id}/thread/subscription", ACK, "idempotent",
    acting="required",
)  # fmt: skip
UNSUBSCRIBE_THREAD: Final = Endpoint(
    "messages.unsubscribe_thread", "DELETE", "/messages/{id}/thread/subscription", ACK, "idempotent",
    acting="required",
)  # fmt: skip


@final
class Messages(Collection):
    """The messages of an app: `session.messages`.

    `NotFoundError` if there is no message, user or group of this id. An operation of the acting user raises
    `RequestInvalidError` without one.
    """

    def list_user(
        self,
        uid: str,
        query: MessageQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: WalkStart = None,
    ) -> Walk[Message]:
        """The messages between the user `uid` and the acting user. One request per page.

        Without an acting user it is not documented whose messages are listed. All messages of one user are
        `list(on_behalf_of=uid)`, not `list_user` of the same user. `cursor` continues another walk of the
        same query. Raises `RequestInvalidError` or `CursorError` before anything is sent; the walk raises
        `NotFoundError` if there is no user `uid`.
        """
        return self._walk(LIST_USER, query, cursor, on_behalf_of=on_behalf_of, uid=uid)

    def list_group(
        self,
        guid: str,
        query: MessageQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: WalkStart = None,
    ) -> Walk[Message]:
        """The messages of a group. One request per page; `NotFoundError` if there is no such group."""
        return self._walk(LIST_GROUP, query, cursor, on_behalf_of=on_behalf_of, guid=guid)

    def list(
        self, query: MessageQuery | None = None, *, on_behalf_of: str | None = None, cursor: WalkStart = None
    ) -> Walk[Message]:
        """The messages of the app, or the inbox of the acting user. One request per page."""
        return self._walk(LIST, query, cursor, on_behalf_of=on_behalf_of)

    def list_thread(
        self,
        message_id: str,
        query: MessageQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: WalkStart = None,
    ) -> Walk[Message]:
        """The replies to a message. One request per page; `NotFoundError` if there is no such message."""
        return self._walk(LIST_THREAD, query, cursor, on_behalf_of=on_behalf_of, id=message_id)

    async def counts(
        self,
        query: MessageQuery | None = None,
        *,
        uid: str | None = None,
        guid: str | None = None,
        on_behalf_of: str | None = None,
    ) -> "builtins.list[MessageCount]":
        """The messages that `query` selects, such as those `unread`, counted per user and group.

        Counted are those of the app or the acting user; with `uid`, those of the conversation with this user;
        with `guid`, those of the group. `RequestInvalidError` for both. One request, or two if the reply has
        pagination.
        """
        if uid is not None and guid is not None:
            raise RequestInvalidError("counts: expected uid or guid, not both")
        counted = structs.replace(query or MessageQuery(), count=True)
        path = {name: value for name, value in (("uid", uid), ("guid", guid)) if value is not None}
        endpoint = LIST_USER if uid is not None else LIST_GROUP if guid is not None else LIST
        return await self._walk(_COUNTS[endpoint], counted, on_behalf_of=on_behalf_of, **path).collect()

    async def send(self, message: NewMessage, *, on_behalf_of: str | None = None) -> Message:
        """Send `message` as the acting user, and return it as the service stored it.

        Without an acting user the app itself is the sender. A message without `muid` gets a random one. With
        `multiple_receivers` the result is the first message of the reply; `send_each` gives the outcome of
        each.

        Sent once. Raises `OutcomeUnknownError` if no reply came and the message may be stored, and
        `ReplyUnreadableError` if the reply has no message: `find_sent` takes the `muid` of both. `ApiError`
        if the reply says that one of several receivers failed. A cancelled send has no error with the muid:
        to look for the message later, give it a `muid`.
        """
        return await self._send_one(SEND, message, on_behalf_of)

    async def send_each(
        self, message: NewMessage, *, on_behalf_of: str | None = None
    ) -> Outcomes[SentMessage]:
        """Send a message with `multiple_receivers`, and return the outcome of each by uid or guid.

        A receiver that the reply does not mention counts as failed, although its message may be stored. Sent
        once, with the errors of `send`; all receivers get the same `muid`. `outcomes.check()` raises if one
        failed.
        """
        message = with_muid(message)
        outcomes = await _await_reply(
            message, self._call(_SEND_EACH[SEND], message, on_behalf_of=on_behalf_of)
        )
        return with_failures(outcomes, message, SEND.name)

    async def send_bot(self, uid: str, message: NewBotMessage) -> Message:
        """Send `message` as the bot `uid`, and return it. Sent once: `OutcomeUnknownError` as for `send`."""
        return await self._send_one(SEND_BOT, message, uid=uid)

    async def send_thread(
        self, message_id: str, message: NewThreadMessage, *, on_behalf_of: str | None = None
    ) -> Message:
        """Send a reply in the thread of a message, and return it. Needs an acting user.

        A `message` without a receiver goes to the conversation of the thread, for one request more. Sent
        once, with the errors of `send`; the operation takes no `muid`, so `find_sent` cannot settle an
        `OutcomeUnknownError`. `NotFoundError` if there is no message `message_id`.
        """
        if not getattr(message, "has_receiver", True):  # what is no message is refused below
            parent = await self.get(message_id, on_behalf_of=on_behalf_of)
            message = with_receiver(message, parent, on_behalf_of or self._send.acting_user)
        return await self._send_one(SEND_THREAD, message, on_behalf_of, id=message_id)

    async def find_sent(
        self,
        muid: str,
        *,
        receiver: str,
        receiver_type: ReceiverType = "user",
        on_behalf_of: str | None = None,
    ) -> Message | None:
        """Return the message with this `muid` that was sent to `receiver`, or None if it did not arrive.

        A message that was edited or deleted is found, too; one that was deleted permanently is None. Reads
        the newest 1000 messages between the acting user and `receiver`: one request or more. If they do not
        have the message, they are read again after one second, as a service may show it late.

        Raises `OutcomeUnknownError` if the list proves nothing: no message has a `muid`, a record cannot be
        read, 1000 newer messages were sent within five minutes, or `CHATREST_HEADERS` has a login token,
        whose user's lists may lack what the app has sent. Raises the errors of a list, such as
        `NotFoundError` if there is no such receiver, and `ActingUserIgnoredError`.
        """
        if not (muid and isinstance(muid, str)):
            raise RequestInvalidError(f"muid = {repr_of(muid)}: expected a non-empty text")
        if receiver_type not in ("user", "group"):
            raise RequestInvalidError(f"receiver_type = {repr_of(receiver_type)}: expected 'user' or 'group'")
        list_messages = self.list_group if receiver_type == "group" else self.list_user
        sender = on_behalf_of if on_behalf_of is not None else self._send.acting_user
        doubt = ""
        for pause in (0.0, _LIST_DELAY):
            if pause:
                await self._send.sleep(pause)
            walk = list_messages(receiver, MessageQuery(affix="prepend"), on_behalf_of=on_behalf_of)
            result = await find_by_muid(walk, muid, receiver, sender)
            if not isinstance(result, str):
                return result
            doubt = result
        if not doubt and receiver_type == "user" and self._send.has_reader_token:
            doubt = "a login token is sent with the app's key, and its user's lists may lack the message"
        if not doubt:
            return None
        text = f"messages.find_sent: the outcome of muid {repr_of(muid)} stays unknown: {doubt}"
        raise OutcomeUnknownError(text, operation="messages.find_sent", muid=muid)

    async def get(self, message_id: str, *, on_behalf_of: str | None = None) -> Message:
        """A message; `NotFoundError` if there is none."""
        return await self._call(GET, on_behalf_of=on_behalf_of, id=message_id)

    async def update(
        self, message_id: str, changes: MessageChanges, *, on_behalf_of: str | None = None
    ) -> Message:
        """Change a message, and return the action message that says so.

        The changed message is in its `data.entities.on.entity`. `PermissionDeniedError` if the acting user
        is not the sender, `NotFoundError` if there is no such message.
        """
        return await self._call(UPDATE, changes, on_behalf_of=on_behalf_of, id=message_id)

    async def delete(
        self, message_id: str, *, permanent: bool | None = None, on_behalf_of: str | None = None
    ) -> Message:
        """Delete a message, and return the action message that says so.

        The record stays, with `deleted_at`; `permanent=True` removes it, too. `PermissionDeniedError` if the
        acting user is not the sender, `NotFoundError` if there is no such message.
        """
        body = None if permanent is None else Deletion(permanent=permanent)
        return await self._call(DELETE, body, on_behalf_of=on_behalf_of, id=message_id)

    async def mark_interacted(
        self, message_id: str, interactions: Sequence[str], *, on_behalf_of: str | None = None
    ) -> Ack:
        """Record the elements of an interactive message that the acting user has used."""
        body = Interactions(interactions=interactions)
        return await self._call(MARK_INTERACTED, body, on_behalf_of=on_behalf_of, id=message_id)

    def list_reactions(
        self, message_id: str, *, on_behalf_of: str | None = None, cursor: WalkStart = None
    ) -> Walk[Reaction]:
        """The users' reactions to a message. One request per page; `NotFoundError` if there is no message."""
        return self._walk(LIST_REACTIONS, None, cursor, on_behalf_of=on_behalf_of, id=message_id)

    def list_reaction(
        self, message_id: str, reaction: str, *, on_behalf_of: str | None = None, cursor: WalkStart = None
    ) -> Walk[Reaction]:
        """The users' reactions to a message with one emoji. One request per page."""
        return self._walk(
            LIST_REACTION, None, cursor, on_behalf_of=on_behalf_of, id=message_id, reaction=reaction
        )

    async def add_reaction(
        self, message_id: str, reaction: str, *, on_behalf_of: str | None = None
    ) -> Message:
        """React to a message as the acting user, and return it; a repeat changes nothing."""
        return await self._call(ADD_REACTION, on_behalf_of=on_behalf_of, id=message_id, reaction=reaction)

    async def remove_reaction(
        self, message_id: str, reaction: str, *, on_behalf_of: str | None = None
    ) -> Message:
        """Remove a reaction of the acting user, and return the message."""
        return await self._call(REMOVE_REACTION, on_behalf_of=on_behalf_of, id=message_id, reaction=reaction)

    async def pin(self, message_id: str, *, on_behalf_of: str | None = None) -> Message:
        """Pin a message for everybody in its conversation, and return it.

        Without an acting user the app pins it. `BadRequestError` at the limit of pins,
        `PermissionDeniedError` if pinning is not permitted, `NotFoundError` if there is no such message.
        """
        return await self._call(PIN, on_behalf_of=on_behalf_of, id=message_id)

    async def unpin(self, message_id: str, *, on_behalf_of: str | None = None) -> Message:
        """Unpin a message, and return it; one that is not pinned stays so."""
        return await self._call(UNPIN, on_behalf_of=on_behalf_of, id=message_id)

    async def save(self, message_id: str, *, on_behalf_of: str | None = None) -> Message:
        """Save a message for the acting user, who alone sees its `saved_at`, and return it.

        Needs an acting user. A second call keeps the first time. `BadRequestError` at the limit of saved
        messages, `NotFoundError` if there is no such message. `list(query=MessageQuery(saved=1),
        on_behalf_of=…)` lists the saved messages.
        """
        return await self._call(SAVE, on_behalf_of=on_behalf_of, id=message_id)

    async def unsave(self, message_id: str, *, on_behalf_of: str | None = None) -> Message:
        """End the acting user's save of a message, and return it; one that is not saved stays so."""
        return await self._call(UNSAVE, on_behalf_of=on_behalf_of, id=message_id)

    def list_threads(
        self, query: ThreadQuery | None = None, *, on_behalf_of: str | None = None, cursor: WalkStart = None
    ) -> Walk[Message]:
        """The messages with replies, ordered by their last change. One request per page."""
        return self._walk(LIST_THREADS, query, cursor, on_behalf_of=on_behalf_of)

    def list_threads_user(
        self,
        uid: str,
        query: ThreadQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: WalkStart = None,
    ) -> Walk[Message]:
        """The threads with the user `uid`. One request per page; `NotFoundError` if there is no such user."""
        return self._walk(LIST_THREADS_USER, query, cursor, on_behalf_of=on_behalf_of, uid=uid)

    def list_threads_group(
        self,
        guid: str,
        query: ThreadQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: WalkStart = None,
    ) -> Walk[Message]:
        """The threads of a group. One request per page; `NotFoundError` if there is no such group."""
        return self._walk(LIST_THREADS_GROUP, query, cursor, on_behalf_of=on_behalf_of, guid=guid)

    async def subscribe_thread(self, message_id: str, *, on_behalf_of: str | None = None) -> Ack:
        """Subscribe the acting user to the thread of a message, also to one without replies."""
        return await self._call(SUBSCRIBE_THREAD, on_behalf_of=on_behalf_of, id=message_id)

    async def unsubscribe_thread(self, message_id: str, *, on_behalf_of: str | None = None) -> Ack:
        """End the acting user's subscription to a thread, until the user writes or is mentioned there."""
        return await self._call(UNSUBSCRIBE_THREAD, on_behalf_of=on_behalf_of, id=message_id)

    async def _send_one(
        self, endpoint: Endpoint[Message], message: MessageBody, on_behalf_of: str | None = None, **path: str
    ) -> Message:
        message = with_muid(message)
        call: Call[Any] = self._build_call(endpoint, message, None, None, on_behalf_of, path)
        if message.multiple_receivers is UNSET:
            sent: Message = await _await_reply(message, self._send(call))
            return sent
        call = structs.replace(call, endpoint=_SEND_EACH[endpoint])
        return first_message(await _await_reply(message, self._send(call)))


def with_muid(message: B) -> B:
    """Return the message with a random `muid` if its operation takes one and it has none."""
    if isinstance(message, TrackedMessage) and message.muid is UNSET:
        message = copy(message)  # `structs.replace` would check every field again, for 16 microseconds
        structs.force_setattr(message, "muid", urandom(16).hex())
    return message


async def _await_reply(message: MessageBody, reply: Awaitable[R]) -> R:
    """Return the result of a send; an error after which the message may be stored gets its `muid`."""
    try:
        return await reply
    except (OutcomeUnknownError, ReplyUnreadableError) as error:
        error.muid = getattr(message, "muid", None)
        raise
