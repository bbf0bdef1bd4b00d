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
from tests.scripted_server import no_wait

pytestmark = pytest.mark.nightly

USERS = 150
MESSAGES = 700
KILLS = 2
REFUSED_USERS = range(7, USERS, 75)
REFUSED_MESSAGES = range(11, MESSAGES, 350)
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
    users = [user(n, role="nobody") if n in REFUSED_USERS else user(n) for n in range(USERS)]
    messages = [message(n, sender="nobody") if n in REFUSED_MESSAGES else message(n) for n in range(MESSAGES)]
    files = [write("users.ndjson", users), write("messages.ndjson", messages)]
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        emulator.weather.add(Latency(0.005))
        emulator.weather.add(TooManyRequests(when=Chance(0.1)))
        app = emulator.app
        for _ in range(KILLS):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", IMPORTS, app.chat_url, app.api_key, str(journal), *map(str, files),
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            assert process.stdout is not None
            assert await process.stdout.readline() == b"begins\n"
            # An instant is a number of requests from now: a slow machine dies as far on as a fast one.
            asked = requests(emulator) + dice.randrange(1, 9)
            while requests(emulator) < asked and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.0005)  # another process is waited for
            process.kill()
            await process.communicate()
            assert process.returncode == -signal.SIGKILL
        emulator.weather.clear()
        async with AsyncSession(app, sleep=no_wait) as session:
            result = await run(session, files, journal=journal)
            stored_users = [each.uid async for each in session.users.list()]
        expected = [f"m{n}" for n in range(MESSAGES) if n not in REFUSED_MESSAGES]
        assert muids(emulator) == expected
        assert sorted(stored_users) == sorted(f"u{n}" for n in range(USERS) if n not in REFUSED_USERS)
        assert [(note.file, note.line, note.code) for note in result.refused] == [
            *(("users.ndjson", n + 1, "ERR_ROLE_NOT_FOUND") for n in REFUSED_USERS),
            *(("messages.ndjson", n + 1, "ERR_UID_NOT_FOUND") for n in REFUSED_MESSAGES),
        ]
        assert result.imported == len(expected) + len(stored_users)


def requests(emulator: Emulator) -> int:
    """Return the number of requests so far."""
    return emulator.weather.struck["latency"]
