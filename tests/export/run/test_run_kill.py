"""A real process that is killed with SIGKILL, again and again, and an export that is complete in the end."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from random import Random

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator, Latency
from chatrest.export import export, verify
from tests.export_runs import assert_whole, on_one_line, raws_of
from tests.part_service import parts_of, stored

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
    """Return the number of requests of lists of messages so far."""
    return emulator.weather.struck["latency"]


# ── commands that claim parts ──


AT_ONCE = 4
PART_KILLS = 4


async def test_commands_that_claim_parts_are_killed(tmp_path: Path) -> None:
    out, dice = tmp_path / "out", Random()
    async with Emulator(users=30, messages=600, groups=0, seed=3) as emulator:
        emulator.weather.add(Latency(0.02, route="messages.list_user"))
        environment = os.environ | {
            "CHATREST_APP_ID": emulator.app.app_id,
            "CHATREST_API_KEY": emulator.app.api_key,
            "CHATREST_BASE_URL": emulator.app.chat_url,
        }

        async def claim() -> Process:
            words = ("-m", "chatrest", "export", str(out), "--parts", "5", "--claim", "--quiet")
            return await asyncio.create_subprocess_exec(
                sys.executable, *words, env=environment, stdout=DEVNULL, stderr=DEVNULL
            )

        processes = [await claim() for _ in range(AT_ONCE)]
        for _ in range(PART_KILLS):
            # An instant is a number of requests from now: a slow machine dies as far on as a fast one.
            asked = emulator.weather.struck["latency"] + dice.randrange(1, 15)
            victim = dice.randrange(AT_ONCE)
            while emulator.weather.struck["latency"] < asked and processes[victim].returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # another process is waited for
            if processes[victim].returncode is None:
                processes[victim].kill()
                assert await processes[victim].wait() == -signal.SIGKILL
            processes[victim] = await claim()
        for process in processes:
            assert await process.wait() == 0
        expected = sorted(map(on_one_line, emulator.store.records(emulator.store.ids())))
        assert sorted(stored(out)) == expected
        assert all(verify(part).ok for part in parts_of(out))
        emulator.weather.clear()
