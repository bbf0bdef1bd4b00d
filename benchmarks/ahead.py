"""A walk that is read ahead, against the same walk without: wall clock time and CPU time.

Two tables. Wall time: every reply of the service takes a while, and the consumer works as long on each page,
waiting for something else: without `ahead` the two add up. The emulator runs in the same process, and takes
the same CPU time for every row. CPU time: a walk on loopback over a server in another process, whose consumer
does nothing: the cost of the task that reads ahead.
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

Contestant: TypeAlias = int
"""The pages that are read ahead; 0 for a walk without."""

WITHOUT: Final = "without"
CONTESTANTS: Final[Mapping[str, Contestant]] = {WITHOUT: 0, "ahead(pages=1)": 1, "ahead(pages=2)": 2}
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


def _wall_rows(times: Times, pages: int) -> list[tuple[str, ...]]:
    return [
        (
            name,
            f"{median(seconds) * 1000 / pages:.1f}",
            f"{ratio(times, name, WITHOUT):.2f}",
            f"<= {GOAL:.2f}" if name != WITHOUT else "",
        )
        for name, seconds in times.items()
    ]


def _cpu_rows(size: int, times: Times, messages: int) -> list[tuple[str, ...]]:
    return [
        (name, str(size), f"{median(spent) * 1e6 / messages:.2f}", f"{ratio(times, name, WITHOUT):.2f}")
        for name, spent in times.items()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--pages", type=count, default=20, help="pages of the walk in wall time (20)")
    parser.add_argument("--latency", type=count, default=50, help="milliseconds until a reply (50)")
    parser.add_argument("--messages", type=count, default=20_000, help="of the walk in CPU time (20000)")
    args = parser.parse_args(argv)
    wall = asyncio.run(measure_wall(args.rounds, args.pages, args.latency / 1000))
    words = f"{args.pages} pages of {PAGE} messages, with {args.latency} ms of work on each"
    method = f"Wall clock ms per page, replies after {args.latency} ms, medians of {args.rounds} rounds"
    print(title(f"A walk over {words}", method, "aiohttp", "msgspec"))
    heads = ("walk", "ms per page", "ratio to without", "goal")
    print(table(heads, _wall_rows(wall, args.pages)))
    with ServerProcess(args.messages) as server:
        cpu = asyncio.run(measure_cpu(server.app, args.rounds, args.messages))
    method = f"CPU seconds of the client per million messages, medians of {args.rounds} rounds"
    print(f"\nA walk over {args.messages} messages on loopback, without work\n{method}\n")
    heads = ("walk", "page size", "CPU s per million", "ratio to without")
    print(table(heads, (row for size in SIZES for row in _cpu_rows(size, cpu[size], args.messages))))


if __name__ == "__main__":
    main()
