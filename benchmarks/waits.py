"""Waits of calls, in real time: beside a thousand bulk calls, and beside regions and apps that hang.

Three tables. Fairness: the wait of an interactive call while a thousand bulk calls wait. Bulkheads: the
duration of calls to one region while another region hangs, and of calls to one app while other apps of its
region hang. The use of rate limits is in `pace`.

The medians are of calls in turns of idle and hanging rounds, so a busy machine changes both. The worst call
is the first one beside apps that hang: it waits for a moment, until the pool lends places.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from statistics import median
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from chatrest import App, AsyncSession, Pace
from chatrest._telemetry import Attempt, Telemetry
from chatrest.emulator import Emulator, HalfOpen, Latency

from .measure import arguments, count, table, title

T = TypeVar("T")
Run: TypeAlias = Callable[[Coroutine[Any, Any, T]], T]
"""`asyncio.run`, or that of a loop in virtual time."""

LATENCY: Final = 0.02
"""Seconds until the emulator's reply, in the benchmark of waits for a place."""
HANGING_APPS: Final = (1, 5)
_NO_RAMP: Final = Pace(rate=1e6, window=1)  # else bulk calls would begin too slowly to wait for places
_USER: Final = "/users/user-001"
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
        return await _waits(emulator.app, seconds, waiting, concurrency=20, pace=_NO_RAMP)


async def _waits(app: App, seconds: int, waiting: int, **options: Any) -> Waits:
    waits = Waits([], [])

    def listen(record: Telemetry) -> None:
        if isinstance(record, Attempt) and record.error is None:
            lane = waits.interactive if record.template == "/users" else waits.bulk
            lane.append(record.paced + record.queued)

    async def call_interactively(session: AsyncSession) -> None:
        while True:
            await asyncio.sleep(_PAUSE)
            await session.request("GET", "/users")

    async with _session(app, telemetry=listen, **options) as session:
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


async def measure_bulkheads(
    rounds: int, calls: int, waiting: int, *, region: str, apps: int = 1
) -> dict[str, list[float]]:
    """Return the durations of calls to a healthy app in `region`, in turns of two kinds of rounds.

    `idle`: no other calls are made. `hanging`: `waiting` calls to each of `apps` apps of the region `us` are
    never answered.
    """
    durations: dict[str, list[float]] = {"idle": [], "hanging": []}
    async with (
        Emulator(users=2, messages=0, weather=[HalfOpen()]) as hanging,
        Emulator(users=2, messages=0, app_id="healthy") as healthy,
        _session(healthy.app) as session,
    ):
        views = [session.for_app(_app(f"hanging-{number}", hanging, "us")) for number in range(apps)]
        view = session.for_app(_app("healthy", healthy, region))
        await _latencies(view, calls)  # not measured: opens the connections
        for _ in range(rounds):
            durations["idle"] += await _latencies(view, calls)
            async with _hanging(views, waiting):
                durations["hanging"] += await _latencies(view, calls)
    return durations


def _app(app_id: str, emulator: Emulator, region: str) -> App:
    return App(app_id, emulator.app.api_key, region, base_url=emulator.base_url)


@asynccontextmanager
async def _hanging(views: Sequence[AsyncSession], calls: int) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(view.request("GET", _USER)) for view in views for _ in range(calls)]
    await asyncio.sleep(0.2)  # until all possible calls are sent and the others wait for a place
    pool = views[0].pools["us"]
    assert pool.active + pool.waiting == len(tasks)
    try:
        yield
    finally:
        await _cancel(*tasks)


async def _latencies(session: AsyncSession, calls: int) -> list[float]:
    durations: list[float] = []
    clock = asyncio.get_running_loop().time
    for _ in range(calls):
        began = clock()
        await session.request("GET", _USER)
        durations.append(clock() - began)
    return durations


def _session(app: App, **options: Any) -> AsyncSession:
    """Return a session whose time is that of the running loop."""
    clock = asyncio.get_running_loop().time
    return AsyncSession(app, clock=clock, sleep=asyncio.sleep, **options)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# ── tables ──


def _waits_table(seconds: int, waiting: int, run: Run[Waits]) -> str:
    rows = []
    for name, measure in (("a slot, 200 per second", wait_for_slot), ("a place, 20 in all", wait_for_place)):
        waits = run(measure(seconds, waiting))
        for lane, times in waits._asdict().items():
            numbers = (f"{median(times) * 1e3:.1f}", f"{max(times) * 1e3:.1f}") if times else ("", "")
            rows.append((name, lane, str(len(times)), *numbers))
    return table(("waiting for", "lane", "calls", "median ms", "worst ms"), rows)


def _bulkheads_table(others: str, kinds: Mapping[str, dict[str, list[float]]]) -> str:
    rows = []
    for name, durations in kinds.items():
        base = median(durations["idle"])
        for other, times in durations.items():
            ratio = f"{median(times) / base:.2f}" if base else ""  # in virtual time a call may take none
            numbers = (f"{median(times) * 1e3:.2f}", ratio, f"{max(times) * 1e3:.1f}")
            rows.append((f"{name}, {other}", str(len(times)), *numbers))
    return table((others, "calls", "median ms", "ratio", "worst ms"), rows)


def main(argv: Sequence[str] | None = None, run: Run[Any] = asyncio.run) -> None:
    """Print the tables."""
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--waiting", type=count, default=1000, help="calls that wait (1000)")
    parser.add_argument("--hanging", type=count, default=300, help="calls that hang, to each app (300)")
    parser.add_argument("--seconds", type=count, default=6, help="seconds of a fairness run (6)")
    parser.add_argument("--calls", type=count, default=100, help="calls to a healthy app, per round (100)")
    args = parser.parse_args(argv)
    subject = f"Waits before sending, while {args.waiting} bulk tasks call without pause"
    print(title(subject, "wall clock time", "aiohttp"))
    print(_waits_table(args.seconds, args.waiting, run))
    sizes = (args.rounds, args.calls, args.hanging)
    print(f"\nA call to one region while {args.hanging} calls to another one are never answered\n")
    regions = {"a region": run(measure_bulkheads(*sizes, region="eu"))}
    print(_bulkheads_table("the other region", regions))
    print(f"\nA call to one app while {args.hanging} calls to each other app of its region hang\n")
    apps = {
        f"{number} app{'s'[: number > 1]}": run(measure_bulkheads(*sizes, region="us", apps=number))
        for number in HANGING_APPS
    }
    print(_bulkheads_table("the other apps", apps))


if __name__ == "__main__":
    main()
