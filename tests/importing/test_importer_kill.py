"""A real process that is killed with SIGKILL, again and again: in the end each entity was stored once."""

import asyncio
import signal
import sys
from pathlib import Path
from random import Random

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Chance, Emulator, Latency, TooManyRequests
from chatrest.importing import run
from tests.importing.conftest import Write, message, muids, user
from tests.support.scripted_server import no_wait

pytestmark = pytest.mark.nightly

KILLS = 2
IMPORTS = """
import asyncio, sys
from chatrest import App, AsyncSession
from chatrest.importing import run

async def no_wait(_):
    await asyncio.sleep(0)

async def main(url, key, journal, *files):
    async with AsyncSession(App("emulated", key, base_url=url), sleep=no_wait) as session:
        print("begins", flush=True)
        await run(session, files, journal=journal)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_killed_at_random_instants(tmp_path: Path, write: Write) -> None:
    dice, journal = Random(), tmp_path / "journal"
    users = [user(number) for number in range(150)]
    messages = [message(n, sender="nobody") if n == 311 else message(n) for n in range(700)]
    files = [write("users.ndjson", users), write("messages.ndjson", messages)]
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        emulator.weather.add(Latency(0.005))
        emulator.weather.add(TooManyRequests(when=Chance(0.1)))
        app, requests = emulator.app, emulator.weather.struck
        for _ in range(KILLS):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", IMPORTS, app.chat_url, app.api_key, str(journal), *map(str, files),
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            assert process.stdout is not None
            assert await process.stdout.readline() == b"begins\n"
            # An instant is a number of requests from now: a slow machine dies as far on as a fast one.
            asked = requests["latency"] + dice.randrange(1, 9)
            while requests["latency"] < asked and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.0005)  # another process is waited for
            process.kill()
            await process.communicate()
            assert process.returncode == -signal.SIGKILL
        emulator.weather.clear()
        async with AsyncSession(app, sleep=no_wait) as session:
            result = await run(session, files, journal=journal)
            assert len([each.uid async for each in session.users.list()]) == 150
        assert muids(emulator) == [f"m{number}" for number in range(700) if number != 311]
        assert [(note.line, note.code) for note in result.refused] == [(312, "ERR_UID_NOT_FOUND")]
        assert result.imported == 849
