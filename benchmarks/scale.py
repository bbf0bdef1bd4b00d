"""Exports by a `LocalCluster` of 1, 2 and 4 processes, against a server in a process of its own.

It answers late and refuses what is beyond a limit that nobody names. The scheduler runs in the process that
started the export, and is counted with it. All processes share this machine.

`--limits` measures something else, and that alone: what a cluster uses of a limit, see `scale_rates`.
`--model` measures nothing: it says what parts do for an app of 50 million users, see `scale_model`.
"""

import asyncio
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

import dask.config
from distributed import Client

from chatrest.distributed import export
from chatrest.distributed.cluster import connect
from chatrest.export import Plan

from .measure import count, table, title
from .scale_model import model_table
from .scale_rates import (
    LATENCY as PROMPT,
    SECONDS,
    WINDOWS,
    RateUse,
    limit_of,
    rates_table,
    users_of,
)
from .server import ServerCounts, ServerProcess

RATE: Final = 100
"""Requests a second: so few that this machine's CPU is not what limits them."""
LATENCY: Final = 1500
"""Milliseconds: so late that it takes more than two workers to reach the limit."""


class Sizes(NamedTuple):
    """The sizes of a measurement."""

    users: int
    messages: int
    workers: tuple[int, ...]


FULL: Final = Sizes(800, 8000, (1, 2, 4))
SHORT: Final = Sizes(80, 400, (2,))


# ── exports by a cluster ──


class ClusterRun(NamedTuple):
    """One export by a cluster; CPU in seconds."""

    workers: int
    wall: float
    coordinator: float
    worker: float
    counts: ServerCounts
    parts: int
    messages: int

    @property
    def requests(self) -> int:
        """The requests that came to the server, refused ones included."""
        return self.counts.allowed + self.counts.refused


async def measure_cluster(server: ServerProcess, workers: int, uids: Sequence[str]) -> ClusterRun:
    """Export the lists of `uids` by so many processes, at the server's limit."""
    app = server.limited
    names = (("APP_ID", app.app_id), ("API_KEY", app.api_key), ("BASE_URL", app.chat_url))
    environment = {f"CHATREST_{name}": value for name, value in names}
    try:
        with dask.config.set({"distributed.nanny.pre-spawn-environ": environment}):
            return await _measure_cluster(server, workers, uids)
    finally:  # Dask leaves them in this process, where they would hide those of the next server
        for name in environment:
            os.environ.pop(name, None)


async def _measure_cluster(server: ServerProcess, workers: int, uids: Sequence[str]) -> ClusterRun:
    async with connect(f"local:{workers}") as client:
        before, own, cpu = server.counts(), await _worker_cpu(client), process_time()
        began = perf_counter()
        with TemporaryDirectory() as folder:  # nobody names the rate
            report = await export(client, server.limited, Path(folder) / "out", Plan(users=uids))
        wall, cpu = perf_counter() - began, process_time() - cpu
        own, parts, after = await _worker_cpu(client) - own, await _runs_of_parts(client), server.counts()
    assert report.complete, report
    counts = ServerCounts(*(new - old for new, old in zip(after, before, strict=True)))  # type: ignore[arg-type]
    return ClusterRun(workers, wall, cpu, own, counts, parts, report.messages)


async def _worker_cpu(client: Client) -> float:
    seconds: dict[str, float] = await client.run(process_time)
    return sum(seconds.values())


async def _runs_of_parts(client: Client) -> int:
    """Return how many tasks of the export the workers have run."""

    def done(dask_worker: Any) -> int:
        return int(dask_worker.state.executed_count)

    return sum((await client.run(done)).values())


# ── the measurement ──


def _uids(users: int) -> list[str]:
    return [f"user-{number:03}" for number in range(1, users + 1)]


def measure_runs(sizes: Sizes) -> list[ClusterRun]:
    """Return the exports by clusters."""
    uids = _uids(sizes.users)

    async def measure(server: ServerProcess) -> list[ClusterRun]:
        return [await measure_cluster(server, each, uids) for each in sizes.workers]

    with ServerProcess(sizes.messages, users=sizes.users, rate=RATE, latency=LATENCY) as server:
        return asyncio.run(measure(server))


def runs_table(runs: Sequence[ClusterRun]) -> str:
    """Return a row for each export."""
    rows = [
        (f"{run.workers}", f"{run.requests:,}", f"{run.parts}", f"{run.wall:.1f}",
         f"{run.counts.allowed / run.wall / RATE:.0%}", f"{run.counts.refused / run.requests:.2%}",
         f"{run.worker:.1f}", f"{run.coordinator:.1f}", f"{run.counts.cpu:.1f}")
        for run in runs
    ]  # fmt: skip
    heads = (
        "workers", "requests", "part runs", "wall s", "of the limit", "429", "CPU s: workers", "coordinator",
        "server",
    )  # fmt: skip
    return table(heads, rows)


def measure_rate(rate: int, window: str, workers: int, seconds: int, latency: int = PROMPT) -> RateUse:
    """Return what an export uses of a limit that nobody names; its lists take about so many seconds."""
    users = users_of(rate, seconds)
    with ServerProcess(users, users=users, limit=limit_of(rate, window), latency=latency) as server:
        run = asyncio.run(measure_cluster(server, workers, _uids(users)))
        return RateUse(rate, window, workers, server.times(), run.counts.refused)


def _print_rates(args: Namespace) -> None:
    method = (
        f"replies after {args.latency} ms, lists for {args.seconds} s at the limit; nobody names the limit"
    )
    print(title("What a cluster uses of a limit", method, "chatrest-client", "distributed"), flush=True)
    uses: list[RateUse] = []
    for workers in args.workers or FULL.workers:
        for rate in args.limits:
            for window in args.windows:
                uses.append(measure_rate(rate, window, workers, args.seconds, args.latency))
                print("  ".join(uses[-1].cells), flush=True)
    print(f"\n{rates_table(uses)}")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="small sizes, and two workers alone")
    parser.add_argument("--workers", type=count, nargs="+", help=f"of the exports {FULL.workers}")
    parser.add_argument("--users", type=count, help=f"users of the exports by a cluster ({FULL.users})")
    rates = parser.add_argument_group("what is used of limits, instead of all else")
    rates.add_argument("--limits", type=count, nargs="+", help="requests a second that are allowed")
    rates.add_argument(
        "--windows", nargs="+", default=["bucket"], metavar="WINDOW",
        help=f"kinds of limits, of {' '.join(WINDOWS)} (bucket; seconds of fixed windows, 10s: sliding)",
    )  # fmt: skip
    rates.add_argument("--seconds", type=count, default=SECONDS, help=f"of each export ({SECONDS})")
    rates.add_argument("--latency", type=count, default=PROMPT, help=f"milliseconds of a reply ({PROMPT})")
    parser.add_argument("--model", action="store_true", help="only say what an export of parts needs")
    args = parser.parse_args(argv)
    if args.model:
        print(model_table())
        return
    if args.limits:
        _print_rates(args)
        return
    sizes = SHORT if args.short else FULL
    sizes = sizes._replace(users=args.users or sizes.users, workers=tuple(args.workers or sizes.workers))
    busy = os.getloadavg()[0]
    method = (
        f"{sizes.users:,} users, {sizes.messages:,} messages, each in two lists; replies after {LATENCY} ms, "
        f"{RATE} requests a second\n{os.cpu_count()} cores, with a load of {busy:.1f} by others at the start"
    )
    print(title("Exports by a cluster on this machine", method, "chatrest-client", "distributed"), flush=True)
    print(runs_table(measure_runs(sizes)))


if __name__ == "__main__":
    main()
