"""The handlers of webhooks, for aiohttp.web and for ASGI servers: both ask a `Receiver` for the answer.

A handler gives the receiver the method, the headers and a function that reads the body, and sends its answer.
aiohttp is imported when `aiohttp_handler` is called, so that an ASGI server does not need it.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

from .._secrets import repr_of
from ..errors import ReplyUnreadableError, RequestInvalidError
from .receiver import OnEvent, Receiver, ReceiverOptions

if TYPE_CHECKING:
    from aiohttp import web

AiohttpHandler: TypeAlias = "Callable[[web.Request], Awaitable[web.Response]]"
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_DISCARDED_BYTES: Final = 1 << 20
_HANG_UP_SECONDS: Final = 0.5


def aiohttp_handler(on_event: OnEvent, **options: Unpack[ReceiverOptions]) -> AiohttpHandler:
    """Return a handler for `app.router.add_post("/webhook", …)` that awaits `on_event(event)` for each event.

    - `username`, `password`: the Basic credentials of the webhook, checked before the body is read: 401.
      Without them nothing is checked, and anybody can send events.
    - `answer_within`: seconds until the answer, 1.5. The service waits 2 s.
    - `max_body_bytes`: 1 MiB; a larger body is answered with 413.
    - `concurrency`: the number of `on_event` at the same time, 100. Further events wait for a free place, and
      are answered with 503 after `answer_within`. An `on_event` that never returns keeps its place.

    200 is answered after `on_event` has returned, 500 after an exception, which is logged, and 503 while it
    still runs: it is not cancelled, and the repetition of the delivery waits for it. `on_event` should be
    idempotent: a webhook with `retry_on_failure` repeats what was not answered with 200. Events arrive in any
    order. When the server stops, a handler that still runs was not acknowledged. Raises
    `RequestInvalidError` for a wrong argument.
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

    To close at once could destroy the answer on its way, and aiohttp would continue to read for ten seconds.
    So up to `_DISCARDED_BYTES` of the body are read first: the body of any true delivery ends within them.
    """
    response.force_close()
    await response.prepare(request)
    await response.write_eof()
    unread_bytes = _DISCARDED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_HANG_UP_SECONDS):
            while unread_bytes > 0 and (chunk := await request.content.readany()):
                unread_bytes -= len(chunk)
    if not request.content.is_eof():
        request.protocol.force_close()


def asgi_app(on_event: OnEvent, **options: Unpack[ReceiverOptions]) -> AsgiApp:
    """Return an ASGI application that awaits `on_event(event)` for each event, at any path.

    The arguments, answers and errors are those of `aiohttp_handler`. Run it by itself, or mount it in another
    application. When a server that supports the lifespan protocol stops, it waits `answer_within` seconds for
    the handlers that still run, and then cancels them.
    """
    receiver = Receiver(on_event, options)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _serve_lifespan(receiver, receive, send)
        elif scope["type"] == "http":
            await _serve_http(receiver, scope, receive, send)
        else:
            raise RequestInvalidError(f"scope type = {repr_of(scope['type'])}: expected 'http' or 'lifespan'")

    return app


async def _serve_lifespan(receiver: Receiver, receive: Receive, send: Send) -> None:
    while (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
    await receiver.close()
    await send({"type": "lifespan.shutdown.complete"})


async def _serve_http(receiver: Receiver, scope: Scope, receive: Receive, send: Send) -> None:
    has_more = is_connected = True

    async def read() -> bytes:
        nonlocal has_more, is_connected
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                has_more = is_connected = False
                raise ReplyUnreadableError("the body is cut off")
            has_more = bool(message.get("more_body", False))
            if chunk := message.get("body", b""):
                return bytes(chunk)
        return b""

    answer = await receiver.answer(scope["method"], scope["headers"], read)
    if not is_connected:
        return
    body = answer.text.encode("ascii", "backslashreplace")
    content_headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
    pairs = [*content_headers.items(), *answer.headers]
    headers = [(name.lower().encode(), value.encode()) for name, value in pairs]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
