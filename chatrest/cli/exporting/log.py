"""Progress without a terminal: a line on standard error when the phase changes and every ten seconds."""

from typing import Final, Self, final

from .. import streams
from .format import progress_line
from .snapshot import Snapshot

LOG_INTERVAL: Final = 10.0
"""Seconds between two lines of one phase."""


@final
class LogDisplay:
    """A display that writes plain lines to standard error."""

    def __init__(self) -> None:
        self._phase = ""
        self._logged_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        """Write a line if the phase is new or ten seconds have passed."""
        if snapshot.phase == "beginning":
            return
        if snapshot.phase != self._phase or snapshot.elapsed - self._logged_at >= LOG_INTERVAL:
            self._phase, self._logged_at = snapshot.phase, snapshot.elapsed
            streams.warn(progress_line(snapshot))
