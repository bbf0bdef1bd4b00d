"""Progress on a terminal: a few lines that change in place, and are gone at the end."""

import sys
from typing import Final, Self, final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ...export.progress import Active
from ..streams import one_line
from .gauge import Figures
from .words import about, lasted, size, some

ROWS: Final = 8
"""Sources that have a line each."""
_BESIDES: Final = 7
"""Lines around them."""
_BAR: Final = 12


@final
class Terminal:
    """The lines, on standard error."""

    def __init__(self, out: str) -> None:
        self._out = out
        self._console = Console(file=sys.stderr, stderr=True)
        # What anybody else writes to standard error meanwhile comes above the lines, not into them.
        self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def show(self, figures: Figures) -> None:
        """Puts the figures in the place of the last ones."""
        rows = max(1, min(ROWS, self._console.height - _BESIDES))
        self._live.update(rendered(figures, self._out, rows), refresh=True)


def rendered(figures: Figures, out: str, rows: int = ROWS) -> RenderableType:
    """The lines; those above the sources are as many in one state as in the next, so that nothing jumps."""
    return Group(
        _head(figures, out),
        _share(figures),
        _counts(figures),
        _state(figures),
        _sources(figures, rows),
        Text(),  # where the cursor stays: a terminal writes ^C there, and at the end of a full line it wraps
    )


def _head(figures: Figures, out: str) -> RenderableType:
    title = Text.assemble((figures.phase, "bold"), f"  {one_line(out)}")
    return _between(title, Text(lasted(figures.elapsed)))


def _share(figures: Figures) -> RenderableType:
    if figures.share is None:
        return Text()
    left = "" if figures.left is None else f"  {about(figures.left)} left"
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(ratio=1)
    grid.add_column(justify="right", no_wrap=True, width=27)
    grid.add_row(ProgressBar(total=1.0, completed=figures.share), Text(f"{figures.share:.0%}{left}"))
    return grid


def _counts(figures: Figures) -> RenderableType:
    told = [
        f"{some(figures.messages, 'message')}",
        f"{figures.rate:,.0f}/s",
        size(figures.received),
        some(figures.requests, "request"),
    ]
    line = Text("   ".join(told), no_wrap=True, overflow="ellipsis")
    if figures.limited:
        line.append(f"   {figures.limited:,} × 429", style="yellow")
    return line


def _state(figures: Figures) -> RenderableType:
    found = Text(no_wrap=True, overflow="ellipsis")
    if figures.sources:
        found.append(f"{figures.done:,} of {some(figures.sources, 'source')}")
    for count, word in ((figures.changed, "changed"), (figures.vanished, "vanished")):
        found.append(f"   {count:,} {word}" if count else "")
    if figures.failed:
        found.append(f"   {figures.failed:,} failed", style="red")
    if figures.waits:
        found.append(f"   {one_line(figures.waits)}", style="yellow")
    return found


def _sources(figures: Figures, rows: int) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(width=_BAR)
    grid.add_column(justify="right", no_wrap=True, width=4)
    # The ones that take longest: what is done in a moment would only flicker.
    for active in figures.active[:rows]:
        grid.add_row(*_source(active))
    if len(figures.active) > rows:
        more = Text(f"  … and {len(figures.active) - rows:,} more", style="dim")
        return Group(grid, more)
    return grid


def _source(active: Active) -> tuple[RenderableType, ...]:
    return (
        Text(f"  {one_line(active.name)}", style="cyan"),
        Text(some(active.messages, "message")),
        ProgressBar(total=1.0, completed=active.share, width=_BAR),
        Text(f"{active.share:.0%}"),
    )


def _between(left: Text, right: Text) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(left, right)
    return grid
