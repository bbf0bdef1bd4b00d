"""An export by many processes: how its time, CPU and memory grow, and a model that foretells it.

Three parts, of which the first gives the constants of the model (`scale_model` has its formula):

1. Costs by themselves. A worker's CPU time for shards of one page, of many users and of many pages, read in
   this process. The coordinator's CPU time, memory and journal for few and many sources and messages, in a
   process of its own with made-up workers (`scale_coordinator`). Dask's CPU time for a task.
2. Exports by a `LocalCluster` of 1, 2 and 4 processes, against a server in a process of its own that answers
   late and refuses what is beyond a limit that nobody names, beside what the model says of them.
3. Forecasts for a billion messages, all of them extrapolated.

The scheduler runs in the coordinator's process, and is counted with it. All processes share this machine.

`--limits` measures something else, and that alone: what a cluster uses of a limit, see `scale_rates`.
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

from chatrest import App, AsyncSession, Pace
from chatrest.core.paging.intervals import Gap
from chatrest.distributed import export
from chatrest.distributed.attempt_place import AttemptFolder
from chatrest.distributed.job import connect
from chatrest.distributed.shard import Budget, OpenJob, Shard, ShardSource, write_job
from chatrest.distributed.shard_cutter import CONCURRENCY
from chatrest.distributed.shard_reader import read_shard
from chatrest.export import Plan
from chatrest.export.ownership import Source

from .measure import count, table, title
from .scale_coordinator import CoordinatorCost, Partition, measure_coordinator
from .scale_model import (
    LARGE_HEADS,
    PAGE,
    SLOTS,
    Constants,
    Load,
    apps_text,
    coordinator_cpu,
    forecast,
    large_table,
    worker_cpu,
)
from .scale_rates import (
    LATENCY as PROMPT,
    SECONDS,
    WINDOWS,
    RateUse,
    cpu_seconds,
    limit_of,
    rates_table,
    users_of,
)
from .server import ServerCounts, ServerProcess

RATE: Final = 100
"""Requests a second: so few that this machine's CPU is not what limits them."""
LATENCY: Final = 1500
"""Milliseconds: so late that it takes more than two workers to reach the limit."""
_FREE: Final = Pace(rate=600_000)


class Sizes(NamedTuple):
    """The sizes of a measurement."""

    users: int
    messages: int
    pages: int
    few: int
    many: int
    long: int
    workers: tuple[int, ...]
    tasks: int


FULL: Final = Sizes(800, 8000, 40, 1000, 20_000, 500_000, (1, 2, 4), 200)
SHORT: Final = Sizes(80, 400, 5, 200, 1000, 20_000, (2,), 20)


# ── a worker ──


class WorkerCost(NamedTuple):
    """The CPU seconds of a worker for a shard."""

    cpu: float
    wall: float
    requests: int
    shown: int


