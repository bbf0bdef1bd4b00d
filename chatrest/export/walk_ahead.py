"""The interface of what reads lists before a run reads them itself: on other machines."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ..core.paging.intervals import Gap
from .journal import SourceState
from .source_list import SourceList
from .worker_pool import WorkerPool


class OpenWalk(NamedTuple):
    """A run that is about to read lists."""

    sources: SourceList
    pool: WorkerPool
    """Has the archive and the progress, counts what was written, and knows the sources that have failed, or
    whose end was proven."""
    until: int
    """The frozen end."""
    gaps: Callable[[SourceState], list[Gap]]
    """The ids of a source that are to be read, by what the journal has now."""


class WalkAhead(Protocol):
    """Reads what it can of the gaps of a run; the run itself reads what is left."""

    @property
    def requests(self) -> int:
        """The number of requests that it has sent."""

    async def __call__(self, walk: OpenWalk, /) -> None:
        """Read, and commit to the archive."""
