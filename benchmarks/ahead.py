"""A walk that is read ahead, against the same walk without: wall clock time and CPU time.

Wall time: every reply of the service takes a while, and the consumer works as long on each page,
waiting for something else: without `ahead` the two add up. The emulator runs in the same process, and takes
the same CPU time for every row. CPU time: a walk on loopback over a server in another process, whose consumer
does nothing: the cost of the task that reads ahead.
"""

import asyncio
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeAlias

from chatrest import App, AsyncSession, MessageQuery, Walk
from chatrest.emulator import Emulator, Latency

from .comparison import Comparison, Goal
from .measure import Benchmark, Size, Times, compare_times, turns
from .pages import UID
from .server import ServerProcess

Contestant: TypeAlias = int
"""The pages that are read ahead; 0 for a walk without."""

WITHOUT: Final = "without"
CONTESTANTS: Final[Mapping[str, Contestant]] = {WITHOUT: 0, "ahead(pages=1)": 1, "ahead(pages=2)": 2}
DEFAULT: Final = "ahead(pages=2)"
GOAL: Final = 0.6
"""The largest allowed ratio of wall time to that of the walk without."""
PAGE: Final = 100
SIZES: Final = (100, 1000)


@asynccontextmanager
async def _alone(walk: Walk[Any]) -> AsyncIterator[Walk[Any]]:
    yield walk


def _items(walk: Walk[Any], contestant: Contestant) -> AbstractAsyncContextManager[Walk[Any]]:
    return walk.ahead(contestant) if contestant else _alone(walk)


async def _consume(
    session: AsyncSession, contestant: Contestant, size: int, messages: int, work: float
) -> None:
    """Read all messages, in order, with `work` seconds of waiting after each page of them."""
    query = MessageQuery(per_page=size, affix="append")
    number = 0
    async with _items(session.messages.list_user(UID, query=query), contestant) as items:
        async for message in items:
            number += 1
            assert message.id == str(number)
            if work and number % size == 0:
                await asyncio.sleep(work)
    assert number == messages, f"{number} messages, {messages} expected"


async def measure_wall(rounds: int, pages: int, latency: float) -> Times:
    """Return the wall clock seconds of walks over `pages` pages; replies and work take `latency` seconds."""
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    messages = pages * PAGE
    async with (
        Emulator(users=2, messages=messages, groups=0, weather=[Latency(latency)]) as emulator,
        AsyncSession(emulator.app) as session,
    ):
        for name, counts in turns(CONTESTANTS, rounds):
            began = time.perf_counter()
            await _consume(session, CONTESTANTS[name], PAGE, messages, latency)
            if counts:
                times[name].append(time.perf_counter() - began)
    return times


async def measure_cpu(app: App, rounds: int, messages: int) -> dict[int, Times]:
    """Return the CPU seconds of walks over all messages whose consumer does nothing, by page size."""
    times = {size: {name: list[float]() for name in CONTESTANTS} for size in SIZES}
    async with AsyncSession(app) as session:
        for size, size_times in times.items():
            for name, counts in turns(CONTESTANTS, rounds):
                began = time.process_time()
                await _consume(session, CONTESTANTS[name], size, messages, 0)
                if counts:
                    size_times[name].append(time.process_time() - began)
    return dict(times)


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons in wall time, then those in CPU time."""
    latency = sizes.latency / 1000
    wall = asyncio.run(measure_wall(sizes.rounds, sizes.pages, latency))
    with ServerProcess(sizes.messages) as server:
        cpu = asyncio.run(measure_cpu(server.app, sizes.rounds, sizes.messages))
    case = f"{{}}: replies after {sizes.latency} ms, as long on each page"
    rows = _compare(wall, case, "wall ms a page", 1e3 / sizes.pages, Goal(GOAL))
    for size, times in cpu.items():
        rows += _compare(times, f"{{}}, pages of {size}", "CPU µs a message", 1e6 / sizes.messages)
    return rows


def _compare(times: Times, case: str, unit: str, scale: float, goal: Goal | None = None) -> list[Comparison]:
    return [
        compare_times(
            times,
            name,
            WITHOUT,
            case=case.format(name),
            against="the walk without",
            unit=unit,
            scale=scale,
            goal=goal,
        )
        for name in times
        if name != WITHOUT
    ]


BENCHMARK: Final = Benchmark(
    "A walk over {pages} pages with {latency} ms of work on each, and over {messages} messages without",
    "Wall time with work, CPU time of the client without, medians of {rounds} rounds",
    {
        "rounds": Size("counted rounds", 5, 5),
        "pages": Size("pages of the walk in wall time", 20, 10),
        "latency": Size("milliseconds until a reply", 50, 50),
        "messages": Size("messages of the walk in CPU time", 20_000, 10_000),
    },
    ("aiohttp", "msgspec"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
