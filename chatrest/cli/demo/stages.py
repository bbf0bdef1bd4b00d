"""What a demo does with the service: reads a conversation, and exports everything, interrupted on purpose."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ...export import Plan, Progress, Report, export
from ...queries.messages import MessageQuery

if TYPE_CHECKING:
    from ...session import AsyncSession

Tick: TypeAlias = Callable[[int], None]
_LOOK: Final = 0.01
"""Seconds between two looks at how far the export has come."""


class Talk(NamedTuple):
    """A conversation that was read."""

    users: tuple[str, str]
    kinds: Counter[str]
    seconds: float


class Exported(NamedTuple):
    """Everything, in two runs."""

    interrupted: int | None
    """How many messages were safe when the first run was stopped; None where it was too quick for that."""
    report: Report
    seconds: float
    requests: int
    received: int
    """Bytes of pages."""


async def conversation(session: "AsyncSession") -> Talk:
    """The messages between the first two users, typed: the operation that is specified in full."""
    began = time.perf_counter()
    users = [user.uid async for user in session.users.list().limit(2)]
    walk = session.messages.list_user(users[0], on_behalf_of=users[1], query=MessageQuery(affix="append"))
    kinds = Counter([message.category async for message in walk])
    return Talk((users[0], users[1]), kinds, time.perf_counter() - began)


async def everything(session: "AsyncSession", folder: Path, half: int, tick: Tick) -> Exported:
    """Exports all messages of all users; the first run is stopped at `half` of them, the second goes on."""
    began, sent, received = time.perf_counter(), _sent(session), 0
    first, second = Progress(), Progress()
    interrupted = None
    stopped = asyncio.ensure_future(export(session, folder, Plan(), progress=first))
    await _shown(stopped, first, tick, until=half)
    if not stopped.done():
        stopped.cancel()
        with suppress(asyncio.CancelledError):
            await stopped
        interrupted = first.written
    work = asyncio.ensure_future(export(session, folder, progress=second))
    await _shown(work, second, tick)
    received = first.received + second.received
    seconds = time.perf_counter() - began
    return Exported(interrupted, await work, seconds, _sent(session) - sent, received)


async def _shown(work: Awaitable[Report], progress: Progress, tick: Tick, until: int | None = None) -> None:
    """Waits for the end of `work`, or until so many messages are written; tells how many there are."""
    told = 0
    while True:
        ended, _ = await asyncio.wait([asyncio.ensure_future(work)], timeout=_LOOK)
        tick(progress.written - told)
        told = progress.written
        if ended or (until is not None and told >= until):
            return


def _sent(session: "AsyncSession") -> int:
    return sum(pool.sent for pool in session.pools.values())
