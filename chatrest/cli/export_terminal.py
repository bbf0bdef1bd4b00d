"""Progress on a terminal: a few lines that are updated in place and removed at the end."""

import sys
from typing import Final, Self, final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..export.report import Active
from .export_progress import Snapshot
from .export_texts import about, duration, plural, size
from .streams import one_line

ROWS: Final = 8
"""The largest number of sources that have a line each."""
_OTHER_LINES: Final = 7
"""Lines above and below the sources."""
_BAR: Final = 12


@final
class TerminalDisplay:
    def __init__(self, out: str) -> None:
        self._out = out
        self._console = Console(file=sys.stderr, stderr=True)
        # Rich prints other output to standard error above these lines.
        self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def show(self, snapshot: Snapshot) -> None:
        rows = max(1, min(ROWS, self._console.height - _OTHER_LINES))
        self._live.update(rendered(snapshot, self._out, rows), refresh=True)


def rendered(snapshot: Snapshot, out: str, rows: int = ROWS) -> RenderableType:
    """The lines of `snapshot`; the number of lines above the sources is constant, so that nothing jumps."""
    return Group(
        _head(snapshot, out),
        _share(snapshot),
        _counts(snapshot),
        _state(snapshot),
        _sources(snapshot, rows),
        Text(),  # the cursor's line: a terminal writes ^C there, which would wrap after a full line
    )


def _head(snapshot: Snapshot, out: str) -> RenderableType:
    title = Text.assemble((snapshot.title, "bold"), f"  {one_line(out)}")
    return _left_and_right(title, Text(duration(snapshot.elapsed)))


def _share(snapshot: Snapshot) -> RenderableType:
    if snapshot.share is None:
        return Text()
    left = "" if snapshot.left is None else f"  {about(snapshot.left)} left"
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(ratio=1)
    grid.add_column(justify="right", no_wrap=True, width=27)
    grid.add_row(ProgressBar(total=1.0, completed=snapshot.share), Text(f"{snapshot.share:.0%}{left}"))
    return grid


def _counts(snapshot: Snapshot) -> RenderableType:
    progress = snapshot.progress
    parts = [
        f"{plural(progress.written, 'message')}",
        f"{snapshot.rate:,.0f}/s",
        size(progress.received),
        plural(progress.requests, "request"),
    ]
    line = Text("   ".join(parts), no_wrap=True, overflow="ellipsis")
    if progress.limited:
        line.append(f"   {progress.limited:,} × 429", style="yellow")
    return line


def _state(snapshot: Snapshot) -> RenderableType:
    line, progress = Text(no_wrap=True, overflow="ellipsis"), snapshot.progress
    if progress.sources:
        line.append(f"{progress.done:,} of {plural(progress.sources, 'source')}")
    for count, word in ((progress.changed, "changed"), (progress.deleted, "deleted")):
        line.append(f"   {count:,} {word}" if count else "")
    if progress.failed:
        line.append(f"   {progress.failed:,} failed", style="red")
    if progress.unpublished:
        line.append(f"   {one_line(progress.unpublished)}", style="red")
    if snapshot.waits:
        line.append(f"   {one_line(snapshot.waits)}", style="yellow")
    return line


def _sources(snapshot: Snapshot, rows: int) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(width=_BAR)
    grid.add_column(justify="right", no_wrap=True, width=4)
    # Those that started first, as short ones would only flicker.
    active = list(snapshot.progress.active.values())
    for source in active[:rows]:
        grid.add_row(*_source(source))
    if len(active) > rows:
        more = Text(f"  … and {len(active) - rows:,} more", style="dim")
        return Group(grid, more)
    return grid


def _source(active: Active) -> tuple[RenderableType, ...]:
    return (
        Text(f"  {one_line(active.name)}", style="cyan"),
        Text(plural(active.messages, "message")),
        ProgressBar(total=1.0, completed=active.share, width=_BAR),
        Text(f"{active.share:.0%}"),
    )


def _left_and_right(left: Text, right: Text) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(left, right)
    return grid
