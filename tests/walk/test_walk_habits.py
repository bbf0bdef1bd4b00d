"""Walks over servers that disagree with their documents, on a real socket: the whole list, or an error."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chatrest import AsyncSession, MessageQuery, Walk
from chatrest.emulator import Emulator, Fault
from tests.list_faults import ListFault

CAPPED: tuple[Fault, ...] = (ListFault("ignored", "perPage"), ListFault("capped", 20))


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """A service with 90 users, and 150 messages between two of them."""
    async with Emulator(users=90, messages=0, groups=0) as emulator:
        for number in range(1, 151):
            emulator.store.add_message("user-001", "user-002", str(number), sent_at=number)
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app) as session:
        yield session


def conversation(session: AsyncSession, **query: Any) -> Walk[Any]:
    return session.messages.list_user("user-002", on_behalf_of="user-001", query=MessageQuery(**query))


@pytest.mark.parametrize(
    "faults",
    [CAPPED, (*CAPPED, ListFault("integer-ids")), (ListFault("top-level"), ListFault("capped", 40)),
     (ListFault("totals", {"total": 2}),),
     (ListFault("totals", {"total": 0, "total_pages": 1}), ListFault("capped", 50))],
)  # fmt: skip
@pytest.mark.parametrize("affix", ["append", "prepend"])
async def test_messages_all_come_in_order(
    emulator: Emulator, session: AsyncSession, faults: tuple[Fault, ...], affix: Any
) -> None:
    emulator.weather.add(*faults)
    walks = (conversation(session, affix=affix), session.messages.list(query=MessageQuery(affix=affix)))
    for walk in walks:
        ids = [int(message.id) for message in await walk.collect()]
        assert ids == sorted(range(1, 151), reverse=affix == "prepend")


async def test_users_without_meta_go_by_page_numbers(emulator: Emulator, session: AsyncSession) -> None:
    emulator.weather.add(*CAPPED, ListFault("no-meta"))
    users = await session.users.list().collect()
    assert [user.uid for user in users] == emulator.store.people.uids()


async def test_a_list_that_repeats_its_only_page_comes_once(
    emulator: Emulator, session: AsyncSession
) -> None:
    emulator.weather.add(*CAPPED, ListFault("no-meta"), ListFault("ignored", "page"))
    users = await session.users.list().collect()
    assert [user.uid for user in users] == emulator.store.people.uids()[:20]
