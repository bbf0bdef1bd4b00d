"""`demo`: start an emulator, read a conversation, export everything with an interruption, and verify it."""

import asyncio
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from .. import __version__
from ..core.requests.hosts import App
from .options import option_table, shown_default
from .process import invocation, run

if TYPE_CHECKING:
    from .demo_stages import Demo

_STOP_TIMEOUT: Final = 5.0
"""Seconds that the emulator has for stopping before it is killed."""
_NEXT: Final = (
    ("{chatrest} verify {out}", "read all files again and check every hash"),
    ('eval "$({chatrest} emulator --messages 20000 &)"', "a test service in the background"),
    ("{chatrest} export elsewhere --format sqlite", "the same messages as a database with full-text search"),
    ("{chatrest} messages user-02 --on-behalf-of user-01 --limit 3", "messages as JSON lines"),
)


@click.command(short_help="Show what chatrest does in a few seconds; needs no account.")
@option_table(
    ("--users", click.IntRange(2, 1000), "N", "Number of users.", shown_default(50)),
    ("--messages", click.IntRange(0, 1_000_000), "N", "Number of messages.", shown_default(100_000)),
    ("--out", click.Path(path_type=Path), "DIRECTORY", "Folder for the exported files.",
     shown_default(Path("chat-export"))),
    ("--seed", click.IntRange(0), "N", "The same seed and sizes generate the same messages.",
     shown_default(0)),
)  # fmt: skip
def demo(users: int, messages: int, out: Path, seed: int) -> None:
    """Show what chatrest does in a few seconds; needs no account, and writes to one folder only.

    Starts an emulator of the service on this machine with generated messages, reads a conversation, exports
    all messages of all users as JSON lines, interrupts that export and continues it, and verifies that no
    message is missing or stored twice. Run again, it replaces its own files and no others.

    \b
    Examples:
      chatrest demo
      chatrest demo --users 10 --messages 5000 --out elsewhere
    """
    from .demo_stages import Demo, claim  # rich and aiohttp take as long to load as all the rest

    claim(out)
    run(_run(Demo(out), users=users, messages=messages, seed=seed))


async def _run(stages: "Demo", *, users: int, messages: int, seed: int) -> None:
    began = time.perf_counter()
    display = stages.display
    display.head(f"chatrest {__version__}: {messages:,} messages among {users:,} users")
    # These import aiohttp and more, which a help text does not need.
    from ..core.pace.pacer import Pace
    from ..session import AsyncSession

    async with AsyncExitStack() as stack:
        with display.bar(f"generating {messages:,} messages in another process"):
            app = await stack.enter_async_context(run_emulator(users=users, messages=messages, seed=seed))
        display.done("emulator", f"{app.base_url}, ready in {time.perf_counter() - began:.1f} s")
        # The emulator has no rate limit, so nothing is gained by a slow start.
        session = await stack.enter_async_context(AsyncSession(app, pace=Pace(rate=60_000)))
        await stages.read_conversation(session)
        await stages.export_everything(session, messages)
    stages.check(messages)
    display.head(
        f"finished in {time.perf_counter() - began:.1f} s; the files are in {stages.folder}/. Try next:"
    )
    for line, why in _NEXT:
        display.command(line.format(out=stages.folder, chatrest=invocation()), why)


# ── the emulator: in another process, so that client and service share neither a core nor a clock ──


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
    home = str(Path(__file__).parents[2])
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
