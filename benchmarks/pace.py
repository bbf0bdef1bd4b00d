"""The use of rate limits of every kind, in virtual time.

Tasks call without pause, against an emulator with a limit. Each limit is announced in three ways: by all
headers, by `Retry-After` on a 429 alone, and not at all. The table shows what was used of the limit once the
client has settled, which share of the requests was answered 429, and the longest time without any accepted
reply. A limit that changes does so in the middle of the counted time. Where sessions share a limit, each has
its own tasks, and the table shows the session with the fewest calls against the one with the most.

A second table: the very first reply is a stray 429, all others are 200, and calls are made one after another.

All times are virtual: neither computing nor loopback takes any, see `virtual_time`.
"""

import asyncio
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from itertools import pairwise
from multiprocessing import get_context
from random import Random
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import structs

from chatrest import AsyncSession, RateLimitError
from chatrest.emulator import Emulator, First, Latency, RateLimit, Status
from chatrest.emulator.limits import Spelling
from tests.virtual_time import run

from .comparison import Comparison, Goal
from .measure import count, table, title

Lane: TypeAlias = Literal["interactive", "bulk"]
Announcement: TypeAlias = Literal["headers", "Retry-After", "nothing"]

LEAST_USED: Final = 0.9
MOST_REFUSED: Final = 0.02
LEAST_OF_MOST: Final = 1 / 3
STRAY_CALLS: Final = (2, 10, 50)
STRAY_SECONDS: Final = 20
"""The goal for the last of `STRAY_CALLS`, where the stray 429 names no time."""
STRAY_SEEDS: Final = 5
"""The sessions, each with dice of its own, of which the slowest counts."""
SPELLINGS: Final[Mapping[Announcement, Spelling]] = {
    "headers": "b",
    "Retry-After": "retry-after",
    "nothing": "none",
}
TASKS: Final = 40
SETTLED: Final = 60
"""Seconds until counting begins, where the results of all benchmarks are compared."""
FULL_SECONDS: Final = 300
EPOCH: Final = 1_700_000_040
"""The emulator's time at the start: the beginning of a minute, at which windows begin."""
_USER: Final = "/users/user-001"
_PAUSE: Final = 0.1  # seconds after a call that was given up, as time stands still while nothing waits


class Span(NamedTuple):
    """Whole seconds of virtual time."""

    settle: int
    """Before the counting."""
    counted: int


SHORT: Final = Span(20, 40)
LONG: Final = Span(60, 60)
CHANGING: Final = Span(20, 80)


class Row(NamedTuple):
    """One limit, and who calls."""

    name: str
    limit: RateLimit
    later: RateLimit | None = None
    """The limit in the second half of the counted time, where it changes."""
    span: Span = SHORT
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
    Row("fixed 500 in 60 s", _fixed(500, 60), span=LONG),
    Row("fixed 6000 in 60 s", _fixed(6000, 60), span=LONG),
    Row("sliding 10 in 1 s", _sliding(10, 1)),
    Row("sliding 400 in 5 s", _sliding(400, 5)),
    Row("sliding 1200 in 60 s", _sliding(1200, 60), span=LONG),
    Row("bucket 50/s, then 150/s", _bucket(50), _bucket(150), span=CHANGING),
    Row("bucket 200/s, then 100/s", _bucket(200), _bucket(100), span=CHANGING),
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
    gap: float
    """The longest time without an accepted reply, in seconds."""
    failed: int
    """The calls that raised `RateLimitError`."""
    accepted: tuple[int, ...]
    """The calls that each session got an accepted reply for."""

    @property
    def least_of_most(self) -> float:
        """The calls of the session with the fewest, as a share of the one with the most."""
        return min(self.accepted) / max(1, *self.accepted)

    @property
    def is_good(self) -> bool:
        """True where every goal is reached."""
        return (
            self.used >= LEAST_USED and self.refused <= MOST_REFUSED and self.least_of_most >= LEAST_OF_MOST
        )


# ── limits ──


