"""Calls of operations through a double of the session: the request, and the result."""

import json
from typing import Any, NamedTuple

from chatrest._core.requests.wire import json_body
from tests.support.session_double import Sender

MESSAGE: dict[str, Any] = {
    "id": "5", "conversationId": "ann_user_bob", "sender": "ann", "receiverType": "user", "receiver": "bob",
    "category": "message", "type": "text", "data": {"text": "t"}, "sentAt": 1, "updatedAt": 2,
}  # fmt: skip


class Sent(NamedTuple):
    method: str
    path: str
    replay: str
    body: Any = None
    """Decoded JSON; None for no body."""


def sent(sender: Sender) -> Sent:
    call = sender.call
    body = None if call.body is None else json.loads(json_body(call.body))
    return Sent(call.endpoint.method, call.path, call.endpoint.replay, body)


def answering(reply: Any, *, acting_user: str | None = None) -> Sender:
    return Sender(json.dumps(reply).encode(), acting_user=acting_user)
