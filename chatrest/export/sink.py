"""The interface of what writes an export's rows, whatever the format: `ndjson`, `parquet` or `sqlite`.

A batch is: `add`, once or more; `flush`, after which the rows are on the disk; the journal's commit, after
which they count; `maintain`. What was added and not committed never happened: `rollback`, and when the export
is opened again, `recover`.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Protocol

from ..core.replies.rows import Row
from ..errors import RequestInvalidError
from ..extras import missing_extra
from .formats.compression import compression
from .id_set import IdSet
from .message_ids import PageIds
from .ownership import Source
from .plan import Plan
from .workspace import LAST, StoredRow, Workspace


class Sink(Protocol):
    """The place of the rows. Its methods are called by one thread at a time."""

    @property
    def upserts(self) -> bool:
        """True where a row that is there already may be added again: then it takes the place of the old one,
        which is kept as a version."""

    def recover(self) -> None:
        """Bring disk and journal together, first of all and inside of a transaction.

        What is not on disk is dropped from the journal; only torn ends are removed. Raises OSError, and
        `ChatRestError` for a name that leads outside of the folder.
        """

    def written_ids(self) -> IdSet:
        """Return the ids that are on disk, those that are no numbers excepted."""

    def add(self, number: int, source: Source, rows: list[Row], ids: PageIds | None = None) -> int:
        """Take rows that the source of this number writes; return how many of them are new.

        `ids` are those of the rows, where they are known: they are not computed twice then. Called inside of
        a transaction.
        """

    def flush(self) -> None:
        """Write what was taken: it is on the disk, and survives a loss of power. Inside of a transaction."""

    def rollback(self) -> None:
        """Forget what was taken since the last commit."""

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """Yield rows on disk, each once: at least those from id `first` to `last`, sent at `since` or later.

        Costs the reading of the blocks that may hold one; memory for a block. A row that has no number for an
        id, or no time, is always among them.
        """

    def counts(self) -> dict[int, int]:
        """Return how many messages are on disk, by the number of the source that wrote them."""

    def apply_updates(self) -> int:
        """Put messages of the journal's table `changed` in the place of their older versions, which are kept.

        Returns how many. Survives a crash at any point. Called outside of a transaction.
        """

    def compact(self, least: int, begin: Callable[[], None]) -> int:
        """Merge the small files of each partition that has at least `least` of them (2 where it is lower).

        `begin` is called before the first change. Returns how many files are gone. Survives a crash at any
        point. Called outside of a transaction.
        """

    def maintain(self) -> None:
        """Do after a commit what need not be in its transaction; outside of a transaction."""

    def finish(self) -> None:
        """Bring everything into its final shape and place. Called outside of a transaction."""

    def close(self) -> None:
        """Close what is open."""


def check_installed(plan: Plan) -> None:
    """Raise `RequestInvalidError` where what the plan's format needs is not installed."""
    if plan.format == "parquet" and find_spec("pyarrow") is None:
        raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet"))
    if plan.format == "ndjson":
        compression(plan.compress or "none")


def sink_of(plan: Plan, workspace: Workspace) -> Sink:
    """Return the sink of the plan's format; `RequestInvalidError` where what it needs is not installed."""
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
