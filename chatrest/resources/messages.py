"""Messages: reading the lists of them, and sending (specification, Endpoints)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Self, final

from msgspec import UNSET, Struct, UnsetType, structs

from ..core.cursor import Cursor
from ..core.decode import MESSAGE, Many, One
from ..core.endpoint import Endpoint, Send
from ..errors import RequestInvalidError
from ..models.message import Message
from ..queries.messages import MessageQuery
from ..walk import Walk
from .listing import check_query, walk

LIST_USER: Final = Endpoint(
    name="messages.list_user", method="GET", path="/users/{uid}/messages", reply=Many(MESSAGE)
)
LIST_GROUP: Final = Endpoint(
    name="messages.list_group", method="GET", path="/groups/{guid}/messages", reply=Many(MESSAGE)
)
LIST: Final = Endpoint(name="messages.list", method="GET", path="/messages", reply=Many(MESSAGE))
LIST_THREAD: Final = Endpoint(
    name="messages.list_thread", method="GET", path="/messages/{message_id}/thread", reply=Many(MESSAGE)
)
SEND: Final = Endpoint(
    name="messages.send", method="POST", path="/messages", reply=One(MESSAGE), replay="never"
)
_UID: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")  # a lone surrogate cannot be sent


@final
class NewMessage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message to send: the body of POST /messages.

    `receiver` is a uid or a guid, `receiver_type` says which. `data` is a JSON object: `{"text": …}` for a
    text. `muid` is an id of the caller's own making that comes back with the message. Raises
    `RequestInvalidError` where a member is wrong; the service checks the rest.
    """

    receiver: str
    receiver_type: Literal["user", "group"] = "user"
    category: Literal["message", "custom"] | UnsetType = UNSET
    type: str
    data: Mapping[str, Any]
    muid: str | UnsetType = UNSET
    tags: Sequence[str] | UnsetType = UNSET

    def __post_init__(self) -> None:
        _check("receiver", self.receiver, _is_uid, "a text that is not empty, without control characters")
        _check("type", self.type, _is_text, "a text that is not empty")
        _check("receiver_type", self.receiver_type, ("user", "group").__contains__, "'user' or 'group'")
        _check("category", self.category, ("message", "custom", UNSET).__contains__, "'message' or 'custom'")
        _check("data", self.data, _is_object, "a JSON object, as a mapping with text keys")
        structs.force_setattr(self, "data", dict(self.data))
        _check("muid", self.muid, _is_text_or_unset, "a text that is not empty")
        _check("tags", self.tags, _are_texts, "a list of texts")

    @classmethod
    def text(
        cls,
        receiver: str,
        text: str,
        *,
        receiver_type: Literal["user", "group"] = "user",
        metadata: Mapping[str, Any] | None = None,
        muid: str | UnsetType = UNSET,
        tags: Sequence[str] | UnsetType = UNSET,
    ) -> Self:
        """A text message."""
        _check("text", text, _is_text, "a text that is not empty")
        data: dict[str, Any] = {"text": text}
        if metadata is not None:
            data["metadata"] = metadata
        return cls(
            receiver=receiver, receiver_type=receiver_type, type="text", data=data, muid=muid, tags=tags
        )


@final
class Messages:
    """The messages of an app: `session.messages`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def list_user(
        self,
        uid: str,
        *,
        on_behalf_of: str | None = None,
        query: MessageQuery | None = None,
        cursor: Cursor | str | None = None,
    ) -> Walk[Message]:
        """GET /users/{uid}/messages: the messages between `uid` and `on_behalf_of`.

        Without an acting user the specification does not say whose messages come. `cursor` goes on where
        another walk of the same query stood. Raises `RequestInvalidError` or `CursorError` before
        anything is sent; the walk raises `NotFoundError` for a user that the app does not have.
        """
        check_query(query, MessageQuery)
        call = LIST_USER(uid=uid, query=query, on_behalf_of=on_behalf_of)
        acting = on_behalf_of or self._send.acting_user
        return walk(self._send, call, key="id", size_name="limit" if acting else "perPage", cursor=cursor)

    def list_group(
        self,
        guid: str,
        *,
        on_behalf_of: str | None = None,
        query: MessageQuery | None = None,
        cursor: Cursor | str | None = None,
    ) -> Walk[Message]:
        """GET /groups/{guid}/messages: the messages of a group, as `list_user` in all else."""
        check_query(query, MessageQuery)
        call = LIST_GROUP(guid=guid, query=query, on_behalf_of=on_behalf_of)
        return walk(self._send, call, key="id", size_name="limit", cursor=cursor)

    def list(
        self,
        *,
        on_behalf_of: str | None = None,
        query: MessageQuery | None = None,
        cursor: Cursor | str | None = None,
    ) -> Walk[Message]:
        """GET /messages: the messages of the whole app, or of the acting user, as `list_user` in all else."""
        check_query(query, MessageQuery)
        call = LIST(query=query, on_behalf_of=on_behalf_of)
        return walk(self._send, call, key="id", size_name="limit", cursor=cursor)

    def list_thread(
        self,
        message_id: str,
        *,
        on_behalf_of: str | None = None,
        query: MessageQuery | None = None,
        cursor: Cursor | str | None = None,
    ) -> Walk[Message]:
        """GET /messages/{id}/thread: the replies to a message, as `list_user` in all else."""
        check_query(query, MessageQuery)
        call = LIST_THREAD(message_id=message_id, query=query, on_behalf_of=on_behalf_of)
        return walk(self._send, call, key="id", size_name="perPage", cursor=cursor, pages=True)

    async def send(self, message: NewMessage, *, on_behalf_of: str | None = None) -> Message:
        """POST /messages: sends `message` as `on_behalf_of`, and gives it as the service stored it.

        Without an acting user the app itself is the sender. Sent once: where no reply came and the
        message may have been taken, `OutcomeUnknownError`.
        """
        if not isinstance(message, NewMessage):
            raise RequestInvalidError(f"message = {message!r}: allowed is a NewMessage")
        return await self._send(SEND(json=message, on_behalf_of=on_behalf_of))


ENDPOINTS: Final[tuple[Endpoint[Any], ...]] = (LIST_USER, LIST_GROUP, LIST, LIST_THREAD, SEND)


def _check(name: str, value: object, fits: Any, allowed: str) -> None:
    if not fits(value):
        raise RequestInvalidError(f"{name} = {value!r}: allowed is {allowed}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_uid(value: object) -> bool:
    return isinstance(value, str) and _UID.fullmatch(value) is not None


def _is_text_or_unset(value: object) -> bool:
    return value is UNSET or _is_text(value)


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _are_texts(value: object) -> bool:
    return value is UNSET or (
        isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_text, value))
    )
