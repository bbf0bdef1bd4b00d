"""The ASGI 3 application: HTTP and lifespan, without any dependency."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias, Unpack

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
            raise RequestInvalidError(f"scope type = {shown(scope['type'])}: expected http and lifespan")

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
