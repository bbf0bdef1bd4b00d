"""The budget of a shard: what ends it."""

import asyncio
from typing import Any

import pytest

from chatrest._core.send import Send
from chatrest.distributed.shard import Budget
from chatrest.distributed.shard_reader import BudgetedSender, BudgetUsedError
from tests.exporting import served


class HeldSender:
    """A `Send` whose calls are numbers; each waits for the event of its number."""

    def __init__(self, send: Send, release: list[asyncio.Event]) -> None:
        self.send = send
        self.release = release

    def __getattr__(self, name: str) -> Any:
        return getattr(self.send, name)

    async def __call__(self, call: Any, /) -> Any:
        await self.release[call].wait()


@pytest.mark.parametrize(("idle", "sent"), [(0, 6), (2, 5)])
async def test_a_shard_ends_when_few_of_its_lists_are_left_and_others_wait(idle: int, sent: int) -> None:
    fades = list[int]()
    async with served(10) as service:
        release = [asyncio.Event() for _ in range(4)]
        sender = BudgetedSender(
            HeldSender(service.session.sender, release), Budget(100, 60.0, idle), lambda: 0.0,
            lambda: fades.append(sender.sent),
        )  # fmt: skip

        async def read(number: int) -> None:
            await sender(number)  # type: ignore[arg-type]

        lists = [asyncio.create_task(read(number)) for number in range(4)]
        await asyncio.sleep(0)
        for event in release[:2]:
            event.set()
        await asyncio.gather(*lists[:2])
        assert not fades
        release[2].set()
        await lists[2]
        assert fades == [4]  # one call is left of four
        await asyncio.wait_for(asyncio.gather(read(0)), 5)  # together with the last list there are two
        release[3].set()
        await lists[3]
        if idle:
            with pytest.raises(BudgetUsedError):
                await read(0)
        else:
            await read(0)
        assert sender.sent == sent
