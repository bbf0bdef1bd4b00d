"""The use of rate limits by a cluster whose workers share one rate by shares, beside one machine.

Everything is simulated, in virtual time: the limit, workers whose readers call without pause, and messages
of 2 to 10 ms between workers and the coordinator. Each row is the median of several seeds. The tables show
what was used of the limit once the rate was learnt, and the share of the requests that were answered 429.

The first table has workers with equal demand, with one machine that has a pacer of its own beside them. The
second one has uneven and changing demand, clocks that differ, late messages and replies, workers that come,
go and stand still, a limit that changes, and another client at it.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple, get_args

from msgspec import structs

from chatrest.emulator import RateLimit
from tests.distributed.rate_scenes import (
    Setup,
    alone,
    at_random,
    beside_another,
    busy_coordinator,
    busy_worker,
    dying,
    equal,
    in_turn,
    joining,
    late,
    slow,
    sometimes_late,
    uneven,
)
from tests.distributed.rate_simulation import Cluster, Delay, RetryAfter, prompt

from .measure import count, table, title

WORKERS: Final = (1, 4, 16)
SETTLED: Final = 60
"""Seconds in which the rate is learnt."""
SECONDS: Final = 180
"""After that."""
SEEDS: Final = 3


def _limit(kind: str, requests: int, window: float, burst: int | None = None) -> RateLimit:
    return RateLimit(kind=kind, per_window=requests, window=window, burst=burst)  # type: ignore[arg-type]


LIMITS: Final = {
    "bucket 100 in 1 s, burst 20": _limit("bucket", 100, 1, 20),
    "bucket 5 in 1 s, burst 5": _limit("bucket", 5, 1, 5),
    "fixed 100 in 1 s": _limit("fixed", 100, 1),
    "fixed 500 in 10 s": _limit("fixed", 500, 10),
    "fixed 6000 in 60 s": _limit("fixed", 6000, 60),
    "sliding 10 in 1 s": _limit("sliding", 10, 1),
    "sliding 400 in 5 s": _limit("sliding", 400, 5),
    "sliding 1200 in 60 s": _limit("sliding", 1200, 60),
}


_SCENE_LIMITS: Final = ("bucket 100 in 1 s, burst 20", "fixed 500 in 10 s")


class Use(NamedTuple):
    """The use of a limit after it was learnt."""

    used: float
    """The share of the limit."""
    refused: float
    """The share of the requests that were answered 429."""

    def __str__(self) -> str:
        return f"{self.used:.1%}, {self.refused:.2%}"


class Scene(NamedTuple):
    """What workers do, how long messages take, and what becomes of the limit."""

    setup: Setup
    delay: Delay = prompt
    later: float = 1.0
    """How many times the limit is allowed in the second half of the counted time."""


SCENES: Final = {
    "uneven, clocks hours apart": Scene(uneven),
    "one worker at a time, 5 s each": Scene(in_turn),
    "drawn anew every 2 s": Scene(at_random),
    "half of the workers die": Scene(dying),
    "half of the workers join at 120 s": Scene(joining),
    "one worker stands still, up to 5 s": Scene(busy_worker),
    "the coordinator stands still, up to 1 s": Scene(busy_coordinator),
    "replies after 1.5 s": Scene(slow),
    "each tenth message 1 s late": Scene(equal, sometimes_late),
    "all messages 1 s late": Scene(equal, late),
    "another client from 120 s on": Scene(beside_another),
    "the limit doubles": Scene(equal, later=2.0),
    "the limit halves": Scene(equal, later=0.5),
}


class Span(NamedTuple):
    """Seconds of virtual time, and runs."""

    settle: int = SETTLED
    counted: int = SECONDS
    seeds: int = SEEDS


def measure(
    limit: RateLimit,
    retry_after: RetryAfter,
    workers: int,
    scene: Scene = Scene(equal),  # noqa: B008, a frozen value
    span: Span = Span(),  # noqa: B008, a frozen value
) -> Use:
    """Return the median use of a limit over several seeds."""
    uses = []
    for seed in range(1, span.seeds + 1):
        cluster = Cluster(limit.limiter(), retry_after, seed=seed, message_delay=scene.delay)
        scene.setup(cluster, workers)
        begin, end = span.settle, span.settle + span.counted
        cluster.run(begin + span.counted / 2)
        if scene.later != 1:
            burst = limit.burst and round(limit.burst * scene.later)
            later = structs.replace(limit, per_window=round(limit.per_window * scene.later), burst=burst)
            cluster.limit = later.limiter()
        cluster.run(end)
        accepted, refused = sum(cluster.accepted(begin, end)), cluster.refused(begin, end)
        allowed = limit.per_window / limit.window * span.counted * (1 + scene.later) / 2
        uses.append(Use(accepted / allowed, refused / max(1, accepted + refused)))
    return Use(median(use.used for use in uses), median(use.refused for use in uses))


def _equal_table(names: Sequence[str], span: Span) -> str:
    rows = []
    for name in names:
        for retry_after in get_args(RetryAfter):
            uses = [measure(LIMITS[name], retry_after, 1, Scene(alone), span)]
            uses += [measure(LIMITS[name], retry_after, workers, span=span) for workers in WORKERS]
            rows.append((name, retry_after, *map(str, uses)))
    heads = ("limit", "Retry-After", "one machine", *(f"{workers} workers" for workers in WORKERS))
    return table(heads, rows)


def _scenes_table(names: Sequence[str], span: Span) -> str:
    rows = []
    for text, scene in SCENES.items():
        for name in names:
            uses = [measure(LIMITS[name], "none", workers, scene, span) for workers in WORKERS[1:]]
            rows.append((text, name, *map(str, uses)))
    return table(("demand", "limit", *(f"{workers} workers" for workers in WORKERS[1:])), rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=count, default=SEEDS, help=f"runs of each row ({SEEDS})")
    parser.add_argument("--limits", nargs="+", choices=tuple(LIMITS), default=tuple(LIMITS))
    parser.add_argument("--settle", type=count, default=SETTLED, help=f"seconds before counting ({SETTLED})")
    parser.add_argument("--seconds", type=count, default=SECONDS, help=f"seconds counted ({SECONDS})")
    args = parser.parse_args(argv)
    span = Span(args.settle, args.seconds, args.seeds)
    print(title("The use of a limit, and the share of 429", "simulated in virtual time"))
    print(_equal_table(args.limits, span))
    print("\nWhatever else changes; the 429 names no time\n")
    print(_scenes_table([name for name in args.limits if name in _SCENE_LIMITS], span))


if __name__ == "__main__":
    main()
