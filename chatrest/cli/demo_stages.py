"""What the demo does: its stages, its folder and its output.

It reads a conversation, and exports everything with an interruption on purpose. The folder has a marker file,
and the next demo may replace the files that its journal names; all others stay. Results are printed on
standard output, progress bars on standard error if that is a terminal.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from ..errors import RequestInvalidError
from ..export import Plan, Progress, Report, export, journal, manifest, run_log
from ..export.file_names import SPOOL, path_inside
from ..parameters.messages import MessageQuery

if TYPE_CHECKING:
    from ..session import AsyncSession

Tick: TypeAlias = Callable[[int], None]
MARK: Final = ".chatrest-demo"
_MARK_TEXT: Final = "These files were written by `chatrest demo`, which replaces them when it is run again.\n"
_POLL_INTERVAL: Final = 0.01
"""Seconds between two readings of the export's progress."""
_TITLE_WIDTH: Final = 17


class ConversationStats(NamedTuple):
    """The users of a conversation, its messages by category, and the seconds it took to read."""

    users: tuple[str, str]
    kinds: Counter[str]
    seconds: float


class ExportStats(NamedTuple):
    """Both runs of the export together."""

    interrupted: int | None
    """Messages on disk when the first run was interrupted; None if it finished before that."""
    report: Report
    seconds: float
    requests: int
    received: int
    """Bytes of all pages."""


async def read_conversation(session: "AsyncSession") -> ConversationStats:
    """Read all messages between the first two users, oldest first, as typed objects."""
    began = time.perf_counter()
    users = [user.uid async for user in session.users.list().limit(2)]
    walk = session.messages.list_user(users[0], on_behalf_of=users[1], query=MessageQuery(affix="append"))
    kinds = Counter([message.category async for message in walk])
    return ConversationStats((users[0], users[1]), kinds, time.perf_counter() - began)


async def export_everything(session: "AsyncSession", folder: Path, half: int, tick: Tick) -> ExportStats:
    """Export all messages of all users to `folder`, in two runs.

    The first run is interrupted once `half` messages are written; the second continues it. `tick` takes how
    many more messages are written.
    """
    began, sent = time.perf_counter(), _sent(session)
    first, second = Progress(), Progress()
    interrupted = None
    first_run = asyncio.ensure_future(export(session, folder, Plan(), progress=first))
    await _follow(first_run, first, tick, until=half)
    if not first_run.done():
        first_run.cancel()
        with suppress(asyncio.CancelledError):
            await first_run
        interrupted = first.written
    second_run = asyncio.ensure_future(export(session, folder, progress=second))
    await _follow(second_run, second, tick)
    received = first.received + second.received
    seconds = time.perf_counter() - began
    return ExportStats(interrupted, await second_run, seconds, _sent(session) - sent, received)


async def _follow(work: Awaitable[Report], progress: Progress, tick: Tick, until: int | None = None) -> None:
    """Wait until `work` ends or `until` messages are written; report new messages to `tick`."""
    reported = 0
    while True:
        ended, _ = await asyncio.wait([asyncio.ensure_future(work)], timeout=_POLL_INTERVAL)
        tick(progress.written - reported)
        reported = progress.written
        if ended or (until is not None and reported >= until):
            return


def _sent(session: "AsyncSession") -> int:
    return sum(pool.sent for pool in session.pools.values())


# ── the folder ──


def claim(folder: Path) -> None:
    """Create the folder; raise `RequestInvalidError` if it is neither empty nor from an earlier demo."""
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"{folder} is not a folder: choose another with --out")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / MARK).exists():
        raise RequestInvalidError(
            f"{folder} has files that are not from a demo, and is not changed: choose another with --out"
        )


def clear(folder: Path) -> None:
    """Remove the files of an earlier demo, and mark the folder as the demo's; errors as `claim`."""
    claim(folder)
    (folder / MARK).write_text(_MARK_TEXT)
    journal_path = folder / journal.NAME
    if not journal_path.exists():
        return
    earlier = journal.Journal(journal_path)
    spooled = [f"{SPOOL}/{file.number}.new" for file in earlier.files()]
    names = [*(file.name for file in earlier.files()), *spooled]
    earlier.close()
    for path in (path_inside(folder, name) for name in names):
        path.unlink(missing_ok=True)
        _remove_empty(path.parent, folder)
    for name in (manifest.NAME, run_log.NAME, journal_path.name):
        (folder / name).unlink(missing_ok=True)


def _remove_empty(path: Path, folder: Path) -> None:
    """Remove a folder below `folder` and those that it is in, as far as they are empty."""
    while path != folder and path.is_dir() and not any(path.iterdir()):
        path.rmdir()
        path = path.parent


# ── the output ──


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
        with Bar(*columns, console=self._bars, transient=True) as progress:
            task = progress.add_task(title, total=total)
            yield lambda more: progress.advance(task, more)


def _column(text: str) -> str:
    return f"{text:<{_TITLE_WIDTH}} "
