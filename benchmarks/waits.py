"""Waits of calls, in real time: for the service's rate limit, for other calls, and with a region that hangs.

Three tables. Limits: tasks call without pause, against emulators with every kind of limit and every spelling
of its headers, all at the same time. The table shows the requests that the emulator allowed and refused after
the first window, in which the client learns the limit. Fairness: the wait of an interactive call while a
thousand bulk calls wait. Bulkheads: the duration of calls to one region while another region hangs.

A limit's window is a minute on services of this kind, and a quarter of that here. It cannot be much shorter:
Retry-After is in whole seconds, so a 429 stops all calls for up to a second too long. That is little of a
minute, but a third of a window of 3 s.
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
"""Seconds until the emulator's reply, in the benchmark of waits for a place."""
_EPOCH: Final = 1_700_000_000
_USER: Final = "/users/user-01"
_PAUSE: Final = 0.05  # seconds between the interactive calls


# ── limits ──


class Sizes(NamedTuple):
    """The sizes of the benchmark of limits; `window` is in seconds."""

    window: int
    windows: int
    per_window: int
    tasks: int
    priority: Priority


class LimitResult(NamedTuple):
    """The use of a limit after its first window."""

    used: float
    """The share of the limit that was used."""
    refused: float
    """The share of requests that were answered 429."""
    first: int
    """The number of requests that were answered 429 in the first window."""


async def measure_limits(sizes: Sizes) -> dict[tuple[Kind, Spelling], LimitResult]:
    """Return the use of every limit, all measured at the same time."""
    pairs: list[tuple[Kind, Spelling]] = [(kind, spelling) for kind in KINDS for spelling in SPELLINGS]
    results = await asyncio.gather(*(_measure_limit(kind, spelling, sizes) for kind, spelling in pairs))
    return dict(zip(pairs, results, strict=True))


async def _measure_limit(kind: Kind, spelling: Spelling, sizes: Sizes) -> LimitResult:
    limit = RateLimit(kind=kind, per_window=sizes.per_window, window=sizes.window, headers=spelling)
    pace = Pace(window=sizes.window)
    # A separate clock, so that the first window begins with the first request.
    clock, length = _clock_from(_EPOCH // sizes.window * sizes.window), sizes.window * (sizes.windows + 1)
    async with (
        Emulator(users=2, messages=0, limit=limit, clock=clock) as emulator,
        AsyncSession(emulator.app, pace=pace, priority=sizes.priority) as session,
    ):
        await _call_repeatedly(length - 0.01, session, sizes.tasks)
        first, *rest = emulator.limited.windows
    allowed, refused = sum(each.allowed for each in rest), sum(each.refused for each in rest)
    share = refused / (allowed + refused) if rest else 0.0
    return LimitResult(allowed / (sizes.windows * sizes.per_window), share, first.refused)


def _clock_from(epoch: float) -> Callable[[], float]:
    began = time.monotonic()
    return lambda: epoch + time.monotonic() - began


async def _call_repeatedly(seconds: float, session: AsyncSession, tasks: int, path: str = _USER) -> None:
    """Call `path` without pause in `tasks` tasks for `seconds` seconds."""

    async def call() -> None:
        while True:
            await session.request("GET", path)

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for _ in range(tasks):
                group.create_task(call())


# ── fairness ──


class Waits(NamedTuple):
    """Seconds that calls waited before they were sent, by priority."""

    interactive: list[float]
    bulk: list[float]


async def wait_for_slot(seconds: int, waiting: int) -> Waits:
    """Return the waits while `waiting` bulk tasks wait for slots at a rate of 200 calls per second."""
    async with Emulator(users=2, messages=0) as emulator:
        return await _waits(emulator.app, seconds, waiting, pace=Pace(rate=12_000))


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


def _limits_table(sizes: Sizes) -> str:
    results = asyncio.run(measure_limits(sizes))
    rows = [
        (
            f"{kind}, {spelling}",
            f"{result.used:.1%}",
            f">= {LEAST_USED:.0%}",
            f"{result.refused:.2%}",
            f"<= {MOST_REFUSED:.0%}",
            str(result.first),
        )
        for (kind, spelling), result in results.items()
    ]
    return table(("limit, headers", "used", "goal", "answered 429", "goal", "429 in the first window"), rows)


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
    parser.add_argument("--window", type=count, default=15, help="seconds of a limit's window (15)")
    parser.add_argument("--windows", type=count, default=4, help="windows counted, after the first (4)")
    parser.add_argument("--per-window", type=count, default=900, help="requests per window (900)")
    parser.add_argument("--tasks", type=count, default=100, help="tasks that call without pause (100)")
    parser.add_argument(
        "--priority", choices=("bulk", "interactive"), default="bulk", help="their priority (bulk)"
    )
    parser.add_argument("--waiting", type=count, default=1000, help="calls that wait or hang (1000)")
    parser.add_argument("--seconds", type=count, default=6, help="seconds of a fairness run (6)")
    parser.add_argument("--calls", type=count, default=100, help="calls to a region, per round (100)")
    args = parser.parse_args(argv)
    sizes = Sizes(args.window, args.windows, args.per_window, args.tasks, args.priority)
    subject = (
        f"{sizes.tasks} {sizes.priority} tasks call without pause; the limit is {sizes.per_window} requests"
    )
    method = f"requests counted by the emulator in {sizes.windows} windows after the first"
    print(title(f"{subject} in {sizes.window} s", method, "aiohttp"))
    print(_limits_table(sizes))
    print(f"\nWaits before sending, while {args.waiting} bulk tasks call without pause\n")
    print(_waits_table(args.seconds, args.waiting))
    print(f"\nA call to one region while {args.waiting} calls to another one are never answered\n")
    print(_bulkheads_table(args.rounds, args.calls, args.waiting))


if __name__ == "__main__":
    main()
