"""A list that is read from many positions at once, against the same walk: wall clock time and CPU time.

Wall time: every reply of the service takes a while, and the consumer does nothing; the emulator
runs in the same process. CPU time: a walk on loopback over a server in another process, which answers at
once: each page more that is held at the same time costs CPU, as its memory is out of the processor's cache.
"""

import asyncio
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeAlias

from chatrest import App, AsyncSession, MessageQuery, Walk
from chatrest.emulator import Emulator
from chatrest.emulator.weather import Latency

from .comparison import Comparison, Goal
from .measure import Benchmark, Size, Times, compare_times, turns
from .pages import UID
from .server import ServerProcess

Contestant: TypeAlias = tuple[int, bool]
"""The parts, and True for the order of the walk; 0 parts for the walk itself."""

WALK: Final = "walk"
CONTESTANTS: Final[Mapping[str, Contestant]] = {
    WALK: (0, True),
    "split(4)": (4, True),
    "split(16)": (16, True),
    "split(16, ordered=False)": (16, False),
}
PARTS: Final = 16
DEFAULT: Final = "split(16)"
WALL_GOAL: Final = 0.1
"""The largest allowed ratio of wall time to that of the walk, with `PARTS` parts."""
CPU_GOAL: Final = 1.5
"""The largest allowed ratio of CPU time to that of the walk."""
PAGE: Final = 100
SIZES: Final = (100, 1000)


@asynccontextmanager
async def _alone(walk: Walk[Any]) -> AsyncIterator[Walk[Any]]:
    yield walk


def _items(walk: Walk[Any], contestant: Contestant) -> AbstractAsyncContextManager[Any]:
    parts, ordered = contestant
    return walk.split(parts, ordered) if parts else _alone(walk)


async def _consume(session: AsyncSession, contestant: Contestant, size: int, messages: int) -> None:
    """Read all messages, and check that each came once, in order where that is asked for."""
    query = MessageQuery(per_page=size, affix="append")
    number = total = 0
    is_ordered = contestant[1]
    async with _items(session.messages.list_user(UID, query=query), contestant) as items:
        async for message in items:
            number += 1
            total += int(message.id)
            assert not is_ordered or message.id == str(number)
    assert number == messages, f"{number} messages, {messages} expected"
    assert total == messages * (messages + 1) // 2, "a message came twice"


async def measure_wall(rounds: int, pages: int, latency: float) -> Times:
    """Return the wall clock seconds over `pages` pages; replies take `latency` seconds."""
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    messages = pages * PAGE
    async with (
        Emulator(users=2, messages=messages, groups=0, weather=[Latency(latency)]) as emulator,
        AsyncSession(emulator.app) as session,
    ):
        for name, counts in turns(CONTESTANTS, rounds):
            began = time.perf_counter()
            await _consume(session, CONTESTANTS[name], PAGE, messages)
            if counts:
                times[name].append(time.perf_counter() - began)
    return times


async def measure_cpu(app: App, rounds: int, messages: int) -> dict[int, Times]:
    """Return the CPU seconds over all messages on loopback, by page size."""
    times = {size: {name: list[float]() for name in CONTESTANTS} for size in SIZES}
    async with AsyncSession(app) as session:
        for size, size_times in times.items():
            for name, counts in turns(CONTESTANTS, rounds):
                began = time.process_time()
                await _consume(session, CONTESTANTS[name], size, messages)
                if counts:
                    size_times[name].append(time.process_time() - began)
    return dict(times)


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons in wall time, then those in CPU time."""
    wall = asyncio.run(measure_wall(sizes.rounds, sizes.pages, sizes.latency / 1000))
    with ServerProcess(sizes.messages) as server:
        cpu = asyncio.run(measure_cpu(server.app, sizes.rounds, sizes.messages))
    case = f"{{}}: replies after {sizes.latency} ms"
    rows = _compare(wall, case, "wall ms a page", 1e3 / sizes.pages, WALL_GOAL)
    for size, times in cpu.items():
        case = f"{{}}: no latency, pages of {size}"
        rows += _compare(times, case, "CPU µs a message", 1e6 / sizes.messages, CPU_GOAL)
    return rows


def _compare(times: Times, case: str, unit: str, scale: float, limit: float) -> list[Comparison]:
    return [
        compare_times(
            times,
            name,
            WALK,
            case=case.format(name),
            against="the walk by itself",
            unit=unit,
            scale=scale,
            goal=Goal(limit) if CONTESTANTS[name][0] == PARTS else None,
            is_headline=name == DEFAULT,
        )
        for name in times
        if name != WALK
    ]


BENCHMARK: Final = Benchmark(
    "A list of {pages} pages, and one of {messages} messages without latency, read from many positions",
    "Wall time with latency, CPU time of the client without, medians of {rounds} rounds",
    {
        "rounds": Size("counted rounds", 5, 5),
        "pages": Size("pages of the list in wall time", 100, 60),
        "latency": Size("milliseconds until a reply", 50, 50),
        "messages": Size("messages of the list in CPU time", 20_000, 10_000),
    },
    ("aiohttp", "msgspec"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
