"""Receive events with an ASGI server, and print the messages.

    python -m chatrest.examples.webhook_asgi          # receives a few events of an emulator, and ends
    WEBHOOK_USERNAME=hook WEBHOOK_PASSWORD=… uvicorn --factory chatrest.examples.webhook_asgi:make_app

In a web framework, mount the same application: `app.mount("/webhook", make_app())`. Started as
`python -m chatrest.examples.webhook_asgi PORT` it is served by aiohttp, which is installed anyway.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, MutableMapping
from typing import Any

from aiohttp import ClientError, web

from chatrest.examples.webhook_aiohttp import PASSWORD, USERNAME, send_events
from chatrest.webhooks import Event, MessageEvent, ReceiptEvent, UnknownEvent, asgi_app
from chatrest.webhooks.asgi import AsgiApp


async def on_event(event: Event) -> None:
    """Print an event. An error here is answered with 500, and the service delivers the event again."""
    match event:
        case MessageEvent(message=message):
            line = f"{event.trigger}: {message.sender} to {message.receiver}"
        case ReceiptEvent(data=receipt):
            line = f"{event.trigger}: {receipt.sender} has message {receipt.message_id}"
        case UnknownEvent():
            line = f"{event.trigger!a}: {event.reason}"
        case _:
            line = event.trigger
    # A user may write half of a character, which no terminal can show.
    sys.stdout.write(line.encode("utf-8", "backslashreplace").decode() + "\n")


def make_app(environment: Mapping[str, str] = os.environ) -> AsgiApp:
    """Return the application, with the credentials of the environment."""
    return asgi_app(
        on_event, username=environment["WEBHOOK_USERNAME"], password=environment["WEBHOOK_PASSWORD"]
    )


def main(port: str = "") -> None:
    """Serve on loopback, for a proxy in front that has the certificate; without a port, try it out."""
    if not port:
        credentials = {"WEBHOOK_USERNAME": USERNAME, "WEBHOOK_PASSWORD": PASSWORD}
        asyncio.run(send_events(serve_asgi(make_app(credentials))))
        return
    web.run_app(serve_asgi(make_app()), host="127.0.0.1", port=int(port))


# ── aiohttp as the ASGI server: a real one takes `make_app()` as it is ──


def serve_asgi(app: AsgiApp) -> web.Application:
    """Return an aiohttp application that gives every request to `app`, without its lifespan."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return await _answer(app, request)

    server = web.Application()
    server.router.add_route("*", "/{path:.*}", handle)
    return server


async def _answer(app: AsgiApp, request: web.Request) -> web.StreamResponse:
    chunks = _messages(request)
    response = web.StreamResponse()

    async def receive() -> MutableMapping[str, Any]:
        return await anext(chunks, {"type": "http.disconnect"})

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            response.set_status(message["status"])
            response.headers.extend((name.decode(), value.decode()) for name, value in message["headers"])
            await response.prepare(request)
        else:
            await response.write(message.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": f"{request.version.major}.{request.version.minor}",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.raw_path.encode(),
        "query_string": request.query_string.encode(),
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
    }
    await app(scope, receive, send)
    return response


async def _messages(request: web.Request) -> AsyncIterator[MutableMapping[str, Any]]:
    """Yield the messages of a request's body; after them the client counts as gone."""
    try:
        while chunk := await request.content.readany():
            yield {"type": "http.request", "body": chunk, "more_body": True}
    except (ClientError, ConnectionError):
        return
    yield {"type": "http.request", "body": b"", "more_body": False}


if __name__ == "__main__":
    main(*sys.argv[1:])
