"""Waits of calls, in real time: interactive calls beside a thousand bulk calls, and a region that hangs.

Two tables. Fairness: the wait of an interactive call while a thousand bulk calls wait. Bulkheads: the
duration of calls to one region while another region hangs. The use of rate limits is in `pace`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from statistics import median
from typing import Any, Final, NamedTuple

from chatrest import App, AsyncSession, Pace
from chatrest.emulator import Emulator
from chatrest.emulator.weather import HalfOpen, Latency
from chatrest.telemetry import Attempt, Record

from .measure import arguments, count, table, title

LATENCY: Final = 0.02
"""Seconds until the emulator's reply, in the benchmark of waits for a place."""
_USER: Final = "/users/user-01"
_PAUSE: Final = 0.05  # seconds between the interactive calls


# ── fairness ──


class Waits(NamedTuple):
    """Seconds that calls waited before they were sent, by priority."""

    interactive: list[float]
    bulk: list[float]


async def wait_for_slot(seconds: int, waiting: int) -> Waits:
    """Return the waits while `waiting` bulk tasks wait for slots at a rate of 200 calls per second."""
    async with Emulator(users=2, messages=0) as emulator:
        return await _waits(emulator.app, seconds, waiting, pace=Pace(rate=200, window=1))


async def wait_for_place(seconds: int, waiting: int) -> Waits:
    """Return the waits while `waiting` bulk tasks wait for one of 20 places."""
    async with Emulator(users=2, messages=0, weather=[Latency(LATENCY)]) as emulator:
        return await _waits(emulator.app, seconds, waiting, concurrency=20)


async def _waits(app: App, seconds: int, waiting: int, **options: Any) -> Waits:
    waits = Waits([], [])

    def listen(record: Record) -> None:
        if isinstance(record, Attempt) and record.error is None:
            lane = waits.interactive if record.template == "/users" else waits.bulk
            lane.append(record.paced + record.queued)

    async def call_interactively(session: AsyncSession) -> None:
        while True:
            await asyncio.sleep(_PAUSE)
            await session.request("GET", "/users")

    async with AsyncSession(app, telemetry=listen, **options) as session:
        interactive = asyncio.create_task(call_interactively(session))
        await _call_repeatedly(seconds, session.with_options(priority="bulk"), waiting)
        await _cancel(interactive)
    return waits


async def _call_repeatedly(seconds: float, session: AsyncSession, tasks: int) -> None:
    """Call without pause in `tasks` tasks for `seconds` seconds."""

    async def call() -> None:
        while True:
            await session.request("GET", _USER)

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for _ in range(tasks):
                group.create_task(call())


# ── bulkheads ──


async def measure_bulkheads(rounds: int, calls: int, waiting: int) -> dict[str, list[float]]:
    """Return the durations of calls to one region while another is `idle` or `hanging`, in turns."""
    durations: dict[str, list[float]] = {"idle": [], "hanging": []}
    async with (
        Emulator(users=2, messages=0, weather=[HalfOpen()]) as hanging,
        Emulator(users=2, messages=0) as healthy,
        AsyncSession(hanging.app) as session,
    ):
        eu = session.for_app(App("emulated", healthy.app.api_key, "eu", base_url=healthy.base_url))
        await _latencies(eu, calls)  # not measured: opens the connections
        for _ in range(rounds):
            durations["idle"] += await _latencies(eu, calls)
            async with _hanging(session, waiting):
                durations["hanging"] += await _latencies(eu, calls)
    return durations


@asynccontextmanager
async def _hanging(session: AsyncSession, calls: int) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(session.request("GET", _USER)) for _ in range(calls)]
    await asyncio.sleep(0.2)  # until all possible calls are sent and the others wait for a place
    pool = session.pools["us"]
    assert pool.active + pool.waiting == calls
    try:
        yield
    finally:
        await _cancel(*tasks)


async def _latencies(session: AsyncSession, calls: int) -> list[float]:
    durations: list[float] = []
    for _ in range(calls):
        began = time.perf_counter()
        await session.request("GET", _USER)
        durations.append(time.perf_counter() - began)
    return durations


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# ── tables ──


def _waits_table(seconds: int, waiting: int) -> str:
    rows = []
    for name, measure in (("a slot, 200 per second", wait_for_slot), ("a place, 20 in all", wait_for_place)):
        waits = asyncio.run(measure(seconds, waiting))
        for lane, times in waits._asdict().items():
            numbers = (f"{median(times) * 1e3:.1f}", f"{max(times) * 1e3:.1f}") if times else ("", "")
            rows.append((name, lane, str(len(times)), *numbers))
    return table(("waiting for", "lane", "calls", "median ms", "worst ms"), rows)


def _bulkheads_table(rounds: int, calls: int, waiting: int) -> str:
    durations = asyncio.run(measure_bulkheads(rounds, calls, waiting))
    base = median(durations["idle"])
    rows = [
        (other, str(len(times)), f"{median(times) * 1e3:.2f}", f"{median(times) / base:.2f}")
        for other, times in durations.items()
    ]
    return table(("the other region", "calls", "median ms", "ratio"), rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--waiting", type=count, default=1000, help="calls that wait or hang (1000)")
    parser.add_argument("--seconds", type=count, default=6, help="seconds of a fairness run (6)")
    parser.add_argument("--calls", type=count, default=100, help="calls to a region, per round (100)")
    args = parser.parse_args(argv)
    subject = f"Waits before sending, while {args.waiting} bulk tasks call without pause"
    print(title(subject, "wall clock time", "aiohttp"))
    print(_waits_table(args.seconds, args.waiting))
    print(f"\nA call to one region while {args.waiting} calls to another one are never answered\n")
    print(_bulkheads_table(args.rounds, args.calls, args.waiting))


if __name__ == "__main__":
    main()
