"""How far an export has come: numbers that the run keeps, and that whoever shows them reads when it likes."""

from typing import final

from msgspec import Struct

from ..telemetry import Attempt, Record

__all__ = ["Active", "Progress"]


class Active(Struct):
    """A source that is being walked now."""

    name: str
    share: float = 0.0
    """Of its ids, from 0 to 1."""
    messages: int = 0


@final
class Progress:
    """The numbers of one run. Nothing here waits, prints, or costs more than an addition."""

    def __init__(self) -> None:
        self.phase = "beginning"
        self.jobs = 0
        """What is left to be walked, as pieces of sources."""
        self.ids = 0
        """How many ids there are to cover, over all sources; 0 where the service does not tell."""
        self.covered = 0
        """How many of them are, messages or not: what an ETA can be made of."""
        self.sources = 0
        self.done = 0
        """Sources that are walked to their end."""
        self.failed = 0
        self.written = 0
        self.changed = 0
        self.vanished = 0
        self.received = 0
        """Bytes of pages."""
        self.requests = 0
        self.limited = 0
        """Requests that were answered 429."""
        self.repeated = 0
        """Requests that were made again, after any failure."""
        self.trouble: str | None = None
        """The class of the newest failed attempt's error, until a request succeeds."""
        self.active: dict[int, Active] = {}
        """By the number of its job."""
        self.waits_for_disk = False

    def heard(self, record: Record) -> None:
        """A telemetry listener: `AsyncSession(app, telemetry=progress.heard)`."""
        if not isinstance(record, Attempt):
            return
        self.requests += 1
        self.limited += record.status == 429
        self.repeated += record.number > 1
        self.trouble = record.error
