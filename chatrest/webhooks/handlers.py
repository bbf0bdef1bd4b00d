"""The handlers for aiohttp.web and for ASGI servers; aiohttp is imported when `aiohttp_handler` is called."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

from .._secrets import shown
from ..errors import ReplyUnreadableError, RequestInvalidError
from .receiver import OnEvent, Receiver, ReceiverOptions

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def asgi_app(on_event: OnEvent, **options: Unpack[ReceiverOptions]) -> AsgiApp:
    """Return an ASGI application that awaits `on_event(event)` for each event, at any path.

    The arguments, answers and errors are those of `aiohttp_handler`. Run it by itself, or mount it in another
    application. When a server that supports the lifespan protocol stops, it waits `answer_within` seconds for
    the handlers that still run.
    """
    receiver = Receiver(on_event, options)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receiver, receive, send)
        elif scope["type"] == "http":
            await _http(receiver, scope, receive, send)
        else:
            raise RequestInvalidError(f"scope type = {shown(scope['type'])}: expected http or lifespan")

    return app


async def _lifespan(receiver: Receiver, receive: Receive, send: Send) -> None:
    while (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
    await receiver.close()
    await send({"type": "lifespan.shutdown.complete"})


async def _http(receiver: Receiver, scope: Scope, receive: Receive, send: Send) -> None:
    more = connected = True

    async def read() -> bytes:
        nonlocal more, connected
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                more = connected = False
                raise ReplyUnreadableError("the body is cut off")
            more = bool(message.get("more_body", False))
            if chunk := message.get("body", b""):
                return bytes(chunk)
        return b""

    answer = await receiver.answer(scope["method"], scope["headers"], read)
    if not connected:
        return
    body = answer.text.encode("ascii", "backslashreplace")
    fields = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
    pairs = [*fields.items(), *answer.headers]
    headers = [(name.lower().encode(), value.encode()) for name, value in pairs]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if TYPE_CHECKING:
    from aiohttp import web

_DISCARDED_BYTES: Final = 1 << 20
_HANG_UP_AFTER: Final = 0.5
"""Seconds."""

Handler: TypeAlias = "Callable[[web.Request], Awaitable[web.Response]]"


def aiohttp_handler(on_event: OnEvent, **options: Unpack[ReceiverOptions]) -> Handler:
    """Return a handler for `app.router.add_post("/webhook", …)` that awaits `on_event(event)` for each event.

    - `username`, `password`: the Basic credentials of the webhook; wrong ones are answered with 401, without
      reading the body. Without them no credentials are checked.
    - `answer_within`: seconds until the answer, 1.5. The service waits 2 s.
    - `max_body_bytes`: 1 MiB; a larger body is answered with 413.
    - `concurrency`: the number of `on_event` that run at the same time, 100; one that never returns keeps its
      place.

    200 is answered after `on_event` has returned, 500 after it has raised an exception, which is logged, and
    503 while it still runs: it is not cancelled, and the repetition of the delivery waits for it. A webhook
    with `retry_on_failure` repeats what was not answered with 200 after 10 s and after 30 s; so `on_event`
    should be idempotent. Events arrive in any order. When the server stops, a handler that still runs was not
    acknowledged. Raises `RequestInvalidError` for a wrong argument.
    """
    from aiohttp import ClientError, web
    from aiohttp.http_exceptions import HttpProcessingError

    receiver = Receiver(on_event, options)
    faults = (ClientError, HttpProcessingError, ConnectionError)

    async def handle(request: web.Request) -> web.Response:
        async def read() -> bytes:
            with suppress(*faults):
                return await request.content.readany()
            raise ReplyUnreadableError("the body is cut off")

        answer = await receiver.answer(request.method, request.headers, read)
        text = answer.text.encode("ascii", "backslashreplace").decode()
        response = web.Response(status=answer.status, text=text, headers=dict(answer.headers))
        if not request.content.is_eof():
            with suppress(*faults):
                await _hang_up(request, response)
        return response

    return handle


async def _hang_up(request: "web.Request", response: "web.Response") -> None:
    """Answer a request whose body has not ended, and close its connection.

    To close at once could destroy the answer on its way, and aiohttp would read on for ten seconds. So a
    little of the body is read first, in which a sender of any delivery ends.
    """
    response.force_close()
    await response.prepare(request)
    await response.write_eof()
    rest = _DISCARDED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_HANG_UP_AFTER):
            while rest > 0 and (chunk := await request.content.readany()):
                rest -= len(chunk)
    if not request.content.is_eof():
        request.protocol.force_close()
