"""The demo's emulator, in a process of its own: client and service do not share a core, or a clock."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from ...core.hosts import App

_PATIENCE: Final = 5.0
"""Seconds that it has to end in, once it is told to."""


@asynccontextmanager
async def emulated(*, users: int, messages: int, seed: int) -> AsyncIterator[App]:
    """An app on an emulator that lives as long as this context, and never longer than this process."""
    process = await _started("--users", users, "--messages", messages, "--seed", seed)
    try:
        yield App.from_env(await _announced(process))
    finally:
        await _stop(process)


async def _started(*options: object) -> asyncio.subprocess.Process:
    home = str(Path(__file__).parents[3])
    path = os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH")) if part)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # whatever lies in the working directory is not ours to import
        *("-m", "chatrest", "emulator", "--until-eof", *map(str, options)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for us; we end it
    )


async def _announced(process: asyncio.subprocess.Process) -> dict[str, str]:
    assert process.stdout is not None
    assert process.stderr is not None
    text = (await process.stdout.read()).decode()
    if not text:
        told = (await process.stderr.read()).decode().strip().splitlines() or ["it said nothing"]
        raise OSError(f"the emulator did not start: {told[-1].removeprefix('chatrest: ')}")
    words = (shlex.split(line)[1] for line in text.splitlines())
    return {name: value for name, _, value in (word.partition("=") for word in words)}


async def _stop(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_PATIENCE):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
