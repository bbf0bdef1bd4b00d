"""How calls are held back, in real time: by the service's rate limit, by other calls, by a region that hangs.

Three tables. The limits: tasks that ask without pause, against the emulator with every kind of limit and
every way of telling it, all at the same time; counted is what the emulator allowed and refused after the
first window, in which the limit is learnt. Fairness: how long an interactive call waits while a thousand of
bulk do. Bulkheads: how long a region's calls take while another region hangs.

A limit's window is a minute on services of this kind; here it is a quarter of that. It cannot be made much
shorter: Retry-After is in whole seconds, so a 429 holds all back for up to a second too long. Once in a
minute that is nothing, and in a window of 3 s it is a third of it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from statistics import median
from typing import Any, Final, NamedTuple, get_args

from chatrest import App, AsyncSession
from chatrest.core.pacer import Pace
from chatrest.emulator import Emulator
from chatrest.emulator.limits import SPELLINGS, Kind, RateLimit, Spelling
from chatrest.emulator.weather import HalfOpen, Latency
from chatrest.network.lanes import Priority
from chatrest.telemetry import Attempt, Record

from .measure import arguments, count, table, title

MOST_REFUSED: Final = 0.01
LEAST_USED: Final = 0.95
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
LATENCY: Final = 0.02
"""Seconds that the emulator takes for a reply where calls wait for a place."""
_EPOCH: Final = 1_700_000_000
_USER: Final = "/users/user-01"
_PAUSE: Final = 0.05  # seconds between the interactive calls


# ── limits ──


class Asked(NamedTuple):
    """Sizes of what is measured."""

    window: int
    windows: int
    per_window: int
    tasks: int
    priority: Priority


class Kept(NamedTuple):
    """How a limit was kept, after its first window."""

    used: float
    """The share of the limit that was used."""
    refused: float
    """The share of what was asked that was answered 429."""
    first: int
    """How many were answered 429 in the first window."""


async def limits(asked: Asked) -> dict[tuple[Kind, Spelling], Kept]:
    """How every limit was kept, all of them at the same time."""
    pairs: list[tuple[Kind, Spelling]] = [(kind, told) for kind in KINDS for told in SPELLINGS]
    found = await asyncio.gather(*(_kept(kind, told, asked) for kind, told in pairs))
    return dict(zip(pairs, found, strict=True))


async def _kept(kind: Kind, told: Spelling, asked: Asked) -> Kept:
    limit = RateLimit(kind=kind, per_window=asked.per_window, window=asked.window, headers=told)
    pace = Pace(window=asked.window)
    # A clock of its own: its first window begins with the first request, and nobody waits for a whole minute.
    clock, length = _from(_EPOCH // asked.window * asked.window), asked.window * (asked.windows + 1)
    async with (
        Emulator(users=2, messages=0, limit=limit, clock=clock) as emulator,
        AsyncSession(emulator.app, pace=pace, priority=asked.priority) as session,
    ):
        await _for(length - 0.01, session, asked.tasks)
        first, *rest = emulator.limited.windows
    allowed, refused = sum(each.allowed for each in rest), sum(each.refused for each in rest)
    share = refused / (allowed + refused) if rest else 0.0
    return Kept(allowed / (asked.windows * asked.per_window), share, first.refused)


def _from(epoch: float) -> Callable[[], float]:
    began = time.monotonic()
    return lambda: epoch + time.monotonic() - began


async def _for(seconds: float, session: AsyncSession, tasks: int, path: str = _USER) -> None:
    """So many tasks ask without pause for so long."""

    async def ask() -> None:
        while True:
            await session.request("GET", path)

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for _ in range(tasks):
                group.create_task(ask())


# ── fairness ──


class Waits(NamedTuple):
    """Seconds that calls were held back before they were sent."""

    interactive: list[float]
    bulk: list[float]


async def for_a_turn(seconds: int, waiting: int) -> Waits:
    """While so many of bulk wait for a turn under a rate of 200 a second."""
    async with Emulator(users=2, messages=0) as emulator:
        return await _waits(emulator.app, seconds, waiting, pace=Pace(rate=12_000))


async def for_a_place(seconds: int, waiting: int) -> Waits:
    """While so many of bulk wait for a place in a pool of 20."""
    async with Emulator(users=2, messages=0, weather=[Latency(LATENCY)]) as emulator:
        return await _waits(emulator.app, seconds, waiting, concurrency=20)


async def _waits(app: App, seconds: int, waiting: int, **options: Any) -> Waits:
    waits = Waits([], [])

    def listen(record: Record) -> None:
        if isinstance(record, Attempt) and record.error is None:
            lane = waits.interactive if record.template == "/users" else waits.bulk
            lane.append(record.paced + record.queued)

    async def now_and_then(session: AsyncSession) -> None:
        while True:
            await asyncio.sleep(_PAUSE)
            await session.request("GET", "/users")

    async with AsyncSession(app, telemetry=listen, **options) as session:
        other = asyncio.create_task(now_and_then(session))
        await _for(seconds, session.with_options(priority="bulk"), waiting)
        await _ended(other)
    return waits


# ── bulkheads ──


async def bulkheads(rounds: int, calls: int, waiting: int) -> dict[str, list[float]]:
    """Seconds that calls to one region take, by whether another one hangs; they take turns."""
    took: dict[str, list[float]] = {"idle": [], "hanging": []}
    async with (
        Emulator(users=2, messages=0, weather=[HalfOpen()]) as hangs,
        Emulator(users=2, messages=0) as well,
        AsyncSession(hangs.app) as session,
    ):
        eu = session.for_app(App("emulated", well.app.api_key, "eu", base_url=well.base_url))
        await _latencies(eu, calls)  # not counted: connections are made
        for _ in range(rounds):
            took["idle"] += await _latencies(eu, calls)
            async with _hanging(session, waiting):
                took["hanging"] += await _latencies(eu, calls)
    return took


@asynccontextmanager
async def _hanging(session: AsyncSession, calls: int) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(session.request("GET", _USER)) for _ in range(calls)]
    await asyncio.sleep(0.2)  # what can be sent is sent, and the rest waits for a place
    pool = session.pools["us"]
    assert pool.active + pool.waiting == calls
    try:
        yield
    finally:
        await _ended(*tasks)


async def _latencies(session: AsyncSession, calls: int) -> list[float]:
    took: list[float] = []
    for _ in range(calls):
        began = time.perf_counter()
        await session.request("GET", _USER)
        took.append(time.perf_counter() - began)
    return took


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# ── tables ──


def _shown(asked: Asked) -> str:
    found = asyncio.run(limits(asked))
    rows = [
        (
            f"{kind}, {told}",
            f"{kept.used:.1%}",
            f">= {LEAST_USED:.0%}",
            f"{kept.refused:.2%}",
            f"<= {MOST_REFUSED:.0%}",
            str(kept.first),
        )
        for (kind, told), kept in found.items()
    ]
    return table(("limit, told by", "used", "goal", "answered 429", "goal", "429 in the first window"), rows)


def _shown_waits(seconds: int, waiting: int) -> str:
    rows = []
    for told, wait in (("a turn, 200 a second", for_a_turn), ("a place, 20 in all", for_a_place)):
        waits = asyncio.run(wait(seconds, waiting))
        for lane, held in waits._asdict().items():
            numbers = (f"{median(held) * 1e3:.1f}", f"{max(held) * 1e3:.1f}") if held else ("", "")
            rows.append((told, lane, str(len(held)), *numbers))
    return table(("waiting for", "lane", "calls", "median ms", "worst ms"), rows)


def _shown_bulkheads(rounds: int, calls: int, waiting: int) -> str:
    took = asyncio.run(bulkheads(rounds, calls, waiting))
    base = median(took["idle"])
    rows = [
        (other, str(len(its)), f"{median(its) * 1e3:.2f}", f"{median(its) / base:.2f}")
        for other, its in took.items()
    ]
    return table(("the other region", "calls", "median ms", "ratio"), rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--window", type=count, default=15, help="seconds of a limit's window (15)")
    parser.add_argument("--windows", type=count, default=4, help="windows counted, after the first (4)")
    parser.add_argument("--per-window", type=count, default=900, help="requests a window (900)")
    parser.add_argument("--tasks", type=count, default=100, help="tasks that ask without pause (100)")
    parser.add_argument(
        "--priority", choices=("bulk", "interactive"), default="bulk", help="their lane (bulk)"
    )
    parser.add_argument("--waiting", type=count, default=1000, help="calls that wait or hang (1000)")
    parser.add_argument("--seconds", type=count, default=6, help="seconds of a fairness run (6)")
    parser.add_argument("--calls", type=count, default=100, help="calls to a region, a turn (100)")
    its = parser.parse_args(argv)
    asked = Asked(its.window, its.windows, its.per_window, its.tasks, its.priority)
    told = (
        f"{asked.tasks} {asked.priority} tasks ask without pause, allowed are {asked.per_window} requests in"
    )
    counted = f"what the emulator counted in {asked.windows} windows after the first"
    print(title(f"{told} {asked.window} s", counted, "aiohttp"))
    print(_shown(asked))
    print(f"\nHeld back before sending, while {its.waiting} calls of bulk ask without pause\n")
    print(_shown_waits(its.seconds, its.waiting))
    print(f"\nA call to one region while {its.waiting} calls to another one are never answered\n")
    print(_shown_bulkheads(its.rounds, its.calls, its.waiting))


if __name__ == "__main__":
    main()