async def measure_limit(row: Row, announced: Announcement, tasks: int, seed: int = 0) -> Result:
    """Return the use of a row's limit by `tasks` tasks a session, whose dice begin with `seed`."""
    span = row.span
    async with AsyncExitStack() as stack:
        emulator = await stack.enter_async_context(_emulator(row, announced))
        sessions = [_session(emulator, seed + number, row.lane) for number in range(row.sessions)]
        readers = [_Readers(await stack.enter_async_context(session)) for session in sessions]
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(each.call()) for each in readers for _ in range(tasks)]
            await asyncio.sleep(span.settle)
            allowed, refused = _start_counting(emulator, readers)
            await asyncio.sleep(span.counted / 2)
            if row.later is not None:
                emulator.limit = _announce(row.later, announced)
            await asyncio.sleep(span.counted / 2)
            allowed, refused = emulator.limited.allowed - allowed, emulator.limited.refused - refused
            gap = _longest_gap(readers, asyncio.get_running_loop().time() - span.counted)
            for task in running:
                task.cancel()
    return Result(
        allowed / row.allowed(span.counted),
        refused / max(1, allowed + refused),
        gap,
        sum(each.failed for each in readers),
        tuple(len(each.accepted) for each in readers),
    )


class _Readers:
    """The tasks of one session, and the times of what they got since counting began."""

    def __init__(self, session: AsyncSession) -> None:
        self.accepted: list[float] = []
        self.failed = 0
        self._session = session
        self._clock = asyncio.get_running_loop().time

    async def call(self) -> None:
        """Call without pause, for ever."""
        while True:
            try:
                await self._session.request("GET", _USER)
            except RateLimitError:
                self.failed += 1
                await asyncio.sleep(_PAUSE)
            else:
                self.accepted.append(self._clock())


def _start_counting(emulator: Emulator, readers: Sequence[_Readers]) -> tuple[int, int]:
    for each in readers:
        each.accepted.clear()
        each.failed = 0
    return emulator.limited.allowed, emulator.limited.refused


def _longest_gap(readers: Sequence[_Readers], begin: float) -> float:
    """Return the longest time without an accepted reply of any session, from `begin` to now."""
    times = [begin, *sorted(at for each in readers for at in each.accepted)]
    times.append(asyncio.get_running_loop().time())
    return max(after - before for before, after in pairwise(times))


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


# ── a stray 429 ──


async def measure_stray(retry_after: str | None, seed: int = 0) -> list[float]:
    """Return the seconds from the first call until each one came back; the first reply is a 429."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    weather = [Status(429, headers=headers, when=First())]
    times: list[float] = []
    clock = asyncio.get_running_loop().time
    async with (
        Emulator(users=2, messages=0, weather=weather, clock=_epoch_clock()) as emulator,
        _session(emulator, seed) as session,
    ):
        began = clock()
        for _ in range(max(STRAY_CALLS)):
            await session.request("GET", _USER)
            times.append(clock() - began)
    return times


# ── tables ──


def _limit_cells(row: Row, announced: Announcement, result: Result) -> tuple[str, ...]:
    shared = (f"{result.least_of_most:.2f}", f">= {LEAST_OF_MOST:.2f}") if row.sessions > 1 else ("", "")
    return (
        row.name,
        announced,
        f"{result.used:.1%}",
        f">= {LEAST_USED:.0%}",
        f"{result.refused:.2%}",
        f"<= {MOST_REFUSED:.0%}",
        f"{result.gap:.2f}",
        str(result.failed),
        *shared,
    )


def _limits_table(rows: Sequence[Row], announced: Sequence[Announcement], tasks: int, seed: int) -> str:
    pairs = [(row, each) for row in rows for each in announced]
    results = [run(measure_limit(*pair, tasks, seed)) for pair in pairs]
    heads = ("limit", "announced by", "used", "goal", "429", "goal", "gap s", "raised", "least/most", "goal")
    cells = [_limit_cells(*pair, result) for pair, result in zip(pairs, results, strict=True)]
    good = sum(result.is_good for result in results)
    return f"{table(heads, cells)}\n\n{good} of {len(results)} reach every goal"


def _stray_times(retry_after: str | None) -> list[float]:
    """Return the seconds until each of `STRAY_CALLS` came back, in the slowest session."""
    times = [run(measure_stray(retry_after, seed)) for seed in range(STRAY_SEEDS)]
    return [max(each[number - 1] for each in times) for number in STRAY_CALLS]


def _stray_table() -> str:
    rows = []
    for name, retry_after, goal in (
        ("no Retry-After", None, f"<= {STRAY_SECONDS}"),
        ("Retry-After: 60", "60", ""),
    ):
        slowest = _stray_times(retry_after)
        rows.append((name, *(f"{seconds:.1f}" for seconds in slowest), goal))
    return table(("the stray 429 has", *(f"call {number}, s" for number in STRAY_CALLS), "goal"), rows)


# ── the comparisons ──


def compare(short: bool) -> list[Comparison]:
    """Return the comparisons of the use of all limits, after `SETTLED` seconds."""
    counted = {row: row.span.counted if short else FULL_SECONDS for row in ROWS}
    rows = [row._replace(span=Span(SETTLED, seconds)) for row, seconds in counted.items()]
    results = _measure_limits([(row, each) for each in SPELLINGS for row in rows])
    by_announcement = {each: {row.name: results[row, each] for row in rows} for each in SPELLINGS}
    worst = [row for each, used in by_announcement.items() for row in summarise(used, each)]
    return [_count_good(list(results.values())), *worst, _compare_stray()]


def _measure_limits(pairs: Sequence[tuple[Row, Announcement]]) -> dict[tuple[Row, Announcement], Result]:
    """Return the use of limits, measured on all cores: in virtual time none of them slows another one."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return dict(zip(pairs, pool.map(_measure_pair, pairs), strict=True))


