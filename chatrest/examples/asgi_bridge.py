"""An ASGI application behind aiohttp.web, so that the example needs no other server."""

from collections.abc import AsyncIterator, MutableMapping
from typing import Any

from aiohttp import ClientError, web

from chatrest.webhooks.asgi import AsgiApp


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
