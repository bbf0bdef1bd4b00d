"""The coordinator of a distributed export alone: its CPU time, memory, journal and files.

`python -m benchmarks.scale_coordinator URL --sources N --messages N --partition month` runs a whole export
in this process, but for the workers: made-up ones answer each shard at once with files of real records, and
with what a worker tells of them. Each message is in the lists of two sources, and in the file of the first of
them. The CPU time of the made-up workers is not counted. It prints a line of JSON.
"""

import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from pathlib import Path
from subprocess import PIPE, run
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from types import TracebackType
from typing import Final, Literal, Self

from msgspec import Struct, json

from chatrest import App, AsyncSession, Pace
from chatrest.core.paging.intervals import Interval
from chatrest.distributed.coordinator import ShardRunner
from chatrest.distributed.shard import Shard, ShardResult, SourceResult
from chatrest.distributed.start import ClusterWalk
from chatrest.export import Plan
from chatrest.export.adoption import AttemptSource, ShardAttempt
from chatrest.export.file_names import STEM, partition_folder
from chatrest.export.id_set import IdSet
from chatrest.export.run import OpenWalk, export_folder
from chatrest.export.store.fragments import Fragment
from chatrest.export.store.journal import StoreBlock
from chatrest.export.store.segments import fragment_path

from .pages import talk
from .resident import resident
from .server import KEY

Partition = Literal["source", "month"]

_SLOTS: Final = 4
_PAGE: Final = 1000
_MONTH: Final = "2026-11"
_TIME: Final = 1_793_491_200
_PACE: Final = Pace(rate=600_000)
_SECONDS: Final = 900


class CoordinatorCost(Struct, frozen=True):
    """The cost of one export in the coordinator; times in seconds, sizes in bytes."""

    sources: int
    messages: int
    shards: int
    adopt_cpu: float
    """CPU time from the first shard to the last one."""
    adopt_wall: float
    rest_cpu: float
    """CPU time before and after that: the sources, the merging of small files, the check, the manifest."""
    rest_wall: float
    peak: float
    """The largest resident size, in MB."""
    journal: int
    manifest: int
    files: int


def measure_coordinator(
    app: App, sources: int, messages: int, partition: Partition = "month"
) -> CoordinatorCost:
    """Return the cost of an export in a child process; `app` has to be one whose list has all messages."""
    sizes = ("--sources", str(sources), "--messages", str(messages), "--partition", partition)
    command = (sys.executable, "-m", "benchmarks.scale_coordinator", app.chat_url, *sizes)
    return json.decode(run(command, check=True, stdout=PIPE, timeout=_SECONDS).stdout, type=CoordinatorCost)


