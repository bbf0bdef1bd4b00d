"""Reading ahead over a session: its views, listeners, rate limits and connections."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from chatrest import AsyncSession, MessageQuery, RequestInvalidError, Walk
from chatrest._telemetry import CallStart
from chatrest.emulator import Emulator, First, Latency
from tests.scripted_server import Faulty, hang, reply

pytestmark = pytest.mark.usefixtures("tidy")

SPAN: ContextVar[str] = ContextVar("SPAN", default="none")


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=9, messages=0, groups=0) as emulator:
        for number in range(1, 61):
            emulator.store.add_message("user-001", "user-002", str(number), sent_at=number)
        yield emulator


def talk(session: AsyncSession, **query: Any) -> Walk[Any]:
    query = {"affix": "append", "per_page": 7, **query}
    return session.messages.list_user("user-002", query=MessageQuery(**query))


async def ids(walk: Walk[Any], **bounds: int) -> list[int]:
    async with walk.ahead(**bounds) as items:
        return [int(item.id) async for item in items]


async def test_calls_have_the_context_of_the_consumer(emulator: Emulator) -> None:
    class Listener:
        def __init__(self) -> None:
            self.spans: list[str] = []

        def __call__(self, record: object) -> None:
            pass

        @contextmanager
        def around_call(self, start: CallStart) -> Iterator[dict[str, str]]:
            self.spans.append(SPAN.get())
            yield {}

    listener = Listener()
    async with AsyncSession(emulator.app, telemetry=listener) as session:
        token = SPAN.set("the caller's")
        await ids(talk(session))
        SPAN.reset(token)
    assert set(listener.spans) == {"the caller's"}
    assert len(listener.spans) >= 9


async def test_a_break_leaves_no_call_and_no_place(emulator: Emulator) -> None:
    emulator.weather.add(Latency(3600, when=First(1, after=2)))
    async with AsyncSession(emulator.app) as session:
        walk = talk(session)
        async with walk.ahead() as items:
            async for item in items:
                if item.id == "5":
                    break
            assert session.pools["us"].active == 1
        assert session.pools["us"].active == 0
        assert walk.cursor.last == "5"


async def test_a_session_that_is_closed_within_the_block_is_an_error_of_the_walk() -> None:
    page = {
        "data": [{"uid": "u1", "name": "n"}],
        "meta": {"pagination": {"current_page": 1, "total_pages": 9}},
    }
    async with Faulty(reply(page), hang) as server, server.session() as session:
        walk = session.users.list()
        async with walk.ahead() as items:
            iterator = aiter(items)
            assert (await anext(iterator)).uid == "u1"
            await session.close()
            with pytest.raises(RequestInvalidError, match="the session was closed"):
                await anext(iterator)