def _measure_pair(pair: tuple[Row, Announcement]) -> Result:
    return run(measure_limit(*pair, TASKS))


def _count_good(results: Sequence[Result]) -> Comparison:
    good = sum(result.is_good for result in results)
    return Comparison(
        case=f"rate limits used to {LEAST_USED:.0%}, with at most {MOST_REFUSED:.0%} of calls answered 429",
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
               Goal(LEAST_USED, is_least=True)),
        _share(f"most calls answered 429, limit {announcement}: {refused}", "all calls",
               results[refused].refused, Goal(MOST_REFUSED)),
        _share(f"calls of a session, limit {announcement}: {shared}", "the session with the most",
               results[shared].least_of_most, Goal(LEAST_OF_MOST, is_least=True)),
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
    stray, calm = (max(_stray_times(after)) for after in (None, "60"))
    return Comparison(
        case=f"{max(STRAY_CALLS)} calls, the first answered by a stray 429",
        against="the same, with Retry-After: 60",
        unit="virtual s",
        ours=stray,
        other=calm,
        ratio=stray / calm,
        goal=Goal(STRAY_SECONDS, "ours"),
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    args = _parser().parse_args(argv)
    rows = [row for row in ROWS if not args.rows or any(text in row.name for text in args.rows)]
    rows = [
        row._replace(span=Span(args.settle or row.span.settle, args.seconds or row.span.counted))
        for row in rows
    ]
    method = "requests counted by the emulator in virtual time, once the client has had time to settle"
    print(title(f"{args.tasks} tasks per session call without pause", method, "aiohttp"))
    print(_limits_table(rows, args.announced, args.tasks, args.seed))
    print(f"\nOne call after another; the first reply is 429; the slowest of {STRAY_SEEDS} sessions\n")
    print(_stray_table())


def _parser() -> ArgumentParser:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=count, default=TASKS, help="tasks that call without pause (40)")
    parser.add_argument("--settle", type=count, help="seconds before counting (20; windows of 60 s: 60)")
    parser.add_argument(
        "--seconds", type=count, help="seconds counted (40; windows of 60 s: 60; changes: 80)"
    )
    parser.add_argument("--rows", type=_row_text, nargs="+", help="limits by a part of their names (all)")
    parser.add_argument("--announced", nargs="+", choices=tuple(SPELLINGS), default=tuple(SPELLINGS))
    parser.add_argument("--seed", type=int, default=0, help="of the sessions' dice (0)")
    return parser


def _row_text(text: str) -> str:
    if not any(text in row.name for row in ROWS):
        names = "; ".join(row.name for row in ROWS)
        raise ArgumentTypeError(f"{text!r}: expected a part of {names}")
    return text


if __name__ == "__main__":
    main()
