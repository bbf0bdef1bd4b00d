"""A typed walk, item by item, over loopback HTTP: chatrest against clients written by hand.

The server is a process of its own; CPU time is counted in the clients' process alone.
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
from .server import Serving

SIZES: Final = (100, 1000)
_HAND: Final = next(name for name in CLIENTS if name.startswith("(a)"))
GOALS: Final[Mapping[str, str]] = dict(zip(CLIENTS, ("", "<= 1.15", "<= 1.40", "<= 0.14"), strict=True))
"""What chatrest may take at most, as a ratio to each of the others."""


async def _turn(walk: Walk, size: int, expected: list[str]) -> float:
    """CPU seconds of one walk, which has to give just the messages that there are."""
    began = process_time()
    found = [message.id async for message in walk(size)]
    spent = process_time() - began
    assert found == expected, f"{len(found)} messages, {len(expected)} expected, or in another order"
    return spent


async def measured(app: App, rounds: int, messages: int) -> dict[int, Times]:
    """CPU seconds of everyone's walks, by page size."""
    expected = [str(number) for number in range(1, messages + 1)]
    times = {size: {name: list[float]() for name in CLIENTS} for size in SIZES}
    async with AsyncExitStack() as stack:
        walks = {name: await stack.enter_async_context(client(app)) for name, client in CLIENTS.items()}
        for size, its in times.items():
            for name, counts in turns(CLIENTS, rounds):
                spent = await _turn(walks[name], size, expected)
                if counts:
                    its[name].append(spent)
    return dict(times)


def _rows(size: int, times: Times, messages: int) -> list[tuple[str, ...]]:
    return [
        (
            name,
            str(size),
            f"{median(spent) * 1e6 / messages:.2f}",
            f"{ratio(times, name, _HAND):.2f}",
            f"{ratio(times, CHATREST, name):.2f}",
            GOALS[name],
        )
        for name, spent in times.items()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = arguments(__doc__, rounds=15)
    parser.add_argument("--messages", type=count, default=20_000, help="messages in the walk (20000)")
    asked = parser.parse_args(argv)
    with Serving(asked.messages) as server:
        times = asyncio.run(measured(server.app, asked.rounds, asked.messages))
    print(
        title(
            f"A typed walk over {asked.messages} messages on loopback, item by item",
            f"CPU seconds of the client per million messages, medians of {asked.rounds} rounds",
            "aiohttp",
            "msgspec",
            "httpx",
            "pydantic",
        )
    )
    heads = ("client", "page size", "CPU s per million", "ratio to (a)", "chatrest to it", "goal")
    print(table(heads, (row for size, its in times.items() for row in _rows(size, its, asked.messages))))


if __name__ == "__main__":
    main()
