"""A server of files on loopback, for attachments: scripted replies by path, and the requests that came."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer


@dataclass
class FileServer:
    """Files by path; a status in the place of bytes is an error, a text the address of a redirect."""

    files: dict[str, bytes | int | str] = field(default_factory=dict)
    encodings: dict[str, str] = field(default_factory=dict)
    """The header Content-Encoding by path."""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The path and the headers of each request."""
    address: str = ""

    def url(self, path: str) -> str:
        return f"{self.address}{path}"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    async def serve(self, request: web.Request) -> web.Response:
        self.requests.append((request.path, dict(request.headers)))
        content = self.files.get(request.path, 404)
        if isinstance(content, int):
            return web.Response(status=content)
        if isinstance(content, str):
            return web.Response(status=302, headers={"Location": content})
        encoding = self.encodings.get(request.path, "identity")
        if content.startswith(b"<html>"):
            return web.Response(body=content, content_type="text/html")
        return web.Response(body=content, headers={"Content-Encoding": encoding})


@asynccontextmanager
async def file_server() -> AsyncIterator[FileServer]:
    server = FileServer()
    application = web.Application()
    application.router.add_get("/{path:.*}", server.serve)
    async with TestServer(application) as running:
        server.address = str(running.make_url("/")).rstrip("/")
        yield server
