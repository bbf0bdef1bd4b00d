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
from typing import TYPE_CHECKING, Final, TypeAlias, final

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

from ..errors import ChatRestError, RequestInvalidError
from ..export import Plan, Progress, Report, export, journal, manifest, run_log, verify
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


@final
class Demo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.display = DemoDisplay()

    async def read_conversation(self, session: "AsyncSession") -> None:
        began = time.perf_counter()
        users = [user.uid async for user in session.users.list().limit(2)]
        query = MessageQuery(affix="append")
        walk = session.messages.list_user(users[0], on_behalf_of=users[1], query=query)
        kinds = Counter([message.category async for message in walk])
        seconds = time.perf_counter() - began
        self.display.done(
            "a conversation",
            f"{' and '.join(users)}: {kinds.total():,} messages as typed objects in {seconds:.2f} s",
            ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
            or "these users have no messages to each other",
        )

    async def export_everything(self, session: "AsyncSession", messages: int) -> None:
        """Export all messages of all users, in two runs.

        The first run is interrupted once half of the `messages` are written; the second continues it.
        """
        clear(self.folder)
        began, sent = time.perf_counter(), _sent(session)
        first, second = Progress(), Progress()
        with self.display.bar("all users", messages) as tick:
            work = asyncio.ensure_future(export(session, self.folder, Plan(), progress=first))
            await _follow(work, first, tick, until=messages // 2)
            if is_interrupted := not work.done():
                work.cancel()
                with suppress(asyncio.CancelledError):
                    await work
            work = asyncio.ensure_future(export(session, self.folder, progress=second))
            await _follow(work, second, tick)
        report, seconds = await work, time.perf_counter() - began
        if is_interrupted:
            text = f"on purpose, with {first.written:,} messages on disk; then continued"
            self.display.done("interrupted", text)
        self.display.done(
            "all users",
            f"{report.messages:,} messages of {report.sources:,} users, "
            f"{(first.received + second.received) / 1e6:,.1f} MB, "
            f"{_sent(session) - sent:,} requests in {seconds:.2f} s",
            f"{report.messages / seconds:,.0f} messages/s",
        )

    def check(self, messages: int) -> None:
        """Verify that the export has so many messages; raise `ChatRestError` if it has not."""
        with self.display.bar("verifying"):
            result = verify(self.folder)
        if not result.ok or result.messages != messages:
            problems = [problem.text for problem in result.problems] or [f"{result.messages:,} messages"]
            raise ChatRestError(f"the export is not complete: {problems[0]}")
        size = f"{result.files:,} files, {result.bytes / 1e6:,.1f} MB"
        self.display.head("verified")
        self.display.done("nothing missing", f"{messages:,} messages, as many as the service has")
        once = "each message is stored once, though most are in two users' lists"
        self.display.done("no duplicates", once)
        self.display.done("no damage", f"{size}, every hash is correct")


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
        self._console.print()
        self._console.print(Text(text, style="bold"))

    def done(self, title: str, first: str, *more: str) -> None:
        self._console.print(Text.assemble(("✓ ", "bold green"), (_column(title), "bold"), first))
        for line in more:
            self._console.print(Text.assemble("  " + _column(""), line))

    def command(self, line: str, why: str) -> None:
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
