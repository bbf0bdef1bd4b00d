"""The data that travel between coordinator and workers: what is to be read, and what has come of it. Pure.

A shard names its sources by their numbers in the coordinator's journal, so that neither a task nor what the
scheduler keeps of it holds a uid. Names, plan and rule of placement are in the job, which each worker reads
from a file of the export's folder.
"""

import sys
from typing import Final, Literal, TypeAlias, final

import msgspec
from msgspec import Struct

from ..core.paging.intervals import Gap, Interval
from ..export.adoption import ShardAttempt
from ..export.id_set import IdSet
from ..export.ownership import OwnershipRules, Source
from ..export.plan import Plan

FailureKind: TypeAlias = Literal[
    "credentials", "other_app", "key_refused", "no_job", "no_store", "version", "ended", "error"
]
"""credentials: the worker has none; other_app: those that it has are of another app; key_refused: the service
refuses its key; no_job: it does not see the job's file; no_store:
it cannot read the store; version: it runs another version of chatrest; ended:
the worker, or the job, ends; error: anything else, such as a disk that is full."""


@final
class ShardSource(Struct, frozen=True, array_like=True):
    """The gaps of one source, which are to be read."""

    number: int
    """In the coordinator's journal."""
    gaps: list[Gap]


@final
class Budget(Struct, frozen=True, array_like=True):
    """The work after which a shard ends, whatever is left of it: the first of them that is reached."""

    requests: int = 2_000
    seconds: float = 20.0
    idle: int = 0
    """Calls under way below which it ends, once there were twice as many: its last lists are better read
    together with others. 0 for a shard that reads them to their ends."""


@final
class Shard(Struct, frozen=True, array_like=True):
    """Lists, or pieces of lists, for one worker."""

    id: int
    job: str
    """The name of the job's file."""
    until: int
    """The frozen end."""
    sources: list[ShardSource]
    budget: Budget
    concurrency: int
    """The requests that may be under way at the same time."""


@final
class SourceResult(Struct, frozen=True, array_like=True):
    """The facts about one source that a shard has found out, beside what is adopted."""

    number: int
    intervals: list[Interval]
    """The ids that are covered now, by this shard."""
    shown: int = 0
    """The number of messages that its list has shown."""
    newest: int = 0
    """The highest id that its list is known to have; 0 where that was not asked for."""
    is_proven: bool = False
    may_be_cut: bool = True
    """False where the service does not let its list be entered at an id of our own."""
    is_left: bool = False
    """True where the coordinator has to read it: its list goes by time, or could not be read."""


@final
class ShardResult(Struct, frozen=True, array_like=True):
    """The result of a shard."""

    shard: int
    attempt: ShardAttempt | None = None
    """The attempt that is adopted; None where the shard failed as a whole."""
    sources: list[SourceResult] = []
    requests: int = 0
    """Calls of this shard."""
    sent: int = 0
    """Requests of the worker since its last result, those that were made again included."""
    limited: int = 0
    """Those among them that were answered 429."""
    received: int = 0
    """Bytes of the pages that came."""
    page_items: int = 0
    """The messages of its largest page."""
    warnings: list[str] = []
    """Of its run, a sentence each."""
    failure: FailureKind | None = None
    reason: str = ""
    worker: str = ""
    """The address of the worker that failed."""


@final
class ShardJob(Struct, frozen=True, kw_only=True):
    """The data that all shards of a run have in common; kept in a file of the export's folder."""

    version: str
    """Of chatrest: coordinator and workers have to have the same."""
    app_id: str
    plan: bytes
    """The plan without the names of its sources."""
    sources: list[tuple[int, str]]
    """The number and the key of each source of the plan, in the order of the rule of placement."""


@final
class OpenJob:
    """A job as a worker uses it. Costs about half a KB of memory a source of the plan."""

    def __init__(self, job: ShardJob) -> None:
        self.job: ShardJob = job
        self.plan: Plan = Plan.parse(job.plan)
        self.sources: dict[int, Source] = {number: Source.parse(key) for number, key in job.sources}
        self.rules: OwnershipRules = OwnershipRules(self.sources.values())


def installed_version() -> str:
    """Return the version of chatrest that this process runs."""
    return str(vars(sys.modules[__name__.partition(".")[0]])["__version__"])


def _ids_as_bytes(value: object) -> bytes:
    assert isinstance(value, IdSet)
    return value.to_bytes()


def _ids_of_bytes(kind: type, value: bytes) -> IdSet:
    return IdSet.from_bytes(value)


_JOB: Final = msgspec.msgpack.Decoder(ShardJob)
_SHARD: Final = msgspec.msgpack.Decoder(Shard)
_RESULT: Final = msgspec.msgpack.Decoder(ShardResult, dec_hook=_ids_of_bytes)


def encode(value: ShardJob | Shard | ShardResult) -> bytes:
    """Return a job, a shard or a result as bytes."""
    return msgspec.msgpack.encode(value, enc_hook=_ids_as_bytes)


def decode_job(data: bytes) -> ShardJob:
    """Return the job of its bytes; `msgspec.DecodeError` where they are none."""
    return _JOB.decode(data)


def decode_shard(data: bytes) -> Shard:
    """Return the shard of its bytes."""
    return _SHARD.decode(data)


def decode_result(data: bytes) -> ShardResult:
    """Return the result of its bytes."""
    return _RESULT.decode(data)


def plan_of_files(plan: Plan) -> Plan:
    """Return a plan for the same files and messages without the names of its sources, which may be many."""
    return Plan(
        all_users=True,
        since=plan.since,
        until=plan.until,
        query=plan.query,
        format=plan.format,
        compress=plan.compress,
        partition=plan.partition,
    )
