"""An emulated app, and two nights in it: what the examples that read exports work on without arguments."""

import asyncio
from collections.abc import Awaitable, Callable

from chatrest import AsyncSession, MessageChanges, NewMessage
from chatrest.emulator import Emulator


def play_nights(night: Callable[[AsyncSession], Awaitable[object]]) -> None:
    """Run a night in an emulated app; send three messages, edit one, delete one; and run a night again."""
    asyncio.run(_play(night))


async def _play(night: Callable[[AsyncSession], Awaitable[object]]) -> None:
    async with Emulator(users=12, messages=400, seed=1) as emulator, AsyncSession(emulator.app) as session:
        sender = session.as_user("user-01")
        sent = [await sender.messages.send(NewMessage.text("user-02", f"evening {each}")) for each in (1, 2)]
        await night(session)
        for number in range(3):
            await sender.messages.send(NewMessage.text("user-02", f"good night {number}"))
        await sender.messages.update(sent[0].id, MessageChanges(data={"text": "good evening"}))
        await sender.messages.delete(sent[1].id, permanent=True)
        await night(session)
