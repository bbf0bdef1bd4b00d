"""A real process that is killed with SIGKILL, again and again, and an export that is whole in the end."""

import asyncio
import signal
import sys
from pathlib import Path
from random import Random

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator, Latency
from chatrest.export import export
from tests.export_runs import assert_whole, on_one_line, raws_of

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("tidy")]

USERS = 30
MESSAGES = 2_000
KILLS = 2
EXPORTS = """
import asyncio, sys
from chatrest import App, AsyncSession
from chatrest._core.pace import pacer
from chatrest.export import export
from chatrest.export.fetch import backlog
from chatrest._resources import listing

listing.LARGEST_PAGE, backlog.MOST, pacer.FIRST_RATE = 40, 3, 1000.0

async def main(url, key, out):
    async with AsyncSession(App("emulated", key, base_url=url)) as session:
        print("begins", flush=True)
        report = await export(session, out, workers=4)
        print(report.complete, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_killed_at_random_instants(tmp_path: Path) -> None:
    out, dice = tmp_path / "out", Random()
    async with Emulator(users=USERS, messages=MESSAGES, groups=0, seed=3) as emulator:
        emulator.weather.add(Latency(0.005, route="messages.list_user"))
        app = emulator.app
        for _ in range(KILLS):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", EXPORTS, app.chat_url, app.api_key, str(out),
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            assert process.stdout is not None
            assert await process.stdout.readline() == b"begins\n"
            # An instant is a number of requests from now: a slow machine dies as far on as a fast one.
            asked = len_of(emulator) + dice.randrange(15, 45)
            while len_of(emulator) < asked and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # another process is waited for
            process.kill()
            rest, _ = await process.communicate()
            assert (process.returncode, rest) == (-signal.SIGKILL, b"")
        emulator.weather.clear()
        async with AsyncSession(app) as session:
            report = await export(session, out)
        assert report.complete
        assert report.written < MESSAGES, "what was committed before the kills is kept"
        assert_whole(out, map(on_one_line, emulator.store.records(emulator.store.ids())))
    assert len(raws_of(out)) == MESSAGES


def len_of(emulator: Emulator) -> int:
    """Return how many requests of lists of messages have come so far."""
    return emulator.weather.struck["latency"]
