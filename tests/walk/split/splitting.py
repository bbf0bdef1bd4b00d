"""Lists that are split in tests: fetches that take their time, and loops that look at every cursor."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from chatrest.core.paging.cursor import Cursor
from chatrest.core.replies.decode import Listing
from chatrest.errors import ChatRestError, NotFoundError, PermissionDeniedError, ServerError
from chatrest.models.meta import Meta, Pagination, Position
from chatrest.walk.split.split import Split
from chatrest.walk.walk import Walk
from tests.walk.walking import Item, Service

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


@dataclass
class Strange(Service):
    """A list in which an id that it does not hold is taken in its own way."""

    kind: str = "refuses"
    after: int = 0
    """How many made-up ids it takes as it should before."""
    error: ChatRestError | None = None
    """What it raises in the place of its own error."""

    async def fetch(self, place: Pairs) -> Listing[Item]:
        asked = dict(place)
        is_made_up = "id" in asked and int(asked["id"]) not in self.ids
        self.after -= is_made_up
        if not is_made_up or self.after >= 0:
            return await super().fetch(place)
        self.asked.append(asked)
        return self.answer(asked)

    def answer(self, asked: dict[str, str]) -> Listing[Item]:
        match self.kind:
            case "refuses":
                raise self.error or NotFoundError("no such message")
            case "forbids":
                raise PermissionDeniedError("no such message")
            case "fails":
                raise ServerError("oops")
            case "is empty":
                position = Position(asked["affix"], int(asked["id"]))  # type: ignore[arg-type]
                return Listing([], Meta(Pagination(0, 0, 3, 1, 1), position), b"{}")
            case "ignores":
                return self.marked({name: value for name, value in asked.items() if name != "id"})
            case "begins late":
                step = 7 if asked["affix"] == "append" else -7
                return self.marked(asked | {"id": str(max(1, int(asked["id"]) + step))})
            case _:
                step = -7 if asked["affix"] == "append" else 7
                return self.marked(asked | {"id": str(max(1, int(asked["id"]) + step))})
