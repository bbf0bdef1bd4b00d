"""The aiohttp.web handler on a real socket: what is refused, and how much of a request is read."""

import asyncio
import gzip
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from chatrest.webhooks import aiohttp_handler
from tests.support.virtual_time import virtual
from tests.webhooks.asgi_client import HELLO, PASSWORD, USERNAME, Handler, basic

pytestmark = pytest.mark.usefixtures("tidy")


def application(handler: Any, **options: Any) -> web.Application:
    app = web.Application()
    app.router.add_route("*", "/", aiohttp_handler(handler, username=USERNAME, password=PASSWORD, **options))
    return app


@asynccontextmanager
async def connected(handler: Any, **options: Any) -> AsyncIterator[TestClient[Any, Any]]:
    async with TestClient(TestServer(application(handler, **options))) as client:
        yield client


AUTHORIZATION = {"Authorization": basic()}


async def test_an_event_is_handled_and_answered() -> None:
    handler = Handler()
    async with connected(handler) as client:
        for _ in range(2):
            response = await client.post("/", data=HELLO, headers=AUTHORIZATION)
            assert (response.status, await response.text()) == (200, "")
    assert [event.raw for event in handler.events] == [HELLO, HELLO]


@pytest.mark.parametrize(
    ("method", "body", "headers", "status"),
    [
        ("POST", HELLO, {"Authorization": basic(password="wrong")}, 401),
        ("POST", gzip.compress(HELLO, mtime=0), AUTHORIZATION | {"Content-Encoding": "gzip"}, 415),
        ("POST", b" " * 2001, AUTHORIZATION, 413),
    ],
)
async def test_a_request_that_is_not_a_delivery_is_refused(
    method: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    handler = Handler()
    async with connected(handler, max_body_bytes=2000) as client:
        response = await client.request(method, "/", data=body, headers=headers)
        assert response.status == status
        assert ("WWW-Authenticate" in response.headers) == (status == 401)
        assert await response.text() != ""
    assert handler.events == []


@pytest.mark.parametrize("seconds", [0.5, 0.0])
@virtual
async def test_the_server_closes_an_unauthenticated_endless_request(seconds: float) -> None:
    """In silence it waits half a second; of a stream it reads a little more than a MiB."""
    handler = Handler()
    async with TestServer(application(handler)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n")
        sending = asyncio.create_task(stream(writer)) if not seconds else None
        answer = await reader.readuntil(b"\r\n\r\n")
        with suppress(ConnectionError):
            await reader.read()
        assert asyncio.get_running_loop().time() == seconds
        if sending is not None:
            await sending
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"Connection: close" in answer
    assert handler.events == []


async def stream(writer: asyncio.StreamWriter) -> None:
    """Send chunks until the server hangs up, which it must do before 50 MB."""
    with suppress(ConnectionError):
        for _ in range(5000):
            writer.write(b"2710\r\n" + b" " * 10_000 + b"\r\n")
            await writer.drain()
        pytest.fail("the server has read 50 MB of a stranger's body")


async def test_a_body_of_unknown_length_is_read_up_to_the_cap() -> None:
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100_000_000:
            sent += 10_000
            yield b" " * 10_000

    async with connected(Handler(), max_body_bytes=50_000) as client:
        try:
            response = await client.post("/", data=body(), headers=AUTHORIZATION)
        except OSError:  # the server had hung up before the client read the answer
            pass
        else:
            assert response.status == 413
    assert sent < 100_000_000


def test_only_the_aiohttp_handler_imports_aiohttp() -> None:
    code = (
        "import sys, chatrest\n"
        "assert not [name for name in sys.modules if name.startswith('chatrest.webhooks')]\n"
        "from chatrest.webhooks import *\n"
        "authorized({}, 'u', 'p'), asgi_app(print, username='u', password='p')\n"
        "assert 'aiohttp' not in sys.modules\n"
        "aiohttp_handler(print, username='u', password='p')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], timeout=120, check=True)
