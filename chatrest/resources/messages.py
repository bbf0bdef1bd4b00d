"""Messages: reading the lists of them, and sending (specification, Endpoints)."""

import builtins
from typing import Any, Final, final

from msgspec import structs

from ..core.decode import many, one
from ..core.endpoint import Endpoint
from ..core.paging import BY_ID, BY_NEXT, BY_THREAD
from ..errors import RequestInvalidError
from ..models.count import MessageCount
from ..models.message import Message
from ..queries.messages import MessageQuery, NewMessage
from ..walk import Walk
from .collection import Collection, Start

LIST_USER: Final = Endpoint(
    "messages.list_user", "GET", "/users/{uid}/messages", many(Message),
    query=MessageQuery, paging=BY_ID, acting="optional",
)  # fmt: skip
LIST_GROUP: Final = Endpoint(
    "messages.list_group", "GET", "/groups/{guid}/messages", many(Message),
    query=MessageQuery, paging=BY_NEXT, acting="optional",
)  # fmt: skip
LIST: Final = Endpoint(
    "messages.list", "GET", "/messages", many(Message), query=MessageQuery, paging=BY_NEXT, acting="optional"
)
LIST_THREAD: Final = Endpoint(
    "messages.list_thread", "GET", "/messages/{id}/thread", many(Message),
    query=MessageQuery, paging=BY_THREAD, acting="optional",
)  # fmt: skip
SEND: Final = Endpoint(
    "messages.send", "POST", "/messages", one(Message), "never",
    body=NewMessage, acting="optional", acting_field="sender",
)  # fmt: skip


@final
class Messages(Collection):
    """The messages of an app: `session.messages`."""

    def list_user(
        self,
        uid: str,
        *,
        on_behalf_of: str | None = None,
        query: MessageQuery | None = None,
        cursor: Start = None,
    ) -> Walk[Message]:
        """GET /users/{uid}/messages: the messages between `uid` and `on_behalf_of`. One request a page.

        Without an acting user the specification does not say whose messages come. `cursor` goes on where
        another walk of the same query stood. Raises `RequestInvalidError` or `CursorError` before anything is
        sent; the walk raises `NotFoundError` for a user that the app does not have.
        """
        return self._walk(LIST_USER, query, cursor, on_behalf_of=on_behalf_of, uid=uid)

    def list_group(
        self,
        guid: str,
        *,
        on_behalf_of: str | None = None,
        query: MessageQuery | None = None,
        cursor: Start = None,
    ) -> Walk[Message]:
        """GET /groups/{guid}/messages: the messages of a group, as `list_user` in all else."""
        return self._walk(LIST_GROUP, query, cursor, on_behalf_of=on_behalf_of, guid=guid)

    def list(
        self,
        *,
        on_behalf_of: str | None = None,
        query: MessageQuery | None = None,
        cursor: Start = None,
    ) -> Walk[Message]:
        """GET /messages: the messages of the whole app, or of the acting user, as `list_user` in all else."""
        return self._walk(LIST, query, cursor, on_behalf_of=on_behalf_of)

    def list_thread(
        self,
        message_id: str,
        *,
        on_behalf_of: str | None = None,
        query: MessageQuery | None = None,
        cursor: Start = None,
    ) -> Walk[Message]:
        """GET /messages/{id}/thread: the replies to a message, as `list_user` in all else."""
        return self._walk(LIST_THREAD, query, cursor, on_behalf_of=on_behalf_of, id=message_id)

    async def counts(
        self,
        query: MessageQuery | None = None,
        *,
        uid: str | None = None,
        guid: str | None = None,
        on_behalf_of: str | None = None,
    ) -> "builtins.list[MessageCount]":
        """The messages that `query` asks for, counted per user and group: `MessageQuery(unread=True)`, for
        example.

        Of the whole app or of the acting user (GET /messages), of the conversation with `uid`, or of the
        group `guid`. `count=true` is sent with it (specification, Endpoints). One request, or two where the
        reply has pagination.
        """
        if uid is not None and guid is not None:
            raise RequestInvalidError("counts: allowed is uid or guid, not both")
        counted = structs.replace(query or MessageQuery(), count=True)
        path = {name: value for name, value in (("uid", uid), ("guid", guid)) if value is not None}
        endpoint = LIST_USER if uid is not None else LIST_GROUP if guid is not None else LIST
        counting: Endpoint[Any] = structs.replace(endpoint, reply=many(MessageCount))
        return await self._walk(counting, counted, on_behalf_of=on_behalf_of, **path).collect()

    async def send(self, message: NewMessage, *, on_behalf_of: str | None = None) -> Message:
        """POST /messages: send `message` as `on_behalf_of`, and return it as the service stored it.

        Without an acting user the app itself is the sender. Sent once: where no reply came and the message
        may have been taken, `OutcomeUnknownError`.
        """
        return await self._call(SEND, message, on_behalf_of=on_behalf_of)
