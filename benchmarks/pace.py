"""The use of rate limits of every kind, in virtual time.

Tasks call without pause, against an emulator with a limit. Each limit is announced in three ways: by all
headers, by `Retry-After` on a 429 alone, and not at all. Compared are what was used of the limit once the
client has settled, and which share of the requests was answered 429; of each way the worst limit is a row. A
limit that changes does so in the middle of the counted time. Where sessions share a limit, each has its own
tasks, and the session with the fewest calls is compared with the one with the most.

The last row: the very first reply is a stray 429, all others are 200, and calls are made one after another.

All times are virtual: neither computing nor loopback takes any, see `virtual_time`.
"""

import asyncio
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from multiprocessing import get_context
from random import Random
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import structs

from chatrest import AsyncSession, RateLimitError
from chatrest.emulator import Emulator, First, Latency, RateLimit, Status
from chatrest.emulator.limits import Spelling
from tests.support.virtual_time import run

from .comparison import Comparison, Goal
from .measure import Benchmark, Size

Lane: TypeAlias = Literal["interactive", "bulk"]
Announcement: TypeAlias = Literal["headers", "Retry-After", "nothing"]

MIN_USED: Final = 0.9
MAX_REFUSED: Final = 0.02
MIN_OF_MAX: Final = 1 / 3
STRAY_CALLS: Final = 50
STRAY_SECONDS: Final = 20
"""The goal for all calls, where the stray 429 names no time."""
STRAY_SEEDS: Final = 5
"""The sessions, each with dice of its own, of which the slowest counts."""
SPELLINGS: Final[Mapping[Announcement, Spelling]] = {
    "headers": "b",
    "Retry-After": "retry-after",
    "nothing": "none",
}
TASKS: Final = 40
EPOCH: Final = 1_700_000_040
"""The emulator's time at the start: the beginning of a minute, at which windows begin."""
_USER: Final = "/users/user-001"
_PAUSE: Final = 0.1  # seconds after a call that was given up, as time stands still while nothing waits


class Row(NamedTuple):
    """One limit, and who calls."""

    name: str
    limit: RateLimit
    later: RateLimit | None = None
    """The limit in the second half of the counted time, where it changes."""
    sessions: int = 1
    """Each with tasks of its own."""
    lane: Lane = "interactive"
    latency: float = 0.0
    """Seconds until each reply."""

    def allowed(self, seconds: float) -> float:
        """Return the requests that the limit allows in a counted time of `seconds`."""
        limits = (self.limit, self.later or self.limit)
        return sum(limit.per_window / limit.window * seconds / 2 for limit in limits)


def _bucket(rate: int, burst: int = 20) -> RateLimit:
    return RateLimit(kind="bucket", per_window=rate, window=1, burst=burst)


def _fixed(requests: int, window: float) -> RateLimit:
    return RateLimit(kind="fixed", per_window=requests, window=window)


def _sliding(requests: int, window: float) -> RateLimit:
    return RateLimit(kind="sliding", per_window=requests, window=window)


ROWS: Final = (
    Row("bucket 100/s, burst 20", _bucket(100)),
    Row("bucket 5/s, burst 5", _bucket(5, 5)),
    Row("bucket 300/s, burst 300", _bucket(300, 300)),
    Row("fixed 100 in 1 s", _fixed(100, 1)),
    Row("fixed 500 in 10 s", _fixed(500, 10)),
    Row("fixed 500 in 60 s", _fixed(500, 60)),
    Row("fixed 6000 in 60 s", _fixed(6000, 60)),
    Row("sliding 10 in 1 s", _sliding(10, 1)),
    Row("sliding 400 in 5 s", _sliding(400, 5)),
    Row("sliding 1200 in 60 s", _sliding(1200, 60)),
    Row("bucket 50/s, then 150/s", _bucket(50), _bucket(150)),
    Row("bucket 200/s, then 100/s", _bucket(200), _bucket(100)),
    Row("two sessions, bucket 100/s", _bucket(100), sessions=2),
    Row("bulk, bucket 100/s", _bucket(100), lane="bulk"),
    Row("replies 0.2 s late, bucket 100/s", _bucket(100), latency=0.2),
    Row("replies 2 s late, bucket 10/s", _bucket(10), latency=2.0),
)


class Result(NamedTuple):
    """The use of a limit in the counted time."""

    used: float
    """The share of the limit."""
    refused: float
    """The share of the requests that were answered 429."""
    accepted: tuple[int, ...]
    """The calls that each session got an accepted reply for."""

    @property
    def least_of_most(self) -> float:
        """The calls of the session with the fewest, as a share of the one with the most."""
        return min(self.accepted) / max(1, *self.accepted)

    @property
    def is_good(self) -> bool:
        """True where every goal is reached."""
        return self.used >= MIN_USED and self.refused <= MAX_REFUSED and self.least_of_most >= MIN_OF_MAX


async def measure_limit(row: Row, announced: Announcement, settle: int, counted: int) -> Result:
    """Return the use of a row's limit in `counted` seconds, after `settle` others."""
    async with AsyncExitStack() as stack:
        emulator = await stack.enter_async_context(_emulator(row, announced))
        sessions = [_session(emulator, number, row.lane) for number in range(row.sessions)]
        readers = [_Readers(await stack.enter_async_context(session)) for session in sessions]
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(each.call()) for each in readers for _ in range(TASKS)]
            await asyncio.sleep(settle)
            for each in readers:
                each.accepted = 0
            allowed, refused = emulator.limited.allowed, emulator.limited.refused
            await asyncio.sleep(counted / 2)
            if row.later is not None:
                emulator.limit = _announce(row.later, announced)
            await asyncio.sleep(counted / 2)
            allowed, refused = emulator.limited.allowed - allowed, emulator.limited.refused - refused
            for task in running:
                task.cancel()
    return Result(
        allowed / row.allowed(counted),
        refused / max(1, allowed + refused),
        tuple(each.accepted for each in readers),
    )


