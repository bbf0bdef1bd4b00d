"""The demo's emulator, in another process, so that client and service share neither a core nor a clock."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from ...core.requests.hosts import App

_STOP_TIMEOUT: Final = 5.0
"""Seconds that the emulator has for stopping before it is killed."""


@asynccontextmanager
async def run_emulator(*, users: int, messages: int, seed: int) -> AsyncIterator[App]:
    """Run an emulator during the block, and yield its app; it also ends when this process ends.

    Raises `OSError` if the emulator does not start.
    """
    process = await _start("--users", users, "--messages", messages, "--seed", seed)
    try:
        yield App.from_env(await _read_settings(process))
    finally:
        await _stop(process)


async def _start(*options: object) -> asyncio.subprocess.Process:
    home = str(Path(__file__).parents[3])
    path = os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH")) if part)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # modules in the working directory must not be imported
        *("-m", "chatrest", "emulator", "--until-eof", *map(str, options)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C reaches only this process, which then stops the emulator
    )


async def _read_settings(process: asyncio.subprocess.Process) -> dict[str, str]:
    assert process.stdout is not None
    assert process.stderr is not None
    text = (await process.stdout.read()).decode()
    if not text:
        messages = (await process.stderr.read()).decode().strip().splitlines() or ["it printed no error"]
        raise OSError(f"the emulator did not start: {messages[-1].removeprefix('chatrest: ')}")
    words = (shlex.split(line)[1] for line in text.splitlines())
    return {name: value for name, _, value in (word.partition("=") for word in words)}


async def _stop(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
