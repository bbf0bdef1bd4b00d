"""The data that travel between coordinator and workers: what is to be read, and what has arrived of it.

A shard names its sources by their numbers in the coordinator's journal. Their names, the plan and the rule of
placement are in the file of the job, a small database, in which workers look up what a shard needs.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

import msgspec
from msgspec import Struct

from .._storage import sql_in
from ..export.folder.adoption import ShardAttempt
from ..export.plan.id_set import IdSet
from ..export.plan.intervals import Gap, Interval
from ..export.plan.ownership import OwnershipRules, Source
from ..export.plan.plan import Plan
from ..export.store.segments import NEW
from .attempt_place import AttemptPlace

_SCHEMA: Final = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
CREATE TABLE job(app_id TEXT, plan TEXT, kinds TEXT, count INTEGER);
CREATE TABLE sources(number INTEGER PRIMARY KEY, key TEXT UNIQUE);
BEGIN
"""


class ShardSource(Struct, frozen=True, array_like=True):
    """The gaps of one source, by its number in the coordinator's journal."""

    number: int
    gaps: list[Gap]


class Budget(Struct, frozen=True, array_like=True):
    """The work after which a shard ends, whatever is left of it: the first of them that is reached."""

    requests: int = 2_000
    seconds: float = 20.0
    # Calls under way below which it ends, once there were twice as many: its last lists are better read
    # together with others. 0 for a shard that reads them to their ends.
    idle: int = 0
    grace: float = 10.0  # seconds after that in which replies may come: then it ends, whatever hangs


class Shard(Struct, frozen=True, array_like=True):
    """Lists, or pieces of lists, for one worker."""

    id: int
    job: str
    until: int  # the frozen end
    sources: list[ShardSource]
    budget: Budget
    concurrency: int


class SourceResult(Struct, frozen=True, array_like=True):
    """The facts about one source that a shard has found out, beside what is adopted."""

    number: int
    intervals: list[Interval]  # the ids that are covered now, by this shard
    shown: int = 0  # the messages that its list has shown
    newest: int = 0  # the highest id that its list is known to have; 0 where that was not asked for
    is_proven: bool = False
    may_be_cut: bool = True  # the service lets its list be entered at an id of our own
    is_left: bool = False  # the coordinator has to read it: its list goes by time, or is gone
    trouble: str = ""  # what ended its list, or that no reply came: another shard tries again, a few times


class ShardResult(Struct, frozen=True, array_like=True):
    """The result of a shard."""

    shard: int
    attempt: ShardAttempt = ShardAttempt()
    sources: list[SourceResult] = []
    requests: int = 0  # calls of this shard
    sent: int = 0  # requests of the worker since its last result, those that were made again included
    limited: int = 0  # those among them that were answered 429
    received: int = 0  # bytes of the pages
    page_items: int = 0  # of its largest page
    warnings: list[str] = []
    is_held: bool = False  # its time was over while requests waited for the rate: its lists may be well


@final
class OpenJob:
    """The data that all shards of a run have in common, as a worker looks them up in the file of the job.

    None of the plan's sources is in memory.
    """

    def __init__(self, path: Path) -> None:
        """The file needs no name once this has read it."""
        uri = f"{path.absolute().as_uri()}?immutable=1"
        self._db = sqlite3.connect(uri, uri=True, check_same_thread=False)
        self.app_id: str
        self.app_id, plan, self._kinds, self._count = self._db.execute("SELECT * FROM job").fetchone()
        self.plan: Plan = Plan.parse(plan)

    def sources(self, numbers: Collection[int]) -> dict[int, Source]:
        rows = sql_in(self._db, "SELECT number, key FROM sources WHERE number IN", numbers)
        return {number: Source.parse(key) for number, key in rows}

    def rules(self) -> OwnershipRules:
        """Return the rule of the plan for one shard."""
        if self._count == 1:
            [(key,)] = self._db.execute("SELECT key FROM sources")
            return OwnershipRules([Source.parse(key)])
        return OwnershipRules(number_of=self._number_of)

    def _number_of(self, source: Source) -> int | None:
        if source.kind not in self._kinds:
            return None
        row = self._db.execute("SELECT number FROM sources WHERE key = ?", (source.key,)).fetchone()
        return None if row is None else int(row[0])


def write_job(
    place: AttemptPlace, name: str, app_id: str, plan: Plan, sources: Iterable[tuple[int, Source]]
) -> None:
    """Put the file of a job in place: each source's number and key, as the rule of placement has them.

    The names of sources are nowhere else, so neither a task nor what the scheduler keeps of it has a uid.
    """
    if place.scratch is not None:
        place.scratch.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="chatrest-", suffix=NEW, dir=place.scratch) as folder:
        _write_database(path := Path(folder) / name, app_id, plan, sources)
        place.write_job(name, path)


def _write_database(path: Path, app_id: str, plan: Plan, sources: Iterable[tuple[int, Source]]) -> None:
    kinds = Counter[str]()

    def rows() -> Iterator[tuple[int, str]]:
        for number, source in sources:
            kinds[source.kind] += 1
            yield number, source.key

    of_files = Plan(  # the same files and messages, without the names of its sources, which may be many
        all_users=True, since=plan.since, until=plan.until, format=plan.format,
        compress=plan.compress, partition=plan.partition,
    )  # fmt: skip
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(_SCHEMA)
        db.executemany("INSERT INTO sources VALUES(?, ?)", rows())
        row = (app_id, of_files.encoded().decode(), " ".join(kinds), kinds.total())
        db.execute("INSERT INTO job VALUES(?, ?, ?, ?)", row)
        db.execute("COMMIT")


def _ids_as_bytes(value: object) -> bytes:
    assert isinstance(value, IdSet)
    return value.to_bytes()


def _ids_of_bytes(kind: type, value: bytes) -> IdSet:
    return IdSet.from_bytes(value)


def encode(value: Shard | ShardResult) -> bytes:
    return msgspec.msgpack.encode(value, enc_hook=_ids_as_bytes)


decode_shard: Final = msgspec.msgpack.Decoder(Shard).decode
decode_result: Final = msgspec.msgpack.Decoder(ShardResult, dec_hook=_ids_of_bytes).decode
