"""The cost of `session.fan_out` for an item: a page each for many users, against a hand-written loop.

Every user's page of one typed message comes `LATENCY` seconds late, and a thousand are asked for at once.
The hand-written client is aiohttp and msgspec with a semaphore and `asyncio.gather`: a kept session, a
decoder created once, a check of the status, and no retries, no rate limit and no error handling. Its tasks
and results are all in memory at once, those of `fan_out` are not.

The memory of a fan-out is in `memory`.
"""

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from time import process_time
from typing import Final, TypeAlias

from chatrest import App, AsyncSession

from .comparison import Comparison, Goal
from .fixed_server import LATENCY, PlainClient, run_server
from .measure import Benchmark, Size, Times, compare_times, turns

BARE: Final = "aiohttp + msgspec"
OURS: Final = "chatrest"
MAX_TIMES: Final = 1.3
"""The largest allowed ratio of CPU time to the hand-written loop."""
ORDERED: Final = "chatrest, ordered"
ONE_BY_HAND: Final = "chatrest, by hand with gather"

Contestant: TypeAlias = Callable[[int], Awaitable[int]]
"""A function that reads a page for each of so many users, and returns the number of messages."""


# ── CPU time ──


def plain(client: PlainClient, at_once: int) -> Contestant:
    """Return the hand-written loop."""

    async def work(users: int) -> int:
        places = asyncio.Semaphore(at_once)

        async def read() -> int:
            async with places:
                return len(await client.page("late"))

        return sum(await asyncio.gather(*(read() for _ in range(users))))

    return work


def ours(session: AsyncSession, at_once: int, *, ordered: bool) -> Contestant:
    """Return the fan-out."""

    async def read(_: int) -> int:
        return len(await session.messages.list_user("late").limit(1).collect())

    async def work(users: int) -> int:
        async with session.fan_out(range(users), read, concurrency=at_once, ordered=ordered) as outcomes:
            return sum([outcome.result() async for outcome in outcomes])

    return work


def by_hand(session: AsyncSession, at_once: int) -> Contestant:
    """Return the calls of the fan-out, but with a semaphore and `asyncio.gather`."""

    async def work(users: int) -> int:
        places = asyncio.Semaphore(at_once)

        async def read() -> int:
            async with places:
                return len(await session.messages.list_user("late").limit(1).collect())

        return sum(await asyncio.gather(*(read() for _ in range(users))))

    return work


async def measure_cpu(app: App, rounds: int, users: int, at_once: int) -> Times:
    """Return CPU seconds per user, by contestant."""
    times: dict[str, list[float]] = {}
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(PlainClient(app))
        session = await stack.enter_async_context(AsyncSession(app, concurrency=at_once))
        contestants: dict[str, Contestant] = {
            BARE: plain(client, at_once),
            OURS: ours(session, at_once, ordered=False),
            ORDERED: ours(session, at_once, ordered=True),
            ONE_BY_HAND: by_hand(session, at_once),
        }
        times = {name: [] for name in contestants}
        for name, counts in turns(contestants, rounds):
            await contestants[name](min(users, at_once))  # not measured: the connections may have been closed
            began = process_time()
            messages = await contestants[name](users)
            spent = process_time() - began
            assert messages == users
            if counts:
                times[name].append(spent / users)
    return times


def _compare_cpu(times: Times, case: str) -> list[Comparison]:
    return [
        compare_times(
            times,
            name,
            BARE,
            case=f"{name}: {case}",
            against=f"{BARE} with a semaphore and gather",
            unit="CPU µs an item",
            scale=1e6,
            goal=Goal(MAX_TIMES) if name in (OURS, ORDERED) else None,
        )
        for name in times
        if name != BARE
    ]


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons in CPU time."""
    with run_server() as app:
        times = asyncio.run(measure_cpu(app, sizes.rounds, sizes.users, sizes.at_once))
    case = f"a page each for {sizes.users:,} users, {sizes.at_once} at once, {LATENCY * 1e3:.0f} ms late"
    return _compare_cpu(times, case)


BENCHMARK: Final = Benchmark(
    "A page for each of {users} users, {at_once} at once",
    "CPU time of the client per user, medians of {rounds} rounds",
    {
        "rounds": Size("counted rounds", 5, 5),
        "users": Size("users, a page each", 10_000, 10_000),
        "at_once": Size("users at once", 1000, 1000),
    },
    ("aiohttp", "msgspec"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
