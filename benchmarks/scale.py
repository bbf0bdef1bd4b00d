"""The use of a rate limit by an export on a cluster, where neither headers nor 429 replies state the limit.

`python -m benchmarks.scale --limits 20 40 100 --windows bucket 1 10 60 --workers 1 4 16` prints a row for
each of them. The middle is the half of the time from the first accepted request to the last one that is
neither its first quarter, in which the limit is learnt, nor its last one. A machine that has no CPU time left
uses less of a limit, whatever it knows.
"""

import asyncio
import os
from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import product
from math import ceil
from tempfile import TemporaryDirectory
from typing import Final

import dask.config

from chatrest.distributed import export
from chatrest.distributed.cluster import connect
from chatrest.emulator import RateLimit
from chatrest.export import Plan

from .measure import count, table, title
from .server import ServerProcess

LATENCY: Final = 100
SECONDS: Final = 60
LIMITS: Final = (100,)
WORKERS: Final = (1, 4)
WINDOWS: Final = ("bucket", "1", "10", "60")
"""A bucket that holds what comes in 0.2 s, and seconds of windows: fixed ones, sliding with `s` behind."""
MIN_USED: Final = 0.85
MAX_REFUSED: Final = 0.03
_REQUESTS_A_USER: Final = 1.4  # where there are as many messages as users
_BURST_SECONDS: Final = 0.2


def limit_of(rate: int, window: str) -> RateLimit:
    if window == "bucket":
        burst = ceil(rate * _BURST_SECONDS)
        return RateLimit(kind="bucket", per_window=rate, window=1, burst=burst, headers="none")
    seconds, kind = int(window.removesuffix("s")), "sliding" if window.endswith("s") else "fixed"
    return RateLimit(kind=kind, per_window=rate * seconds, window=seconds, headers="none")  # type: ignore[arg-type]


async def export_by_cluster(server: ServerProcess, workers: int, uids: Sequence[str]) -> None:
    app = server.limited
    names = (("APP_ID", app.app_id), ("API_KEY", app.api_key), ("BASE_URL", app.chat_url))
    environment = {f"CHATREST_{name}": value for name, value in names}
    try:
        with (
            dask.config.set({"distributed.nanny.pre-spawn-environ": environment}),
            TemporaryDirectory() as folder,
        ):
            async with connect(f"local:{workers}") as client:
                (await export(client, app, f"{folder}/out", Plan(users=uids))).check()
    finally:  # Dask leaves them in this process, where they would hide those of the next server
        for name in environment:
            os.environ.pop(name, None)


def measure(rate: int, window: str, workers: int, seconds: int, latency: int) -> tuple[str, ...]:
    """Return the row of an export whose lists take about so many seconds at a limit."""
    users = ceil(rate * seconds / _REQUESTS_A_USER)
    uids = [f"user-{number:03}" for number in range(1, users + 1)]
    with ServerProcess(users, users=users, limit=limit_of(rate, window), latency=latency) as server:
        asyncio.run(export_by_cluster(server, workers, uids))
        times, refused = server.times(), server.counts().refused
    length = max(1e-9, times[-1] - times[0])
    left, right = times[0] + length / 4, times[0] + length * 3 / 4
    used = len(times) / (rate * length)
    middle = sum(left <= time <= right for time in times) / (rate * length / 2)
    share = refused / (refused + len(times))
    is_good = used >= MIN_USED and share <= MAX_REFUSED
    return (
        f"{rate}/s, {window}", f"{workers}", f"{len(times):,}", f"{used:.0%}", f"{middle:.0%}",
        f"{share:.2%}", "yes" if is_good else "no",
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=count, nargs="+", default=WORKERS, help=f"processes {WORKERS}")
    parser.add_argument("--limits", type=count, nargs="+", default=LIMITS, help="requests a second (100)")
    parser.add_argument(
        "--windows", nargs="+", default=["bucket"], metavar="WINDOW",
        help=f"kinds of limits, of {' '.join(WINDOWS)} (bucket; seconds of fixed windows, 10s: sliding)",
    )  # fmt: skip
    parser.add_argument("--seconds", type=count, default=SECONDS, help=f"of each export ({SECONDS})")
    parser.add_argument("--latency", type=count, default=LATENCY, help=f"milliseconds of a reply ({LATENCY})")
    args = parser.parse_args(argv)
    method = f"replies after {args.latency} ms, lists for {args.seconds} s at the limit"
    print(title("What a cluster uses of a limit that nobody names", method, "chatrest-client", "distributed"))
    rows = [
        measure(rate, window, workers, args.seconds, args.latency)
        for workers, rate, window in product(args.workers, args.limits, args.windows)
    ]
    goal = f">= {MIN_USED:.0%}, <= {MAX_REFUSED:.0%}"
    print(table(("limit, window", "workers", "requests", "used", "in the middle", "429", goal), rows))


if __name__ == "__main__":
    main()
