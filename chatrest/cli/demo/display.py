"""The demo's output: results on standard output, progress bars on standard error if that is a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from .stages import Tick

_WIDTH: Final = 17


class _PipeConsole(Console):
    """A console that raises `BrokenPipeError` when the reader of its pipe is gone."""

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError`; rich itself would end the process with status 1."""
        raise BrokenPipeError


@final
class DemoDisplay:
    """One line per result; styled on a terminal, plain elsewhere."""

    def __init__(self) -> None:
        self._console = _PipeConsole(file=sys.stdout, soft_wrap=True, highlight=False)
        self._bars = Console(stderr=True)

    def head(self, text: str) -> None:
        """Print a bold line with an empty line above it."""
        self._console.print()
        self._console.print(Text(text, style="bold"))

    def row(self, name: str, text: str) -> None:
        """Print a name and its value."""
        self._console.print(Text.assemble(("  " + _column(name), "cyan"), text))

    def done(self, title: str, first: str, *more: str) -> None:
        """Print a finished stage: its title, and one line for each further text."""
        self._console.print(Text.assemble(("✓ ", "bold green"), (_column(title), "bold"), first))
        for line in more:
            self._console.print(Text.assemble("  " + _column(""), line))

    def command(self, line: str, why: str) -> None:
        """Print a command to copy, below a comment that explains it."""
        self._console.print(Text.assemble("  ", (f"# {why}", "dim"), "\n  ", (line, "cyan")))

    @contextmanager
    def bar(self, title: str, total: int | None = None) -> Iterator[Tick]:
        """Show a progress bar during the block; without `total`, only a spinner and the elapsed time.

        Yields a function that takes how many more items are done.
        """
        if not self._bars.is_terminal:
            yield lambda _: None
            return
        counted = [BarColumn(), MofNCompleteColumn()] if total is not None else []
        columns = [SpinnerColumn(), TextColumn("{task.description}"), *counted, TimeElapsedColumn()]
        with Progress(*columns, console=self._bars, transient=True) as progress:
            task = progress.add_task(title, total=total)
            yield lambda more: progress.advance(task, more)


def _column(text: str) -> str:
    return f"{text:<{_WIDTH}} "