class MadeUpWorkers:
    """Workers that send nothing: the list of source n has the ids n, n + 1, and so on in steps of N."""

    def __init__(self, out: Path, sources: int, partition: Partition) -> None:
        with talk(100) as store:
            records = store.records(store.ids())
        self._tails = [record.partition(b'"id":"')[2].partition(b'"')[2] for record in records]
        self._out = out
        self._sources = sources
        self._partition = partition
        self.shards = 0
        self.cpu = 0.0
        """CPU seconds that were spent on making things up."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    async def slots(self) -> int:
        """Return how many shards are read at the same time."""
        return _SLOTS

    async def run(self, shard: Shard, operation: str) -> ShardResult:
        """Return the result of a shard whose lists were read to their ends."""
        began = thread_time()
        self.shards += 1
        numbers = [source.number for source in shard.sources]
        parts = [[number] for number in numbers] if self._partition == "source" else [numbers]
        files = [self._file(shard, count, part) for count, part in enumerate(parts)]
        sources = [self._source(number, shard.until) for number in numbers]
        results = [
            SourceResult(each.number, each.intervals, shown=1, newest=shard.until, is_proven=True)
            for each in sources
        ]
        attempt = ShardAttempt([file for file in files if file.blocks], sources)
        self.cpu += thread_time() - began
        return ShardResult(shard=shard.id, attempt=attempt, sources=results)

    def _source(self, number: int, until: int) -> AttemptSource:
        seen = IdSet(range(number, until + 1, self._sources))
        seen.update(IdSet(range(number % self._sources + 1, until + 1, self._sources)))
        return AttemptSource(number, seen, [Interval(1, until)], [], until)

    def _file(self, shard: Shard, count: int, numbers: list[int]) -> Fragment:
        key = f'["user", "{uid(numbers[0])}"]' if self._partition == "source" else _MONTH
        stem = f"{partition_folder(self._partition, key)}/{STEM}"
        name, digest, blocks = f"{stem}-{shard.id:05d}-{count:08x}.ndjson", sha256(), list[StoreBlock]()
        path = fragment_path(self._out, name)
        with path.open("wb") as file:
            for number in numbers:
                ids = range(number, shard.until + 1, self._sources)
                for start in range(0, len(ids), _PAGE):
                    part = ids[start : start + _PAGE]
                    lines = b"".join(b'{"id":"%d"%b\n' % (each, self._tails[each % 100]) for each in part)
                    digest.update(lines)
                    file.write(lines)
                if ids:
                    blocks.append(StoreBlock(number, len(ids), _TIME, _TIME, IdSet(ids)))
        return Fragment(name, stem, path.stat().st_size, digest.digest(), blocks, [])


def uid(number: int) -> str:
    """Return the uid of the source of a number."""
    return f"user-{number:07}"


class TimedWalk:
    """A walk of made-up workers, with the time that the coordinator needs for it."""

    def __init__(self, walk: ClusterWalk) -> None:
        self._walk = walk
        self.cpu = self.wall = 0.0

    @property
    def requests(self) -> int:
        """How many requests were sent: none."""
        return self._walk.requests

    async def __call__(self, walk: OpenWalk, /) -> None:
        """Read all lists."""
        cpu, wall = process_time(), perf_counter()
        await self._walk(walk)
        self.cpu, self.wall = process_time() - cpu, perf_counter() - wall


async def export_alone(url: str, sources: int, messages: int, partition: Partition) -> CoordinatorCost:
    """Run an export with made-up workers, and return what it costs; it has to be complete."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        workers = MadeUpWorkers(out, sources, partition)
        open_runner: Callable[[str], AbstractAsyncContextManager[ShardRunner]] = lambda job: workers  # noqa: E731
        walk = TimedWalk(ClusterWalk(open_runner, "benchmark", out))
        plan = Plan(users=[uid(number + 1) for number in range(sources)], partition=partition)
        async with AsyncSession(App("benchmark", KEY, base_url=url), pace=_PACE) as session:
            cpu, wall = process_time(), perf_counter()
            report = await export_folder(session, out, plan, ahead=walk)
            cpu, wall = process_time() - cpu, perf_counter() - wall
        assert report.complete, report
        assert report.messages == messages, f"{report.messages} messages, {messages} expected"
        return CoordinatorCost(
            sources=sources, messages=messages, shards=workers.shards,
            adopt_cpu=walk.cpu - workers.cpu, adopt_wall=walk.wall - workers.cpu,
            rest_cpu=cpu - walk.cpu, rest_wall=wall - walk.wall, peak=resident(),
            journal=(out / "journal.sqlite").stat().st_size, manifest=(out / "manifest.json").stat().st_size,
            files=sum(path.is_file() for path in (out / "messages").rglob("*")),
        )  # fmt: skip


def main() -> None:
    """Print the cost of one export as JSON."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--sources", type=int, required=True)
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--partition", choices=("source", "month"), default="month")
    args = parser.parse_args()
    cost = asyncio.run(export_alone(args.url, args.sources, args.messages, args.partition))
    print(json.encode(cost).decode())


if __name__ == "__main__":
    main()
