"""The model of a distributed export: its time, what limits it, and the memory that it needs. Pure.

    seconds = start + max(limit, waits, cpu, coordinator)

    limit        requests / the rate limit
    waits        (requests * the time of a reply / requests at once in a shard + idle * shards) / slots
    cpu          (workers' + coordinator's + server's CPU seconds) / cores
    coordinator  its CPU seconds, or its wall clock seconds with the disk where these are more: one process

CPU seconds are sums of a constant for each shard, request, source and message; `Constants` has them.
"""

from math import ceil
from typing import Final, NamedTuple

from chatrest.core.pace.pacer import DOCUMENTED_RATES
from chatrest.distributed.shard_cutter import CONCURRENCY, MOST_SOURCES
from chatrest.export.remote.store_export import PUBLISH_SECONDS

PAGE: Final = 1000
MONTHS: Final = 12
"""Files of a shard."""
RECORD: Final = 850
"""Bytes of a message."""
STORE_SECONDS: Final = 5.0
"""Seconds between two requests about the lease: it is renewed, and the coordinator looks whose it is."""
SLOTS: Final = 2
"""Shards that a worker reads at the same time, as one of `--dask local:N`."""


class Constants(NamedTuple):
    """What was measured; seconds and bytes for one of each."""

    start: float
    """Wall clock seconds of an export of next to nothing."""
    idle: float
    """Wall clock seconds of a shard in which its worker could have sent more requests: mostly its end."""
    shard: float
    """CPU of a worker, without what it holds."""
    request: float
    """CPU of a worker."""
    message: float
    """CPU of a worker, for each message that a list shows: two lists show each message between users."""
    process: float
    """CPU of a worker's process before its first shard: imports, and a session."""
    tick: float
    """CPU of a worker a second: messages about the rate, heartbeats, and requests that wait."""
    begin: float
    """CPU of scheduler and coordinator for an export of next to nothing."""
    task: float
    """CPU of scheduler and coordinator for a shard: Dask's part."""
    source: float
    """CPU of the coordinator."""
    adopted: float
    """CPU of the coordinator for each message of the export."""
    source_wall: float
    """Wall clock seconds of the coordinator with its disk, for a source."""
    adopted_wall: float
    """The same for each message of the export."""
    exchange: float
    """CPU of the coordinator a second and worker: messages about the rate, and what workers tell."""
    server: float
    """CPU of the server a request, which shares the machine here."""
    base: float
    """Memory of a coordinator that holds next to nothing."""
    source_memory: float
    message_memory: float
    source_journal: float
    message_journal: float
    source_manifest: float


class Load(NamedTuple):
    """The size of an export."""

    sources: int
    messages: int
    requests: int
    shown: int
    """Messages in all lists together."""
    shards: int


class Forecast(NamedTuple):
    """The seconds that each part would need by itself, and those of the whole."""

    limit: float
    waits: float
    cpu: float
    coordinator: float
    total: float

    @property
    def first(self) -> str:
        """The name of the part that takes longest."""
        parts = self._asdict()
        del parts["total"]
        return max(parts, key=parts.__getitem__)


def load_of(sources: int, messages: int) -> Load:
    """Return the load of an export of users; two lists show each message, and a request ends each list."""
    shown = 2 * messages
    pages = sources * ceil(shown / sources / PAGE)
    shards = ceil(sources / MOST_SOURCES) + ceil(pages / 1600)
    return Load(sources, messages, pages + sources, shown, shards)


def worker_cpu(constants: Constants, load: Load, workers: int = 0, seconds: float = 0.0) -> float:
    """Return the CPU seconds of all workers, of which there are so many for so long."""
    work = constants.shard * load.shards + constants.request * load.requests + constants.message * load.shown
    return work + workers * (constants.process + constants.tick * seconds)


def coordinator_cpu(constants: Constants, load: Load, worker_seconds: float = 0.0) -> float:
    """Return the CPU seconds of scheduler and coordinator."""
    work = constants.begin + constants.source * load.sources + constants.adopted * load.messages
    return work + constants.task * load.shards + constants.exchange * worker_seconds


