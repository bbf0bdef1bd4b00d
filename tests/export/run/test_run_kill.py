"""Real processes that are killed with SIGKILL, again and again, and an export that is complete in the end."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from random import Random

import pytest

from chatrest.emulator import Emulator, Latency
from chatrest.export import verify
from tests.export_runs import on_one_line
from tests.part_service import parts_of, stored

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("tidy")]

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
