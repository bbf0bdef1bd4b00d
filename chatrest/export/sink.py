"""What writes an export's rows, in whichever format: one interface, three files (ndjson, parquet, database).

A batch goes: `add` some rows, and more of them; `flush`, after which they are on the disk; the journal's
commit, after which they count. What was added and not committed never happened: `forget`, and when the
export is opened again, `repair`.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Protocol

from ..core.rows import Row
from ..errors import RequestInvalidError
from .formats.compression import compression
from .id_set import IdSet
from .ownership import Source
from .plan import Plan
from .workspace import LAST, MissingIds, StoredRow, Workspace


class Sink(Protocol):
    """Where rows go. Its methods are called by one thread at a time, inside of the journal's transaction."""

    @property
    def upserts(self) -> bool:
        """Whether a row that is there already may be added again: then it takes the place of the old one,
        which is kept as a version."""

    def recover(self) -> list[MissingIds]:
        """Brings the disk to what the journal says: torn ends are cut off. What it lacks is lost."""

    def add(self, number: int, source: Source, rows: list[Row]) -> int:
        """Takes rows that the source of this number writes; how many of them are new."""

    def flush(self) -> None:
        """All that was taken is on the disk, and survives a loss of power."""

    def rollback(self) -> None:
        """What was taken since the last commit never happened."""

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """The rows on disk, each once: at least those from id `first` to `last`, sent at `since` or later.

        Costs the reading of the blocks that may hold one; memory for a block. A row that has no number for an
        id, or tells no time, is always among them.
        """

    def written_ids(self) -> IdSet:
        """The ids of all rows on disk that are numbers."""

    def counts(self) -> dict[int, int]:
        """How many messages are on disk, by the number of the source that wrote them."""

    def apply_updates(self) -> int:
        """Messages in the journal's table `changed` take the places of their older versions, which are kept;
        how many. Survives a crash at any point. Called outside of a transaction."""

    def maintain(self) -> None:
        """A moment between two batches, for what need not wait for the end; outside of a transaction."""

    def finish(self) -> None:
        """Everything is in its final shape and place. Called outside of a transaction."""

    def close(self) -> None:
        """Lets go of what is open."""


def check_installed(plan: Plan) -> None:
    """`RequestInvalidError` where what the plan's format needs is not installed."""
    if plan.format == "parquet" and find_spec("pyarrow") is None:
        raise RequestInvalidError("format = 'parquet': it needs the extra: pip install 'chatrest[parquet]'")
    if plan.format == "ndjson":
        compression(plan.compress or "none")


def sink_of(plan: Plan, workspace: Workspace) -> Sink:
    """The sink of the plan's format; `RequestInvalidError` where what it needs is not installed."""
    match plan.format:
        case "ndjson":
            from .formats.ndjson import NdjsonSink

            return NdjsonSink(plan, workspace)
        case "parquet":
            from .formats.parquet import ParquetSink

            return ParquetSink(plan, workspace)
        case "sqlite":
            from .formats.sqlite import DatabaseSink

            return DatabaseSink(plan, workspace)
