"""A typed walk, item by item, over loopback HTTP: chatrest against hand-written clients.

The server is a separate process; only CPU time of the clients' process is measured.
"""

import asyncio
from argparse import Namespace
from collections.abc import Mapping
from contextlib import AsyncExitStack
from time import process_time
from typing import Final

from chatrest.app import App

from .clients import BY_HAND, CHATREST, CLIENTS, HTTPX, STREAMS, Walk
from .comparison import Comparison, Goal
from .measure import Benchmark, Size, Times, compare_times, turns
from .server import ServerProcess

GOALS: Final[Mapping[int, Mapping[str, float]]] = {
    100: {BY_HAND: 1.1, STREAMS: 1.4, HTTPX: 0.14},
    1000: {BY_HAND: 1.05, STREAMS: 1.4, HTTPX: 0.14},
}
"""The largest allowed ratio of chatrest's time to that of each other client, by page size."""


async def _measure(walk: Walk, size: int, expected: list[str]) -> float:
    """Return the CPU seconds of one walk; it must return exactly the expected messages."""
    began = process_time()
    ids = [message.id async for message in walk(size)]
    spent = process_time() - began
    assert ids == expected, f"{len(ids)} messages, {len(expected)} expected, or in another order"
    return spent


async def measure_all(app: App, rounds: int, messages: int) -> dict[int, Times]:
    """Return the CPU seconds of all clients' walks, by page size."""
    expected = [str(number) for number in range(1, messages + 1)]
    times = {size: {name: list[float]() for name in CLIENTS} for size in GOALS}
    async with AsyncExitStack() as stack:
        walks = {name: await stack.enter_async_context(client(app)) for name, client in CLIENTS.items()}
        for size, size_times in times.items():
            for name, counts in turns(CLIENTS, rounds):
                spent = await _measure(walks[name], size, expected)
                if counts:
                    size_times[name].append(spent)
    return dict(times)


def _compare(size: int, times: Times, messages: int) -> list[Comparison]:
    return [
        compare_times(
            times,
            CHATREST,
            name,
            case=f"a typed walk, pages of {size}",
            against=name,
            unit="CPU µs a message",
            scale=1e6 / messages,
            goal=Goal(GOALS[size][name]),
        )
        for name in times
        if name != CHATREST
    ]


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons for all page sizes."""
    with ServerProcess(sizes.messages) as server:
        times = asyncio.run(measure_all(server.app, sizes.rounds, sizes.messages))
    return [row for size, size_times in times.items() for row in _compare(size, size_times, sizes.messages)]


BENCHMARK: Final = Benchmark(
    "A typed walk over {messages} messages on loopback, item by item",
    "CPU time of the client per message, medians of {rounds} rounds",
    {"rounds": Size("counted rounds", 15, 11), "messages": Size("messages in the walk", 20_000, 20_000)},
    ("aiohttp", "msgspec", "httpx", "pydantic"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
