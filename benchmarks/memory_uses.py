"""The measured uses of `memory`, each in a process of its own, and the same uses by hand.

`python -m benchmarks.memory_uses USE URL COUNT` runs a use and prints the largest resident size in MB. The
uses by hand are aiohttp and msgspec, with a kept session; their processes do not load chatrest.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .resident import resident

if TYPE_CHECKING:
    import aiohttp

    from chatrest import AsyncSession

Use: TypeAlias = Callable[[str, int], Coroutine[Any, Any, None]]
"""A function of the service's URL and of a number of calls, messages, items or apps."""

KEY: Final = "benchmark-key"
PAGE: Final = 1000
_AT_ONCE: Final = 1000


# ── chatrest ──


@asynccontextmanager
async def _session(url: str) -> AsyncIterator["AsyncSession"]:
    from chatrest import App, AsyncSession, Pace

    app = App("benchmark", KEY, base_url=url)
    async with AsyncSession(app, concurrency=_AT_ONCE, pace=Pace(rate=600_000)) as session:  # no slow start
        yield session


async def idle(url: str, count: int) -> None:
    """Make `count` calls, one after another."""
    async with _session(url) as session:
        for _ in range(count):
            await session.request("GET", "/users/bob")


async def call_at_once(url: str, count: int) -> None:
    """Make `count` calls at once."""
    async with _session(url) as session:
        await asyncio.gather(*(session.request("GET", "/late") for _ in range(count)))


async def walk(url: str, count: int) -> None:
    """Iterate over `count` messages in full pages."""
    from chatrest import MessageQuery

    query = MessageQuery(per_page=PAGE, affix="append")
    async with _session(url) as session:
        await _consume(session.messages.list_user("user-001", query=query).limit(count), count)


async def walk_ahead(url: str, count: int) -> None:
    """Iterate over `count` messages in full pages, read ahead."""
    from chatrest import MessageQuery

    query = MessageQuery(per_page=PAGE, affix="append")
    async with (
        _session(url) as session,
        session.messages.list_user("user-001", query=query).limit(count).ahead() as items,
    ):
        await _consume(items, count)


async def _consume(items: Any, count: int) -> None:
    number = 0
    async for _ in items:
        number += 1
    assert number == count, f"{number} messages, {count} expected"


async def fan_out(url: str, count: int) -> None:
    """Fan out over `count` items of an asynchronous generator, with a worker that sends nothing."""

    async def numbers() -> AsyncIterator[int]:
        for number in range(count):
            yield number

    async def work(number: int) -> int:
        await asyncio.sleep(0)
        return number

    async with (
        _session(url) as session,
        session.fan_out(numbers(), work, concurrency=_AT_ONCE) as outcomes,
    ):
        await _consume(outcomes, count)


async def call_each_app(url: str, count: int) -> None:
    """Make a call for each of `count` apps, one after another, whose views are all kept."""
    from chatrest import App

    async with _session(url) as session:
        views = [session.for_app(App(f"app-{number}", KEY, base_url=url)) for number in range(count)]
        for view in views:
            await view.request("GET", "/users/bob")


# ── by hand ──


@asynccontextmanager
async def _bare(url: str) -> AsyncIterator["aiohttp.ClientSession"]:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers={"apikey": KEY}, connector=connector) as session:
        yield session


async def _read(session: "aiohttp.ClientSession", url: str) -> Any:
    from msgspec.json import decode

    async with session.get(url) as response:
        response.raise_for_status()
        return decode(await response.read())


async def idle_by_hand(url: str, count: int) -> None:
    """Make `count` calls, one after another."""
    async with _bare(url) as session:
        for _ in range(count):
            await _read(session, f"{url}/users/bob")


async def call_at_once_by_hand(url: str, count: int) -> None:
    """Make `count` calls at once."""
    async with _bare(url) as session:
        await asyncio.gather(*(_read(session, f"{url}/late") for _ in range(count)))


async def walk_by_hand(url: str, count: int) -> None:
    """Iterate over `count` messages in full pages."""
    from msgspec.json import Decoder

    from . import hand

    decoder = Decoder(hand.TaggedPage)
    number = 0
    async with _bare(url) as session:
        params = {"affix": "append", "perPage": str(PAGE)}
        while number < count:
            async with session.get(f"{url}/users/user-001/messages", params=params) as response:
                response.raise_for_status()
                page = decoder.decode(await response.read())
            for _ in page.data:
                number += 1
            if len(page.data) < PAGE or page.meta.cursor is None:
                break
            params["id"] = str(page.meta.cursor.id)
    assert number == count, f"{number} messages, {count} expected"


USES: Final[Mapping[str, Use]] = {
    use.__name__: use
    for use in (
        idle,
        call_at_once,
        walk,
        walk_ahead,
        fan_out,
        call_each_app,
        idle_by_hand,
        call_at_once_by_hand,
        walk_by_hand,
    )
}


def main() -> None:
    """Run the use that the arguments name, and print the largest resident size in MB."""
    name, url, count = sys.argv[1:]
    asyncio.run(USES[name](url, int(count)))
    print(resident())


if __name__ == "__main__":
    main()
