"""`demo`: starts an emulator, reads a conversation, exports everything, is interrupted, goes on, checks."""

import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import click

from ...errors import ChatRestError
from ..invocation import typed, version
from ..numbers import number
from ..running import run
from .service import emulated

if TYPE_CHECKING:
    from ...export import Verdict
    from ...session import AsyncSession
    from .display import Display
    from .stages import Exported, Talk

_NEXT: Final = (
    ("chatrest verify {out}", "reads all of it again, and checks every hash"),
    ('eval "$(chatrest emulator --messages 20000 &)"', "a service to play with, in the background"),
    ("chatrest export elsewhere --format sqlite", "the same, as a database with full-text search"),
    ("chatrest messages user-02 --on-behalf-of user-01 --limit 3", "its messages, a JSON line each"),
)


@click.command(short_help="Shows what chatrest does, in seconds; needs no account.")
@number("--users", 50, least=2, most=1000, what="Among how many users.")
@number("--messages", 100_000, most=1_000_000, what="How many messages.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("chat-export"),
    show_default=True,
    metavar="DIRECTORY",
    help="Where the files go.",
)
@number("--seed", 0, what="The same seed and sizes make the same messages.")
def demo(users: int, messages: int, out: Path, seed: int) -> None:
    """Shows what chatrest does, in seconds: it needs no account, and writes to one directory alone.

    Starts the documented service on this machine, with made messages; reads a conversation; exports all
    messages of all users as JSON lines, is interrupted in the midst, and goes on; and checks that nothing
    was lost and nothing came twice. Run again, it replaces its own files; it touches nobody else's.

    \b
    Examples:
      chatrest demo
      chatrest demo --users 10 --messages 5000 --out elsewhere
    """
    from .display import Display  # rich takes as long to load as all the rest
    from .folder import claim

    claim(out)
    run(_Demo(Display(), out).show(users=users, messages=messages, seed=seed))


@final
class _Demo:
    """One run: what it shows, and where it writes."""

    def __init__(self, display: "Display", folder: Path) -> None:
        self._display = display
        self._folder = folder

    async def show(self, *, users: int, messages: int, seed: int) -> None:
        """The whole story."""
        began = time.perf_counter()
        self._display.head(f"chatrest {version()}: {messages:,} messages among {users:,} users")
        from ...session import AsyncSession  # brings the network along, which no help text needs

        async with AsyncExitStack() as stack:
            with self._display.bar(f"making {messages:,} messages, in a process of its own"):
                app = await stack.enter_async_context(emulated(users=users, messages=messages, seed=seed))
            self._display.done("emulator", f"{app.base_url}, ready in {time.perf_counter() - began:.1f} s")
            session = await stack.enter_async_context(AsyncSession(app))
            await self._read(session, messages)
        self._check(messages)
        self._end(time.perf_counter() - began)

    async def _read(self, session: "AsyncSession", messages: int) -> None:
        from .folder import clear
        from .stages import conversation, everything

        self._tell_talk(await conversation(session))
        clear(self._folder)
        with self._display.bar("everybody", messages) as tick:
            found = await everything(session, self._folder, messages // 2, tick)
        self._tell_export(found)

    def _tell_talk(self, talk: "Talk") -> None:
        total = sum(talk.kinds.values())
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in talk.kinds.most_common())
        self._display.done(
            "a conversation",
            f"{' and '.join(talk.users)}: {total:,} messages, typed, in {talk.seconds:.2f} s",
            kinds or "they have not written to each other",
        )

    def _tell_export(self, found: "Exported") -> None:
        if found.interrupted is not None:
            self._display.done(
                "interrupted", f"on purpose, with {found.interrupted:,} messages safe; and gone on with"
            )
        self._display.done(
            "everybody",
            f"{found.report.messages:,} messages of {found.report.sources:,} users, "
            f"{found.received / 1e6:,.1f} MB, {found.requests:,} requests in {found.seconds:.2f} s",
            f"{found.report.messages / found.seconds:,.0f} messages/s",
        )

    def _check(self, messages: int) -> None:
        from ...export import verify

        with self._display.bar("checking"):
            verdict = verify(self._folder)
        if not verdict.ok or verdict.messages != messages:
            told = [problem.text for problem in verdict.problems] or [f"{verdict.messages:,} messages"]
            raise ChatRestError(f"the export is not whole: {told[0]}")
        self._display.head("checked")
        self._display.done("nothing lost", f"{messages:,} messages, as many as the service holds")
        self._display.done("nothing twice", "each id stands once, though most messages are in two lists")
        self._display.done("nothing damaged", _told(verdict))

    def _end(self, seconds: float) -> None:
        self._display.head(f"all of it in {seconds:.1f} s, in {self._folder}/. Try next:")
        for line, why in _NEXT:
            self._display.command(line.format(out=self._folder).replace("chatrest", typed(), 1), why)


def _told(verdict: "Verdict") -> str:
    return f"{verdict.parts:,} files, {verdict.bytes / 1e6:,.1f} MB, every hash as it should be"
