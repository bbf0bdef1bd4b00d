"""The same typed walk by four clients: every message of one user, oldest first, item by item.

Each is written as an experienced user of its libraries would: one kept connection, decoders created once, the
cursor followed until a short page. Only chatrest checks replies, repeats requests and handles errors.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import httpx
import msgspec

from chatrest import App, AsyncSession, MessageQuery

from . import hand, pydantic_models
from .pages import UID

Walk: TypeAlias = Callable[[int], AsyncIterator[Any]]
"""A function that walks all messages, in pages of the given size."""
Client: TypeAlias = Callable[[App], AbstractAsyncContextManager[Walk]]
"""A context manager that opens a client, gives its walk, and closes it."""

_DECODER: Final = msgspec.json.Decoder(hand.TaggedPage)
_BUFFER: Final = 1 << 21


@asynccontextmanager
async def chatrest(app: App) -> AsyncIterator[Walk]:
    """A walk with chatrest."""
    async with AsyncSession(app) as session:

        def walk(size: int) -> AsyncIterator[Any]:
            query = MessageQuery(per_page=size, affix="append")
            return aiter(session.messages.list_user(UID, query=query))

        yield walk


@asynccontextmanager
async def aiohttp_msgspec(app: App) -> AsyncIterator[Walk]:
    """A hand-written walk with aiohttp and msgspec."""
    url, headers = f"{app.chat_url}/users/{UID}/messages", {"apikey": app.api_key}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def walk(size: int) -> AsyncIterator[hand.TaggedMessage]:
            params = {"affix": "append", "perPage": str(size)}
            while True:
                async with session.get(url, params=params) as response:
                    response.raise_for_status()
                    page = _DECODER.decode(await response.read())
                for message in page.data:
                    yield message
                if page.meta.cursor is None or len(page.data) < size:
                    return
                params["id"] = str(page.meta.cursor.id)

        yield walk


@asynccontextmanager
async def streams_msgspec(app: App) -> AsyncIterator[Walk]:
    """A hand-written walk with asyncio streams and msgspec, near the lower limit of the cost."""
    url = urlsplit(app.chat_url)
    assert url.hostname is not None
    reader, writer = await asyncio.open_connection(url.hostname, url.port, limit=_BUFFER)
    rest = f" HTTP/1.1\r\nHost: {url.netloc}\r\napikey: {app.api_key}\r\nAccept: application/json\r\n\r\n"

    async def walk(size: int) -> AsyncIterator[hand.TaggedMessage]:
        target = base = f"GET {url.path}/users/{UID}/messages?affix=append&perPage={size}"
        while True:
            writer.write((target + rest).encode())
            page = _DECODER.decode(await _body(reader))
            for message in page.data:
                yield message
            if page.meta.cursor is None or len(page.data) < size:
                return
            target = f"{base}&id={page.meta.cursor.id}"

    try:
        yield walk
    finally:
        writer.close()
        await writer.wait_closed()


async def _body(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/1.1 200 "):
        raise RuntimeError(f"not a success: {head[:80]!r}")
    length = head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
    return await reader.readexactly(int(length))


@asynccontextmanager
async def httpx_pydantic(app: App) -> AsyncIterator[Walk]:
    """A hand-written walk with httpx and pydantic."""
    url, headers = f"{app.chat_url}/users/{UID}/messages", {"apikey": app.api_key}
    async with httpx.AsyncClient(headers=headers, trust_env=False) as client:

        async def walk(size: int) -> AsyncIterator[Any]:
            params = {"affix": "append", "perPage": str(size)}
            while True:
                response = await client.get(url, params=params)
                response.raise_for_status()
                page = pydantic_models.Page.model_validate_json(response.content)
                for message in page.data:
                    yield message
                if page.meta.cursor is None or len(page.data) < size:
                    return
                params["id"] = str(page.meta.cursor.id)

        yield walk


CHATREST: Final = "chatrest"
BY_HAND: Final = "aiohttp + msgspec by hand"
STREAMS: Final = "raw streams + msgspec"
HTTPX: Final = "httpx + pydantic"
CLIENTS: Final[dict[str, Client]] = {
    CHATREST: chatrest,
    BY_HAND: aiohttp_msgspec,
    STREAMS: streams_msgspec,
    HTTPX: httpx_pydantic,
}
