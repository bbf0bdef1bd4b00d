"""A list that is read from many positions at once, against the same walk: wall clock time and CPU time.

Two tables. Wall time: every reply of the service takes a while, and the consumer does nothing; the emulator
runs in the same process. CPU time: a walk on loopback over a server in another process: the cost of looking
out for a slow service, as pages that come at once are read one after another.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from statistics import median
from typing import Any, Final, TypeAlias

from chatrest import App, AsyncSession, MessageQuery, Walk
from chatrest.emulator import Emulator
from chatrest.emulator.weather import Latency

from .measure import Times, arguments, count, ratio, table, title, turns
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
WALL_GOAL: Final = 10.0
"""How many times as fast as the walk `split(16)` has to be."""
CPU_GOAL: Final = 1.2
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


def _wall_rows(times: Times) -> list[tuple[str, ...]]:
    return [
        (
            name,
            f"{median(seconds):.2f}",
            f"{1 / ratio(times, name, WALK):.1f}",
            f">= {WALL_GOAL:.1f}" if CONTESTANTS[name][0] == 16 else "",
        )
        for name, seconds in times.items()
    ]


def _cpu_rows(size: int, times: Times, messages: int) -> list[tuple[str, ...]]:
    return [
        (
            name,
            str(size),
            f"{median(spent) * 1e6 / messages:.2f}",
            f"{ratio(times, name, WALK):.2f}",
            f"<= {CPU_GOAL:.2f}" if CONTESTANTS[name][0] else "",
        )
        for name, spent in times.items()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--pages", type=count, default=100, help="pages of the list in wall time (100)")
    parser.add_argument("--latency", type=count, default=50, help="milliseconds until a reply (50)")
    parser.add_argument("--messages", type=count, default=20_000, help="of the list in CPU time (20000)")
    args = parser.parse_args(argv)
    wall = asyncio.run(measure_wall(args.rounds, args.pages, args.latency / 1000))
    method = f"Wall clock seconds, replies after {args.latency} ms, medians of {args.rounds} rounds"
    print(title(f"A list of {args.pages} pages of {PAGE} messages", method, "aiohttp", "msgspec"))
    print(table(("read by", "seconds", "times as fast", "goal"), _wall_rows(wall)))
    with ServerProcess(args.messages) as server:
        cpu = asyncio.run(measure_cpu(server.app, args.rounds, args.messages))
    method = f"CPU seconds of the client per million messages, medians of {args.rounds} rounds"
    print(f"\nA list of {args.messages} messages on loopback\n{method}\n")
    heads = ("read by", "page size", "CPU s per million", "ratio to the walk", "goal")
    print(table(heads, (row for size in SIZES for row in _cpu_rows(size, cpu[size], args.messages))))


if __name__ == "__main__":
    main()