class _Readers:
    """The tasks of one session, and how many accepted replies they got since counting began."""

    def __init__(self, session: AsyncSession) -> None:
        self.accepted = 0
        self._session = session

    async def call(self) -> None:
        """Call without pause, for ever."""
        while True:
            try:
                await self._session.request("GET", _USER)
            except RateLimitError:
                await asyncio.sleep(_PAUSE)
            else:
                self.accepted += 1


def _emulator(row: Row, announced: Announcement) -> Emulator:
    weather = [Latency(row.latency)] if row.latency else []
    return Emulator(
        users=2, messages=0, limit=_announce(row.limit, announced), weather=weather, clock=_epoch_clock()
    )


def _session(emulator: Emulator, seed: int, lane: Lane = "interactive") -> AsyncSession:
    clock = asyncio.get_running_loop().time
    dice = Random(seed).random
    return AsyncSession(emulator.app, priority=lane, clock=clock, sleep=asyncio.sleep, dice=dice)


def _announce(limit: RateLimit, announced: Announcement) -> RateLimit:
    return structs.replace(limit, headers=SPELLINGS[announced])


def _epoch_clock() -> Callable[[], float]:
    clock = asyncio.get_running_loop().time
    return lambda: EPOCH + clock()


async def measure_stray(retry_after: str | None, seed: int = 0) -> float:
    """Return the seconds until all calls came back; the first reply is a 429."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    weather = [Status(429, headers=headers, when=First())]
    clock = asyncio.get_running_loop().time
    async with (
        Emulator(users=2, messages=0, weather=weather, clock=_epoch_clock()) as emulator,
        _session(emulator, seed) as session,
    ):
        began = clock()
        for _ in range(STRAY_CALLS):
            await session.request("GET", _USER)
        return clock() - began


def _stray_seconds(retry_after: str | None) -> float:
    """Return the seconds until all calls came back, in the slowest session."""
    return max(run(measure_stray(retry_after, seed)) for seed in range(STRAY_SEEDS))


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons of the use of all limits."""
    results = _measure_limits([(row, each) for each in SPELLINGS for row in ROWS], sizes)
    by_announcement = {each: {row.name: results[row, each] for row in ROWS} for each in SPELLINGS}
    worst = [row for each, used in by_announcement.items() for row in summarise(used, each)]
    return [_count_good(list(results.values())), *worst, _compare_stray()]


def _measure_limits(
    pairs: Sequence[tuple[Row, Announcement]], sizes: Namespace
) -> dict[tuple[Row, Announcement], Result]:
    """Return the use of limits, measured on all cores: in virtual time none of them slows another one."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        results = pool.map(partial(_measure_pair, sizes.settle, sizes.seconds), pairs)
        return dict(zip(pairs, results, strict=True))


def _measure_pair(settle: int, counted: int, pair: tuple[Row, Announcement]) -> Result:
    return run(measure_limit(*pair, settle, counted))


def _count_good(results: Sequence[Result]) -> Comparison:
    good = sum(result.is_good for result in results)
    return Comparison(
        case=f"rate limits used to {MIN_USED:.0%}, with at most {MAX_REFUSED:.0%} of calls answered 429",
        against=f"all {len(results)} limits",
        unit="limits",
        ours=good,
        other=len(results),
        ratio=good / len(results),
        goal=Goal(1.0, is_least=True),
    )


def summarise(results: Mapping[str, Result], announced: Announcement) -> list[Comparison]:
    """Return the worst use, share of refused calls, and division among sessions of all limits."""
    used = min(results, key=lambda name: results[name].used)
    refused = max(results, key=lambda name: results[name].refused)
    shared = min(results, key=lambda name: results[name].least_of_most)
    announcement = f"announced by {announced}"
    return [
        _share(f"least use of a limit {announcement}: {used}", "the limit", results[used].used,
               Goal(MIN_USED, is_least=True)),
        _share(f"most calls answered 429, limit {announcement}: {refused}", "all calls",
               results[refused].refused, Goal(MAX_REFUSED)),
        _share(f"calls of a session, limit {announcement}: {shared}", "the session with the most",
               results[shared].least_of_most, Goal(MIN_OF_MAX, is_least=True)),
    ]  # fmt: skip


def _share(case: str, against: str, share: float, goal: Goal) -> Comparison:
    return Comparison(
        case=case,
        against=against,
        unit="%",
        ours=share * 100,
        other=100.0,
        ratio=share,
        goal=goal,
    )


def _compare_stray() -> Comparison:
    stray, calm = _stray_seconds(None), _stray_seconds("60")
    return Comparison(
        case=f"{STRAY_CALLS} calls, the first answered by a stray 429",
        against="the same, with Retry-After: 60",
        unit="virtual s",
        ours=stray,
        other=calm,
        ratio=stray / calm,
        goal=Goal(STRAY_SECONDS, "ours"),
    )


BENCHMARK: Final = Benchmark(
    f"{TASKS} tasks per session call without pause",
    "requests counted by the emulator in virtual time, {seconds} seconds after {settle} to settle",
    {
        "settle": Size("seconds before counting", 60, 60),
        "seconds": Size("seconds counted", 300, 60),
    },
    ("aiohttp",),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
