"""The cost of `session.fan_out` for an item: a page each for many users, against a hand-written loop.

Every user's page of one typed message comes `LATENCY` seconds late, and a thousand are asked for at once.
The hand-written client is aiohttp and msgspec with a semaphore and `asyncio.gather`: a kept session, a
decoder created once, a check of the status, and no retries, no rate limit and no error handling. Its tasks
and results are all in memory at once, those of `fan_out` are not.

A second table shows the memory of a fan-out over items from an asynchronous generator, whose worker sends
nothing: its largest size after a tenth of the items and after all. A third one shows what an app that hangs
does to the items of the others.
"""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from statistics import median
from time import process_time
from typing import Any, Final, TypeAlias

from chatrest import App, AsyncSession

from .measure import Times, arguments, count, ratio, table, title, turns
from .overhead import BARE, LATENCY, OURS, PlainClient, run_server
from .virtual_time import run

MOST_TIMES: Final = 1.3
"""The largest allowed ratio of CPU time to the hand-written loop."""
ORDERED: Final = "chatrest, ordered"
ONE_BY_HAND: Final = "chatrest, by hand with gather"
HANGING: Final = 600.0
"""Seconds, in virtual time, until a call to the hanging app fails."""

Contestant: TypeAlias = Callable[[int], Awaitable[int]]
"""A function that reads a page for each of so many users, and returns the number of messages."""


# ── CPU time ──


def plain(client: PlainClient, at_once: int) -> Contestant:
    """Return the hand-written loop."""

    async def work(users: int) -> int:
        places = asyncio.Semaphore(at_once)

        async def read() -> int:
            async with places:
                return len(await client.late_page())

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


def cpu_rows(times: Times) -> list[tuple[str, ...]]:
    """Return the rows of the first table."""
    return [
        (
            name,
            f"{median(spent) * 1e6:.1f}",
            "" if name == BARE else f"{ratio(times, name, BARE):.2f}",
            f"<= {MOST_TIMES}" if name in (OURS, ORDERED) else "",
        )
        for name, spent in times.items()
    ]


# ── memory ──


async def measure_memory(items: int) -> tuple[int, int]:
    """Return the largest traced size after a tenth of the items and after all, in bytes."""

    async def numbers() -> AsyncIterator[int]:
        for number in range(items):
            yield number

    async def work(number: int) -> int:
        await asyncio.sleep(0)
        return number

    app = App("benchmark", "benchmark-key", base_url="http://127.0.0.1:1/v3")
    early = received = 0
    tracemalloc.start()
    try:
        async with AsyncSession(app).fan_out(numbers(), work, concurrency=1000) as outcomes:
            async for _ in outcomes:
                received += 1
                if received == max(1, items // 10):
                    early = tracemalloc.get_traced_memory()[1]
        assert received == items
        return early, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ── an app that hangs ──


async def measure_hanging(users: int, at_once: int, *, grouped: bool) -> float:
    """Return the seconds, in virtual time, until two healthy apps are done beside one that hangs."""
    loop = asyncio.get_running_loop()

    async def work(item: tuple[str, int]) -> None:
        await asyncio.sleep(HANGING if item[0] == "a" else LATENCY)

    app = App("benchmark", "benchmark-key", base_url="http://127.0.0.1:1/v3")
    items = [(name, number) for number in range(users // 3) for name in "abc"]
    healthy = 2 * (users // 3)
    group = (lambda item: item[0]) if grouped else None
    async with AsyncSession(app, clock=loop.time).fan_out(
        items, work, concurrency=at_once, group=group
    ) as outcomes:
        async for outcome in outcomes:
            healthy -= outcome.item[0] != "a"
            if not healthy:
                break
    return loop.time()


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--users", type=count, default=10_000, help="users, a page each (10000)")
    parser.add_argument("--at-once", type=count, default=1000, help="users at once (1000)")
    parser.add_argument("--items", type=count, default=1_000_000, help="items for the memory (1000000)")
    args = parser.parse_args(argv)
    with run_server() as app:
        times = asyncio.run(measure_cpu(app, args.rounds, args.users, args.at_once))
    subject = f"A page for each of {args.users} users, {args.at_once} at once, {LATENCY * 1e3:.0f} ms late"
    method = f"CPU time of the client per user, medians of {args.rounds} rounds"
    print(title(subject, method, "aiohttp", "msgspec"))
    print(table(("client", "µs per user", "ratio", "goal"), cpu_rows(times)))
    print()
    gc.collect()
    early, late = asyncio.run(measure_memory(args.items))
    sizes = [(f"{args.items // 10:,}", f"{early / 1e6:.2f}"), (f"{args.items:,}", f"{late / 1e6:.2f}")]
    print(table(("items", "largest size, MB"), sizes))
    print()
    rows: list[tuple[Any, ...]] = []
    for name, grouped in (("without group=", False), ("group=app", True)):
        seconds = run(measure_hanging(5000, 100, grouped=grouped))
        rows.append((name, f"{seconds:,.1f}"))
    print(table(("5000 users of three apps, one hangs", "seconds until the others are done"), rows))


if __name__ == "__main__":
    main()
