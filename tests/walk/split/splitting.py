"""Lists that are split in tests: fetches that take their time, and loops that look at every cursor."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from chatrest.core.paging.cursor import Cursor
from chatrest.core.replies.decode import Listing
from chatrest.walk.split.split import Split
from chatrest.walk.walk import Walk
from tests.walk.walking import Item

Pairs = tuple[tuple[str, str], ...]
Fetch = Callable[[Pairs], Awaitable[Listing[Item]]]


def in_any_order(fetch: Fetch, seed: int, most: int = 6) -> Fetch:
    """A fetch whose replies come in an order of its own, and which gives the loop a turn where cancelled."""
    dice = random.Random(seed)

    async def suspend(position: Pairs) -> Listing[Item]:
        try:
            for _ in range(dice.randrange(most)):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            raise
        return await fetch(position)

    return suspend


async def read(items: Split[Any] | Walk[Any], pairs: list[tuple[str, str]], count: int = -1) -> None:
    """Add (id, token) of the next `count` items, or of all."""
    if count == 0:
        return
    async for item in items:
        pairs.append((item.id, str(items.cursor)))
        count -= 1
        if count == 0:
            return


async def read_split(walk: Walk[Any], parts: int, *, ordered: bool = True, count: int = -1) -> Any:
    """Return (id, token) of the next `count` items, and the split, which has left nothing behind."""
    pairs: list[tuple[str, str]] = []
    async with walk.split(parts, ordered) as items:
        await read(items, pairs, count)
    await asyncio.sleep(0)  # asyncio closes a generator that was left
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}, asyncio.all_tasks()
    return pairs, items


def ids(pairs: list[tuple[str, str]]) -> list[str]:
    return [text for text, _ in pairs]


def plain(walk: Walk[Any], token: str | None = None) -> list[str]:
    """The ids of the walk, read one page after another, from a token on."""
    items = walk if token is None else walk.at(Cursor.parse(token))
    return [item.id for item in asyncio.run(items.collect())]
