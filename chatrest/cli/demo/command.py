"""`demo`: starts an emulator, exports one user's conversations and then everything, and tells of it."""

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import click

from ...errors import ChatRestError
from ..invocation import typed, version
from ..numbers import number
from ..running import run
from .files import Folder, file_name
from .service import emulated
from .walks import Tally, Tick, conversation_files, conversations, everything, span_files

if TYPE_CHECKING:
    from ...session import AsyncSession
    from .display import Display

_NEXT: Final = (
    ('eval "$(chatrest emulator --messages 20000 &)"', "a service to play with, in the background"),
    ("chatrest messages user-02 --on-behalf-of user-01 --limit 3", "its messages, a JSON line each"),
    ('chatrest send user-02 "Hello!" --on-behalf-of user-01', "one more of them"),
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

    Starts the documented service on this machine, with made messages; writes every conversation of one
    user, several at once, and then all messages of all users, as JSON lines; and checks that nothing was
    lost and nothing came twice. Run again, it replaces its own files; it touches nobody else's.

    \b
    Examples:
      chatrest demo
      chatrest demo --users 10 --messages 5000 --out elsewhere
    """
    from .display import Display  # rich takes as long to load as all the rest

    folder = Folder(out)
    folder.claim()
    run(_Demo(Display(), folder).show(users=users, messages=messages, seed=seed))


@final
class _Demo:
    """One run: what it shows, where it writes, and what goes into the mark at its end."""

    def __init__(self, display: "Display", folder: Folder) -> None:
        self._display = display
        self._folder = folder
        self._report: dict[str, Any] = {}

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
            own, all_of_it = await self._export(session, messages)
        self._check(own, all_of_it, messages)
        self._folder.finish(self._report)
        self._end(time.perf_counter() - began)

    async def _export(self, session: "AsyncSession", messages: int) -> tuple[Tally, Tally]:
        folder = self._folder
        uid, *others = [user.uid async for user in session.users.list()]
        talks, spans = conversation_files(uid, others), span_files()
        folder.plan([*talks.values(), *spans])
        own = await self._stage(
            session, uid, len(others), lambda tick: conversations(session, uid, talks, folder, tick)
        )
        all_of_it = await self._stage(
            session, "everybody", messages, lambda tick: everything(session, spans, folder, tick)
        )
        self._display.head(f"{folder.path}/")
        self._display.row(f"{file_name(uid)}/*.jsonl", f"{own.files:,} files: a conversation of {uid} each")
        self._display.row("messages-*.jsonl", f"{all_of_it.files:,} files: all messages, in order of time")
        return own, all_of_it

    async def _stage(
        self,
        session: "AsyncSession",
        title: str,
        total: int,
        work: Callable[[Tick], Awaitable[Tally]],
    ) -> Tally:
        sent, began = _sent(session), time.perf_counter()
        with self._display.bar(title, total) as tick:
            tally = await work(tick)
        seconds, requests = max(time.perf_counter() - began, 1e-6), _sent(session) - sent
        found = {
            "conversations": len(tally.conversations),
            "messages": len(tally.records),
            "bytes": tally.size,
            "files": tally.files,
            "requests": requests,
            "seconds": round(seconds, 3),
        }
        self._report[title] = found
        self._display.done(
            title,
            f"{found['conversations']:,} conversations, {found['messages']:,} messages, "
            f"{tally.size / 1e6:,.1f} MB, {requests:,} requests in {seconds:.2f} s",
            f"{found['messages'] / seconds:,.0f} messages/s, {requests / seconds:,.0f} requests/s",
        )
        return tally

    def _check(self, own: Tally, all_of_it: Tally, messages: int) -> None:
        """Nothing lost, nothing twice, and both ways the same bytes."""
        repeats = own.repeats + all_of_it.repeats
        lost = messages - len(all_of_it.records)
        differing = len(own.records.items() - all_of_it.records.items())
        if repeats or lost or differing:
            raise ChatRestError(
                f"the export is not whole: {lost:,} messages lost, {repeats:,} twice, "
                f"{differing:,} not the same in both ways of reading them"
            )
        self._display.head("checked")
        self._display.done("nothing lost", f"{messages:,} distinct messages, as many as the service holds")
        self._display.done("nothing twice", "no id in more than one place of messages-*.jsonl")
        self._display.done(
            "the same bytes", f"{len(own.records):,} records came by both ways, byte for byte equal"
        )

    def _end(self, seconds: float) -> None:
        self._display.head(f"all of it in {seconds:.1f} s. Try next:")
        for line, why in _NEXT:
            self._display.command(line.replace("chatrest", typed(), 1), why)


def _sent(session: "AsyncSession") -> int:
    return sum(pool.sent for pool in session.pools.values())
