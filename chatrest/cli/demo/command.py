"""`demo`: start an emulator, read a conversation, export everything with an interruption, and verify it."""

import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import click

from ...errors import ChatRestError
from ..invocation import invocation, version
from ..numbers import number_option
from ..running import run
from .service import run_emulator

if TYPE_CHECKING:
    from ...export import VerifyResult
    from ...session import AsyncSession
    from .display import DemoDisplay
    from .stages import ConversationStats, ExportStats

_NEXT: Final = (
    ("chatrest verify {out}", "read all files again and check every hash"),
    ('eval "$(chatrest emulator --messages 20000 &)"', "a test service in the background"),
    ("chatrest export elsewhere --format sqlite", "the same messages as a database with full-text search"),
    ("chatrest messages user-02 --on-behalf-of user-01 --limit 3", "messages as JSON lines"),
)


@click.command(short_help="Show what chatrest does in a few seconds; needs no account.")
@number_option("--users", 50, least=2, most=1000, help_text="Number of users.")
@number_option("--messages", 100_000, most=1_000_000, help_text="Number of messages.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("chat-export"),
    show_default=True,
    metavar="DIRECTORY",
    help="Folder for the exported files.",
)
@number_option("--seed", 0, help_text="The same seed and sizes generate the same messages.")
def demo(users: int, messages: int, out: Path, seed: int) -> None:
    """Show what chatrest does in a few seconds; needs no account, and writes to one folder only.

    Starts an emulator of the service on this machine with generated messages, reads a conversation, exports
    all messages of all users as JSON lines, interrupts that export and continues it, and verifies that no
    message is missing or stored twice. Run again, it replaces its own files and no others.

    \b
    Examples:
      chatrest demo
      chatrest demo --users 10 --messages 5000 --out elsewhere
    """
    from .display import DemoDisplay  # rich takes as long to load as all the rest
    from .folder import claim

    claim(out)
    run(_Demo(DemoDisplay(), out).run(users=users, messages=messages, seed=seed))


@final
class _Demo:
    """One run of the demo: its display and its folder."""

    def __init__(self, display: "DemoDisplay", folder: Path) -> None:
        self._display = display
        self._folder = folder

    async def run(self, *, users: int, messages: int, seed: int) -> None:
        """Run all stages in order."""
        began = time.perf_counter()
        self._display.head(f"chatrest {version()}: {messages:,} messages among {users:,} users")
        # These import aiohttp and more, which a help text does not need.
        from ...core.pace.pacer import Pace
        from ...session import AsyncSession

        async with AsyncExitStack() as stack:
            with self._display.bar(f"generating {messages:,} messages in another process"):
                app = await stack.enter_async_context(run_emulator(users=users, messages=messages, seed=seed))
            self._display.done("emulator", f"{app.base_url}, ready in {time.perf_counter() - began:.1f} s")
            # The emulator has no rate limit, so nothing is gained by a slow start.
            session = await stack.enter_async_context(AsyncSession(app, pace=Pace(rate=60_000)))
            await self._read(session, messages)
        self._check(messages)
        self._end(time.perf_counter() - began)

    async def _read(self, session: "AsyncSession", messages: int) -> None:
        from .folder import clear
        from .stages import export_everything, read_conversation

        self._print_conversation(await read_conversation(session))
        clear(self._folder)
        with self._display.bar("all users", messages) as tick:
            stats = await export_everything(session, self._folder, messages // 2, tick)
        self._print_export(stats)

    def _print_conversation(self, stats: "ConversationStats") -> None:
        total = sum(stats.kinds.values())
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in stats.kinds.most_common())
        self._display.done(
            "a conversation",
            f"{' and '.join(stats.users)}: {total:,} messages as typed objects in {stats.seconds:.2f} s",
            kinds or "these users have no messages to each other",
        )

    def _print_export(self, stats: "ExportStats") -> None:
        if stats.interrupted is not None:
            self._display.done(
                "interrupted", f"on purpose, with {stats.interrupted:,} messages on disk; then continued"
            )
        self._display.done(
            "all users",
            f"{stats.report.messages:,} messages of {stats.report.sources:,} users, "
            f"{stats.received / 1e6:,.1f} MB, {stats.requests:,} requests in {stats.seconds:.2f} s",
            f"{stats.report.messages / stats.seconds:,.0f} messages/s",
        )

    def _check(self, messages: int) -> None:
        from ...export import verify

        with self._display.bar("verifying"):
            verdict = verify(self._folder)
        if not verdict.ok or verdict.messages != messages:
            problems = [problem.text for problem in verdict.problems] or [f"{verdict.messages:,} messages"]
            raise ChatRestError(f"the export is not complete: {problems[0]}")
        self._display.head("verified")
        self._display.done("nothing missing", f"{messages:,} messages, as many as the service has")
        self._display.done(
            "no duplicates", "each message is stored once, though most are in two users' lists"
        )
        self._display.done("no damage", _hash_summary(verdict))

    def _end(self, seconds: float) -> None:
        self._display.head(f"finished in {seconds:.1f} s; the files are in {self._folder}/. Try next:")
        for line, why in _NEXT:
            self._display.command(line.format(out=self._folder).replace("chatrest", invocation(), 1), why)


def _hash_summary(verdict: "VerifyResult") -> str:
    return f"{verdict.files:,} files, {verdict.bytes / 1e6:,.1f} MB, every hash is correct"
