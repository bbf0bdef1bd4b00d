"""Who looks at a run, how often, and where it shows: on a terminal, in a log, or nowhere."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol, Self, final

from ...session import AsyncSession
from .. import streams
from .gauge import Figures, Gauge

_EVERY: Final = 0.25
"""Seconds between two looks."""


class Display(Protocol):
    """Where figures go. Used with `with`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...

    def show(self, figures: Figures) -> None:
        """Shows the figures of this moment."""


@final
class Silence:
    """Nowhere."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, figures: Figures) -> None:
        """Does nothing."""


def display_of(out: str, *, quiet: bool) -> Display:
    """A terminal's lines where standard error is one, a log elsewhere."""
    if quiet:
        return Silence()
    if streams.is_terminal("stderr") and os.environ.get("TERM", "dumb") != "dumb":
        from .terminal import Terminal  # rich takes as long to load as all the rest

        return Terminal(out)
    from .log import Log

    return Log()


@asynccontextmanager
async def watched(gauge: Gauge, display: Display, session: AsyncSession) -> AsyncIterator[None]:
    """Shows the figures four times a second, as long as the block runs."""
    whole = asyncio.current_task()
    assert whole is not None

    def look() -> None:
        display.show(gauge.look(session.pools.values(), stopping=whole.cancelling() > 0))

    async def look_on() -> None:
        with suppress(OSError):  # who closed their terminal has not asked for the export to end
            while True:
                look()
                await asyncio.sleep(_EVERY)

    watch = asyncio.create_task(look_on())
    try:
        yield
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
