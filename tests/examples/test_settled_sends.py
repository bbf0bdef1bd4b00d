"""The example of an outbox: each message stands once, whatever happens to replies and to the process."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator, Every, First, HalfOpen, Reset, Status
from chatrest.examples.settled_sends import Outbox, deliver
from tests.faulty import no_wait

COMMAND = [sys.executable, "-m", "chatrest.examples.settled_sends"]


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        emulator.store.add_user("ann")
        emulator.store.add_user("bob")
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app, sleep=no_wait) as session:
        yield session


def texts(emulator: Emulator) -> list[str]:
    records = map(json.loads, emulator.store.records(emulator.store.ids()))
    return [record["data"]["text"] for record in records]


async def test_every_third_reply_is_lost(emulator: Emulator, session: AsyncSession, tmp_path: Path) -> None:
    emulator.weather.add(Reset(route="messages.send", processed=True, when=Every(3)))
    emulator.weather.add(Reset(route="messages.send", when=Every(4)))
    outbox = Outbox(tmp_path / "outbox.sqlite")
    for number in range(13):
        outbox.add("ann", "bob", str(number))
    assert await deliver(session, outbox) == []
    assert texts(emulator) == [str(number) for number in range(13)]
    assert outbox.pending() == []
    outbox.close()


async def test_what_cannot_be_settled_stays_for_the_next_run(
    emulator: Emulator, session: AsyncSession, tmp_path: Path
) -> None:
    emulator.weather.add(Reset(route="messages.send", processed=True, when=First()))
    emulator.weather.add(Status(500, route="messages.list_user", when=First(99)))
    outbox = Outbox(tmp_path / "outbox.sqlite")
    outbox.add("ann", "bob", "hello")
    [line] = await deliver(session, outbox)
    assert "messages.list_user: 500" in line
    emulator.weather.clear()
    assert await deliver(session, outbox) == []
    assert texts(emulator) == ["hello"]
    outbox.close()


@pytest.mark.nightly
async def test_a_process_that_is_killed_in_the_middle(emulator: Emulator, tmp_path: Path) -> None:
    environment = os.environ | {
        "CHATREST_APP_ID": emulator.app.app_id,
        "CHATREST_API_KEY": emulator.app.api_key,
        "CHATREST_BASE_URL": emulator.base_url,
    }
    path = str(tmp_path / "outbox.sqlite")
    lines = b"".join(b'{"sender": "ann", "receiver": "bob", "text": "%d"}\n' % number for number in range(3))
    emulator.weather.add(HalfOpen(route="messages.send", processed=True, when=First(1, after=1)))
    killed = await asyncio.create_subprocess_exec(
        *COMMAND, path, env=environment, stdin=asyncio.subprocess.PIPE
    )
    assert killed.stdin is not None
    killed.stdin.write(lines)
    killed.stdin.close()
    while len(texts(emulator)) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.001)  # another process is waited for
    killed.kill()
    await killed.wait()
    emulator.weather.clear()
    ended = await asyncio.create_subprocess_exec(
        *COMMAND, path, env=environment, stdin=asyncio.subprocess.DEVNULL
    )
    assert await ended.wait() == 0
    assert texts(emulator) == ["0", "1", "2"]
