"""Progress where no terminal is: a line when the phase changes, and every ten seconds."""

from typing import Final, Self, final

from .. import streams
from .gauge import Figures
from .words import moment

EVERY: Final = 10.0


@final
class Log:
    """Plain lines on standard error."""

    def __init__(self) -> None:
        self._phase = ""
        self._at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, figures: Figures) -> None:
        """Writes a line where it is time for one."""
        if figures.phase == "beginning":
            return
        if figures.phase != self._phase or figures.elapsed - self._at >= EVERY:
            self._phase, self._at = figures.phase, figures.elapsed
            streams.complain(moment(figures))
