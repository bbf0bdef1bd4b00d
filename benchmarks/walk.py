"""A typed walk, item by item, over loopback HTTP: chatrest against hand-written clients.

The server is a separate process; only CPU time of the clients' process is measured.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from statistics import median
from time import process_time
from typing import Final

from chatrest.core.hosts import App

from .clients import CHATREST, CLIENTS, Walk
from .measure import Times, arguments, count, ratio, table, title, turns
from .server import ServerProcess

_HAND: Final = next(name for name in CLIENTS if name.startswith("(a)"))
GOALS: Final[Mapping[int, Mapping[str, str]]] = {
    100: dict(zip(CLIENTS, ("", "<= 1.10", "<= 1.40", "<= 0.14"), strict=True)),
    1000: dict(zip(CLIENTS, ("", "<= 1.05", "<= 1.40", "<= 0.14"), strict=True)),
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


def _rows(size: int, times: Times, messages: int) -> list[tuple[str, ...]]:
    return [
        (
            name,
            str(size),
            f"{median(spent) * 1e6 / messages:.2f}",
            f"{ratio(times, name, _HAND):.2f}",
            f"{ratio(times, CHATREST, name):.2f}",
            GOALS[size][name],
        )
        for name, spent in times.items()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = arguments(__doc__, rounds=15)
    parser.add_argument("--messages", type=count, default=20_000, help="messages in the walk (20000)")
    args = parser.parse_args(argv)
    with ServerProcess(args.messages) as server:
        times = asyncio.run(measure_all(server.app, args.rounds, args.messages))
    print(
        title(
            f"A typed walk over {args.messages} messages on loopback, item by item",
            f"CPU seconds of the client per million messages, medians of {args.rounds} rounds",
            "aiohttp",
            "msgspec",
            "httpx",
            "pydantic",
        )
    )
    heads = ("client", "page size", "CPU s per million", "ratio to (a)", "chatrest to it", "goal")
    print(
        table(
            heads,
            (row for size, size_times in times.items() for row in _rows(size, size_times, args.messages)),
        )
    )


if __name__ == "__main__":
    main()