def forecast(
    constants: Constants,
    load: Load,
    *,
    workers: int,
    rate: float,
    latency: float,
    cores: int,
    with_server: bool,
) -> Forecast:
    """Return the times of an export, in seconds; `rate` in requests a second, `latency` in seconds."""
    server = constants.server * load.requests if with_server else 0.0
    limit = load.requests / rate
    waits = (load.requests * latency / CONCURRENCY + constants.idle * load.shards) / (SLOTS * workers)
    own = coordinator_cpu(constants, load)
    disk = constants.source_wall * load.sources + constants.adopted_wall * load.messages
    serial = max(own + constants.task * load.shards, disk)
    cpu = (worker_cpu(constants, load, workers) + own + server) / cores
    longest = max(limit, waits, cpu, serial)
    exchanges = constants.exchange * workers * longest  # they take CPU time for as long as it lasts
    cpu += (exchanges + constants.tick * workers * longest) / cores
    serial += exchanges
    return Forecast(limit, waits, cpu, serial, constants.start + max(limit, waits, cpu, serial))


def largest(constants: Constants, load: Load) -> dict[str, float]:
    """Return the bytes of memory, journal and manifest that an export needs on the coordinator."""
    return {
        "memory": constants.base
        + constants.source_memory * load.sources
        + constants.message_memory * load.messages,
        "journal": constants.source_journal * load.sources + constants.message_journal * load.messages,
        "manifest": constants.source_manifest * load.sources,
    }


def bucket(constants: Constants, load: Load, seconds: float) -> tuple[float, float]:
    """Return the requests to an object store, and the bytes that are put there, for files of a month each.

    A shard asks for its job, and puts and checks each of its files; the end of the run reads small files,
    puts them as larger ones, and deletes them. The journal is put in changes, and as a whole when these are
    half of it: about three times in all.
    """
    files = MONTHS * load.shards
    requests = load.shards + 4 * files + seconds / STORE_SECONDS + 8 * (1 + seconds / PUBLISH_SECONDS)
    sizes = largest(constants, load)
    return requests, 2 * RECORD * load.messages + 3 * sizes["journal"] + 2 * sizes["manifest"]


_LARGE: Final = (
    ("1 app, 1,000,000 users, 1,000,000,000 messages", 1_000_000, 10**9),
    ("1 app, 20,000 users, 1,000,000,000 messages", 20_000, 10**9),
    ("1 of 1,000 apps: 1,000 users, 1,000,000 messages", 1000, 10**6),
)


def large_table(constants: Constants, latency: float) -> list[tuple[str, ...]]:
    """Return the rows of the forecasts for a billion messages; all of them are extrapolated.

    There are as many workers as the documented limit keeps busy, a core each, and one for the coordinator.
    """
    rows: list[tuple[str, ...]] = []
    for name, sources, messages in _LARGE:
        load, rate = load_of(sources, messages), DOCUMENTED_RATES["standard"]
        waits = (load.requests * latency / CONCURRENCY + constants.idle * load.shards) / SLOTS
        workers = max(1, ceil(max(worker_cpu(constants, load), waits) * rate / load.requests))
        result = forecast(
            constants, load, workers=workers, rate=rate, latency=latency, cores=workers + 1, with_server=False
        )
        sizes, (requests, put) = largest(constants, load), bucket(constants, load, result.total)
        rows.append((
            name, f"{load.requests:,}", f"{workers}", *map(_time, result[:-1]), _time(result.total),
            result.first, *map(_bytes, sizes.values()), f"{load.shards:,}", f"{requests:,.0f}", _bytes(put),
        ))  # fmt: skip
    return rows


def apps_text(constants: Constants) -> str:
    """Return a line about 1,000 apps in one process without a cluster, as `--apps` reads them."""
    load = load_of(1000, 10**6)
    seconds = 1000 * (worker_cpu(constants, load) + coordinator_cpu(constants, load._replace(shards=0)))
    return f"1,000 such apps by one process, as --apps reads them: {_time(seconds)} of CPU time on one core"


LARGE_HEADS: Final = (
    "extrapolated", "requests", "workers", "limit", "waits", "CPU", "coordinator", "time", "longest",
    "memory", "journal", "manifest", "shards", "bucket: requests", "put",
)  # fmt: skip


def _time(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds:,.0f} s"


def _bytes(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
