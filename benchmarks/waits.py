"""Waits of calls, in real time: beside a thousand bulk calls, and beside regions and apps that hang.

Fairness: the wait of an interactive call against that of the bulk calls which wait, too. Bulkheads: the
duration of calls to one region while another region hangs, and of calls to one app while other apps of its
region hang, against the same calls without, in turns of idle and hanging rounds: a busy machine changes both.
The use of rate limits is in `pace`.
"""

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from statistics import median
from typing import Any, Final, TypeAlias

from chatrest import App, AsyncSession, Pace
from chatrest._telemetry import Attempt, Telemetry
from chatrest._texts import plural
from chatrest.emulator import Emulator, HalfOpen, Latency

from .comparison import Comparison
from .measure import Benchmark, Size

LATENCY: Final = 0.02
"""Seconds until the emulator's reply, in the benchmark of waits for a place."""
HANGING_APPS: Final = (1, 5)
_NO_RAMP: Final = Pace(rate=1e6, window=1)  # else bulk calls would begin too slowly to wait for places
_USER: Final = "/users/user-001"
_PAUSE: Final = 0.05  # seconds between the interactive calls


Waits: TypeAlias = dict[str, list[float]]
"""Seconds that calls waited before they were sent, by priority."""


async def wait_for_slot(seconds: int, waiting: int) -> Waits:
    """Return the waits while `waiting` bulk tasks wait for slots at a rate of 200 calls per second."""
    async with Emulator(users=2, messages=0) as emulator:
        return await _waits(emulator.app, seconds, waiting, pace=Pace(rate=200, window=1))


async def wait_for_place(seconds: int, waiting: int) -> Waits:
    """Return the waits while `waiting` bulk tasks wait for one of 20 places."""
    async with Emulator(users=2, messages=0, weather=[Latency(LATENCY)]) as emulator:
        return await _waits(emulator.app, seconds, waiting, concurrency=20, pace=_NO_RAMP)


async def _waits(app: App, seconds: int, waiting: int, **options: Any) -> Waits:
    waits: Waits = {"interactive": [], "bulk": []}

    def listen(record: Telemetry) -> None:
        if isinstance(record, Attempt) and record.error is None:
            waits["interactive" if record.template == "/users" else "bulk"].append(
                record.paced + record.queued
            )

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
        AsyncSession(healthy.app) as session,
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


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _compare(case: str, against: str, ours: list[float], other: list[float]) -> Comparison:
    figures = median(ours) * 1e3, median(other) * 1e3
    return Comparison(
        case=case, against=against, unit="wall ms", ours=figures[0], other=figures[1],
        ratio=figures[0] / max(figures[1], 1e-6),
    )  # fmt: skip


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons of waits, and then those of calls beside regions and apps that hang."""
    slot = asyncio.run(wait_for_slot(sizes.seconds, sizes.waiting))
    place = asyncio.run(wait_for_place(sizes.seconds, sizes.waiting))
    waits = {"a slot, 200 per second": slot, "a place, 20 in all": place}
    rows = [
        _compare(f"an interactive call waits for {name}", "a bulk call", each["interactive"], each["bulk"])
        for name, each in waits.items()
    ]
    turns = (sizes.rounds, sizes.calls, sizes.hanging)
    hanging = {"another region hangs": asyncio.run(measure_bulkheads(*turns, region="eu"))}
    for count in HANGING_APPS:
        name = f"{plural(count, 'other app')} of its region hang"
        hanging[name] = asyncio.run(measure_bulkheads(*turns, region="us", apps=count))
    return rows + [
        _compare(f"a call while {name}", "the same call alone", each["hanging"], each["idle"])
        for name, each in hanging.items()
    ]


BENCHMARK: Final = Benchmark(
    "Calls beside {waiting} bulk tasks that call without pause, or beside {hanging} calls that hang",
    "wall clock time, medians",
    {
        "rounds": Size("turns of idle and hanging", 5, 2),
        "waiting": Size("calls that wait", 1000, 300),
        "hanging": Size("calls that hang, to each app", 300, 110),
        "seconds": Size("seconds of a fairness run", 6, 3),
        "calls": Size("calls to a healthy app, per round", 100, 50),
    },
    ("aiohttp",),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
