"""The progress of an export: numbers that a run keeps, to be read at any time."""

from typing import final

from msgspec import Struct

from ..telemetry import Attempt, Record

__all__ = ["Active", "Progress"]


class Active(Struct):
    """A source that is being read now."""

    name: str
    share: float = 0.0
    """How much of its range of ids is done, from 0 to 1."""
    messages: int = 0
    """Messages that were read of it."""


@final
class Progress:
    """The numbers of one run: `export(…, progress=progress)` updates them, and any task may read them.

    With `AsyncSession(app, telemetry=progress.heard)` it counts requests, too.
    """

    def __init__(self) -> None:
        self.phase = "beginning"
        """The step of the run, in words."""
        self.jobs = 0
        """Pieces of lists that wait to be read."""
        self.ids = 0
        """The size of the range of ids to be read, over all sources; 0 where the service does not tell."""
        self.covered = 0
        """How much of that range is done: `covered / ids` is the share of the work."""
        self.sources = 0
        """Sources of the plan."""
        self.done = 0
        """Sources that are read to their end."""
        self.failed = 0
        """Sources that could not be read."""
        self.written = 0
        """Messages that were added."""
        self.changed = 0
        """Messages that were replaced by a newer version."""
        self.deleted = 0
        """Messages that a recheck did not find in the service any more."""
        self.received = 0
        """Bytes of the pages that came."""
        self.requests: int = 0
        """Requests that were sent."""
        self.limited: int = 0
        """Requests that were answered 429."""
        self.repeated: int = 0
        """Requests that were made again, after any failure."""
        self.trouble: str | None = None
        """The class of the newest failed attempt's error, until a request succeeds."""
        self.active: dict[int, Active] = {}
        """The sources that are being read now, by a number of their own."""
        self.waits_for_disk = False
        """True while the disk is slower than the service."""

    def heard(self, record: Record) -> None:
        """Count a request: a telemetry listener, `AsyncSession(app, telemetry=progress.heard)`."""
        if not isinstance(record, Attempt):
            return
        self.requests += 1
        self.limited += record.status == 429
        self.repeated += record.number > 1
        self.trouble = record.error
