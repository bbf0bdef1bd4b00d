"""What a demo shows: its story on standard output, and bars on standard error where that is a terminal."""

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


class _Story(Console):
    """A console for which a pipe whose reader left is what it is for everybody else here."""

    def on_broken_pipe(self) -> None:
        """Rich ends the process here, with 1."""
        raise BrokenPipeError


@final
class Display:
    """One line per thing done; styled on a terminal, plain elsewhere."""

    def __init__(self) -> None:
        self._story = _Story(file=sys.stdout, soft_wrap=True, highlight=False)
        self._bars = Console(stderr=True)

    def head(self, text: str) -> None:
        """A line in bold, with space above it."""
        self._story.print()
        self._story.print(Text(text, style="bold"))

    def row(self, name: str, text: str) -> None:
        """Something by its name, and what it is."""
        self._story.print(Text.assemble(("  " + _column(name), "cyan"), text))

    def done(self, title: str, first: str, *more: str) -> None:
        """A thing done, and what is to be told of it, a line each."""
        self._story.print(Text.assemble(("✓ ", "bold green"), (_column(title), "bold"), first))
        for line in more:
            self._story.print(Text.assemble("  " + _column(""), line))

    def command(self, line: str, why: str) -> None:
        """What a command does, and the command to copy."""
        self._story.print(Text.assemble("  ", (f"# {why}", "dim"), "\n  ", (line, "cyan")))

    @contextmanager
    def bar(self, title: str, total: int | None = None) -> Iterator[Tick]:
        """A bar while something is done, gone after it; without a total only that it goes on."""
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
