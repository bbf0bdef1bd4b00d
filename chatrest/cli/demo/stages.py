"""The demo's stages: read a conversation, and export everything with an interruption on purpose."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ...export import Plan, Progress, Report, export
from ...parameters.messages import MessageQuery

if TYPE_CHECKING:
    from ...session import AsyncSession

Tick: TypeAlias = Callable[[int], None]
_POLL_INTERVAL: Final = 0.01
"""Seconds between two readings of the export's progress."""


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
