"""A handler of events, an ASGI client, and what both are asked."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from chatrest.webhooks import Event
from chatrest.webhooks.handlers import AsgiApp
from tests.webhooks.samples import MESSAGE, delivery

HELLO = delivery("message_sent", {"message": MESSAGE})
OTHER = delivery("message_sent", {"message": MESSAGE | {"id": "99"}})
USERNAME, PASSWORD = "hook", "pässw0rd-9f2c"


def basic(username: str = USERNAME, password: str = PASSWORD, charset: str = "utf-8") -> str:
    return f"Basic {b64encode(f'{username}:{password}'.encode(charset)).decode()}"


class Response(NamedTuple):
    """An answer as the client gets it; header names are in lower case."""

    status: int
    headers: dict[str, str]
    text: str


class AsgiClient:
    """Asks an ASGI application as a server does."""

    def __init__(self, app: AsgiApp) -> None:
        self.app = app
        self.received = 0
        """The number of messages that the last request has taken."""

    async def post(
        self,
        chunks: Iterable[bytes] | bytes = HELLO,
        *,
        method: str = "POST",
        authorization: str | None = None,
        ending: str = "http.request",
        **headers: str,
    ) -> Response | None:
        """Send a body in chunks; return the answer, None for none. `ending` may be http.disconnect."""
        pieces = [chunks] if isinstance(chunks, bytes) else list(chunks)
        messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": piece, "more_body": True} for piece in pieces
        ]
        messages.append({"type": ending})
        pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        if authorization is not None:
            pairs.append((b"authorization", authorization.encode("latin-1")))
        scope = {"type": "http", "method": method, "path": "/any", "headers": pairs}
        return await self._ask(scope, messages)

    async def _ask(self, scope: dict[str, Any], messages: list[dict[str, Any]]) -> Response | None:
        sent: list[Any] = []
        self.received = 0

        async def receive() -> dict[str, Any]:
            self.received += 1
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        if not sent:
            return None
        start, body = sent
        assert (start["type"], body["type"]) == ("http.response.start", "http.response.body")
        fields = {name.decode(): value.decode() for name, value in start["headers"]}
        assert int(fields["content-length"]) == len(body["body"])
        return Response(start["status"], fields, body["body"].decode())


Decision: TypeAlias = Callable[[Event], Any]


class Handler:
    """A handler of events that notes them; each call awaits what the next step makes, then the last again."""

    def __init__(self, *steps: Decision) -> None:
        self.steps = list(steps)
        self.events: list[Event] = []
        self.finished = self.active = self.most = 0

    async def __call__(self, event: Event) -> None:
        self.events.append(event)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0] if self.steps else None
        self.active += 1
        self.most = max(self.most, self.active)
        try:
            if step is not None:
                await step(event)
            self.finished += 1
        finally:
            self.active -= 1


def takes(seconds: float) -> Decision:
    return lambda event: asyncio.sleep(seconds)


async def at_once(event: Event) -> None:
    """Take no time."""


async def fails(event: Event) -> None:
    raise RuntimeError("the database is down")