async def measure_shards(app: App, uids: Sequence[str], until: int, shards: int) -> WorkerCost:
    """Return the mean cost of reading so many shards, each with the whole lists of `uids`."""
    sources = [(number, Source("user", (uid,))) for number, uid in enumerate(uids, 1)]
    cpu, wall, requests, shown = 0.0, 0.0, 0, 0
    with TemporaryDirectory() as folder:
        place = AttemptFolder(Path(folder))
        write_job(place, "job-scale", app.app_id, Plan(all_users=True), sources)
        with place.job_file("job-scale") as path:
            opened = OpenJob(path)
        async with AsyncSession(app, pace=_FREE) as session:
            for each in range(shards + 1):
                gaps = [ShardSource(number, [Gap(0, until)]) for number, _ in sources]
                shard = Shard(each + 1, "job-scale", until, gaps, Budget(), CONCURRENCY)
                began, began_wall = process_time(), perf_counter()
                result = await read_shard(shard, opened, session, place)
                if each:  # the first one only warms up
                    cpu += process_time() - began
                    wall += perf_counter() - began_wall
                    requests += result.requests
                    shown += sum(source.shown for source in result.sources)
    return WorkerCost(cpu / shards, wall / shards, requests // shards, shown // shards)


# ── Dask ──


async def measure_task(tasks: int) -> float:
    """Return the CPU seconds of scheduler and client for a task that does nothing."""
    async with connect("local:1", quiet=True) as client:
        await client.submit(bytes, 0, pure=False)
        began = process_time()
        for _ in range(tasks):
            await client.submit(bytes, 0, pure=False)
        return (process_time() - began) / tasks


# ── exports by a cluster ──


class ClusterRun(NamedTuple):
    """One export by a cluster; CPU in seconds."""

    workers: int
    wall: float
    coordinator: float
    worker: float
    counts: ServerCounts
    shards: int
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
    async with connect(f"local:{workers}", quiet=True) as client:
        before, own, cpu = server.counts(), await _worker_cpu(client), process_time()
        began = perf_counter()
        with TemporaryDirectory() as folder:  # nobody names the rate
            report = await export(client, server.limited, Path(folder) / "out", Plan(users=uids))
        wall, cpu = perf_counter() - began, process_time() - cpu
        own, shards, after = await _worker_cpu(client) - own, await _shards(client), server.counts()
    assert report.complete, report
    counts = ServerCounts(*(new - old for new, old in zip(after, before, strict=True)))  # type: ignore[arg-type]
    return ClusterRun(workers, wall, cpu, own, counts, shards, report.messages)


async def _worker_cpu(client: Client) -> float:
    seconds: dict[str, float] = await client.run(process_time)
    return sum(seconds.values())


async def _shards(client: Client) -> int:
    """Return how many tasks of the export the workers have run."""

    def done(dask_worker: Any) -> int:
        return int(dask_worker.state.executed_count)

    return sum((await client.run(done)).values())


# ── the constants ──


def _slope(less: CoordinatorCost, more: CoordinatorCost, of: str, by: str) -> float:
    steps: int = getattr(more, by) - getattr(less, by)
    growth: float = getattr(more, of) - getattr(less, of)
    return max(0.0, growth / steps)


class Costs(NamedTuple):
    """What the first part has measured."""

    page: WorkerCost
    users: WorkerCost
    pages: WorkerCost
    few: CoordinatorCost
    many: CoordinatorCost
    long: CoordinatorCost
    files: CoordinatorCost
    """As `few`, with a file for each source."""
    task: float
    server: float

    def constants(self, least: ClusterRun, runs: Sequence[ClusterRun], users: int) -> Constants:
        """Return the constants of the model; `tick` and `exchange` are fitted to the runs, `idle` to one.

        `least` is an export of next to nothing.
        """
        request = _per_request(self.page, self.users)
        pages = max(1, self.pages.requests - self.page.requests)
        more = self.pages.shown - self.page.shown
        message = max(0.0, self.pages.cpu - self.page.cpu - request * pages) / max(1, more)
        shard = max(0.0, self.page.cpu - request * self.page.requests - message * self.page.shown)
        few, long = self.few, self.long
        adopted = _slope(few, long, "adopt_cpu", "messages") + _slope(few, long, "rest_cpu", "messages")
        wall = _slope(few, long, "adopt_wall", "messages") + _slope(few, long, "rest_wall", "messages")
        files = self.files
        constants = Constants(
            start=least.wall, idle=_idle(least.wall, runs[0]),
            shard=shard, request=request, message=message, process=0.0, tick=0.0, begin=0.0,
            task=self.task,
            source=(files.adopt_cpu + files.rest_cpu) / files.sources, adopted=adopted,
            source_wall=(files.adopt_wall + files.rest_wall) / files.sources, adopted_wall=wall, exchange=0.0,
            server=self.server, base=few.peak * 1e6,
            source_memory=_slope(few, self.many, "peak", "sources") * 1e6,
            message_memory=_slope(few, long, "peak", "messages") * 1e6,
            source_journal=_slope(few, self.many, "journal", "sources"),
            message_journal=_slope(few, long, "journal", "messages"),
            source_manifest=_slope(few, self.many, "manifest", "sources"),
        )  # fmt: skip
        process = max(0.0, least.worker - worker_cpu(constants, _load(least, 1)))
        begin = max(0.0, least.coordinator - coordinator_cpu(constants, _load(least, 1)))
        constants = constants._replace(process=process / least.workers, begin=begin)
        loads = [_load(run, users) for run in runs]
        ticks = [
            run.worker - worker_cpu(constants, load, run.workers)
            for run, load in zip(runs, loads, strict=True)
        ]
        exchanges = [
            run.coordinator - coordinator_cpu(constants, load) for run, load in zip(runs, loads, strict=True)
        ]
        return constants._replace(tick=_fitted(ticks, runs), exchange=_fitted(exchanges, runs))


def _per_request(page: WorkerCost, users: WorkerCost) -> float:
    return max(0.0, users.cpu - page.cpu) / max(1, users.requests - page.requests)


def _load(run: ClusterRun, users: int) -> Load:
    return Load(users, run.messages, run.requests, 2 * run.messages, run.shards)


def _idle(start: float, run: ClusterRun) -> float:
    """Return the seconds of a shard in which its slot could have sent more requests."""
    used = run.requests * LATENCY / 1e3 / CONCURRENCY
    return max(0.0, ((run.wall - start) * SLOTS * run.workers - used) / max(1, run.shards))


def _fitted(left: Sequence[float], runs: Sequence[ClusterRun]) -> float:
    """Return the CPU a second and worker that nothing else explains, by least squares."""
    seconds = [run.workers * run.wall for run in runs]
    top = sum(rest * each for rest, each in zip(left, seconds, strict=True))
    return max(0.0, top / sum(each * each for each in seconds))


# ── the tables ──


def costs_table(costs: Costs) -> str:
    """Return the costs of shards and of the coordinator."""
    worker = [
        (f"a worker's shard of {name}", f"{cost.requests:,}", f"{cost.shown:,}", f"{cost.cpu * 1e3:,.1f}",
         f"{cost.cpu / max(1, cost.requests) * 1e3:.2f}", f"{cost.cpu / max(1, cost.shown) * 1e6:,.1f}")
        for name, cost in (("one page", costs.page), ("many users", costs.users), ("many pages", costs.pages))
    ]  # fmt: skip
    rows = [
        (f"{cost.sources:,} sources, {cost.messages:,} messages{files}", f"{cost.shards}",
         f"{cost.adopt_cpu:.2f}", f"{cost.adopt_wall:.2f}", f"{cost.rest_cpu:.2f}", f"{cost.rest_wall:.2f}",
         f"{cost.peak:.0f}", f"{cost.journal / 1e6:.1f}", f"{cost.manifest / 1e6:.1f}", f"{cost.files:,}")
        for cost, files in (
            (costs.few, ""), (costs.many, ""), (costs.long, ""), (costs.files, ", a file each"),
        )
    ]  # fmt: skip
    heads = ("CPU", "requests", "messages", "ms", "ms a request", "µs a message")
    own = (
        "the coordinator alone", "shards", "adopting: CPU s", "wall s", "the rest: CPU s", "wall s",
        "peak MB", "journal MB", "manifest MB", "files",
    )  # fmt: skip
    return f"{table(heads, worker)}\n\n{table(own, rows)}"


def runs_table(runs: Sequence[ClusterRun], constants: Constants, users: int) -> str:
    """Return the exports by a cluster beside the model."""
    cores, rows = os.cpu_count() or 1, []
    for run in runs:
        load = _load(run, users)
        result = forecast(
            constants, load, workers=run.workers, rate=RATE, latency=LATENCY / 1e3, cores=cores,
            with_server=True,
        )  # fmt: skip
        own = coordinator_cpu(constants, load, run.workers * run.wall)
        rows.append((
            f"{run.workers}", f"{run.requests:,}", f"{run.shards}", f"{run.wall:.1f}",
            f"{run.counts.allowed / run.wall / RATE:.0%}", f"{run.counts.refused / run.requests:.2%}",
            f"{result.total:.1f}", f"{result.total / run.wall - 1:+.0%}", result.first,
            f"{run.worker:.1f}", f"{worker_cpu(constants, load, run.workers, run.wall):.1f}",
            f"{run.coordinator:.1f}", f"{own:.1f}", f"{run.counts.cpu:.1f}",
        ))  # fmt: skip
    heads = (
        "workers", "requests", "shards", "wall s", "of the limit", "429", "model s", "off", "longest",
        "CPU s: workers", "model", "coordinator", "model", "server",
    )  # fmt: skip
    return table(heads, rows)


_UNITS: Final = {
    "start": (1, "s"), "idle": (1, "s"), "shard": (1e3, "ms"), "request": (1e3, "ms"), "message": (1e6, "µs"),
    "process": (1, "s"), "tick": (1e3, "ms"), "begin": (1, "s"),
    "task": (1e3, "ms"), "source": (1e3, "ms"), "adopted": (1e6, "µs"), "source_wall": (1e3, "ms"),
    "adopted_wall": (1e6, "µs"), "exchange": (1e3, "ms"), "server": (1e3, "ms"), "base": (1e-6, "MB"),
    "source_memory": (1e-3, "KB"), "message_memory": (1, "bytes"), "source_journal": (1, "bytes"),
    "message_journal": (1, "bytes"), "source_manifest": (1, "bytes"),
}  # fmt: skip


def constants_text(constants: Constants) -> str:
    """Return the formula and its constants."""
    units = {name: (value, *_UNITS[name]) for name, value in constants._asdict().items()}
    values = [f"{name} {value * scale:.3g} {unit}" for name, (value, scale, unit) in units.items()]
    return (
        "seconds = start + max(requests / limit, "
        f"(requests * latency / {CONCURRENCY} + idle * shards) / ({SLOTS} * workers), "
        "CPU / cores, coordinator)\n"
        "CPU of workers = shard * shards + request * requests + message * messages in all lists + "
        "(process + tick * seconds) * workers\n"
        "CPU of the coordinator = begin + source * sources + adopted * messages + task * shards + "
        "exchange * workers * seconds\n"
        f"{', '.join(values)}"
    )


# ── the measurement ──


def _uids(users: int) -> list[str]:
    return [f"user-{number:0{max(2, len(str(users)))}}" for number in range(1, users + 1)]


def measure_costs(sizes: Sizes) -> Costs:
    """Return the costs by themselves."""
    pages, users = sizes.pages * PAGE, _uids(sizes.users)[:250]
    with (
        ServerProcess(pages) as single,
        ServerProcess(sizes.messages, users=sizes.users, latency=LATENCY) as server,
    ):
        page = asyncio.run(measure_shards(server.app, users[1:2], sizes.messages, 5))
        many = asyncio.run(measure_shards(server.app, users, sizes.messages, 2))
        before = server.counts().cpu
        asyncio.run(measure_shards(server.app, users, sizes.messages, 1))  # two of them, with the first
        each = (server.counts().cpu - before) / (2 * max(1, many.requests))
        long = asyncio.run(measure_shards(single.app, ["user-01"], pages, 2))
    return Costs(
        page, many, long,
        few=_coordinator(sizes.few, sizes.few), many=_coordinator(sizes.many, sizes.many),
        long=_coordinator(sizes.few + 1, sizes.long), files=_coordinator(sizes.few, sizes.few, "source"),
        task=asyncio.run(measure_task(sizes.tasks)), server=each,
    )  # fmt: skip


def _coordinator(sources: int, messages: int, partition: Partition = "month") -> CoordinatorCost:
    with ServerProcess(messages, endless=True) as server:
        return measure_coordinator(server.app, sources, messages, partition)


def measure_runs(sizes: Sizes) -> tuple[ClusterRun, list[ClusterRun]]:
    """Return an export of next to nothing, and the exports by clusters."""
    uids = _uids(sizes.users)

    async def measure(server: ServerProcess) -> tuple[ClusterRun, list[ClusterRun]]:
        least = await measure_cluster(server, 1, uids[:1])
        await measure_shards(server.app, uids, sizes.messages, 1)  # the server makes its pages
        return least, [await measure_cluster(server, each, uids) for each in sizes.workers]

    with ServerProcess(sizes.messages, users=sizes.users, rate=RATE, latency=LATENCY) as server:
        return asyncio.run(measure(server))


def measure_rate(rate: int, window: str, workers: int, seconds: int, latency: int = PROMPT) -> RateUse:
    """Return what an export uses of a limit that nobody names; its lists take about so many seconds."""
    users = users_of(rate, seconds)
    with ServerProcess(users, users=users, limit=limit_of(rate, window), latency=latency) as server:
        before = cpu_seconds()
        run = asyncio.run(measure_cluster(server, workers, _uids(users)))
        after, times = cpu_seconds(), server.times()
    all_seconds = max(1e-9, after.all - before.all)
    own = run.worker + run.coordinator + run.counts.cpu
    busy = (after.busy - before.busy) / all_seconds
    return RateUse(
        rate, window, workers, times, run.counts.refused, busy, own / all_seconds, os.getloadavg()[0]
    )


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
    args = parser.parse_args(argv)
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
    costs = measure_costs(sizes)
    print(costs_table(costs), flush=True)
    least, runs = measure_runs(sizes)
    constants = costs.constants(least, runs, sizes.users)
    print(f"\n{constants_text(constants)}\n\n{runs_table(runs, constants, sizes.users)}\n", flush=True)
    print(table(LARGE_HEADS, large_table(constants, 0.15)))
    print(apps_text(constants))


if __name__ == "__main__":
    main()
