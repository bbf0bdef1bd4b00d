"""`emulator`: the documented service on this machine, until it is stopped."""

import asyncio
import os
import shlex
import signal
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from . import streams
from .numbers import number


@click.command(short_help="Runs the service on this machine, with generated data.")
@number("--port", 0, most=65_535, what="Where it listens; 0 for a free one.")
@number("--users", 50, what="How many users it has.")
@number("--messages", 1000, what="How many messages it has.")
@number("--seed", 0, what="The same seed and sizes give the same data.")
@click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep everything in FILE; one that is filled already is served as it is.",
)
@click.option("--until-eof", is_flag=True, help="End with standard input, too: for a program that starts it.")
def emulator(port: int, users: int, messages: int, seed: int, database: Path | None, until_eof: bool) -> None:
    """Runs the documented service on 127.0.0.1, with generated data, until Ctrl-C or SIGTERM (status 0).

    Prints its address and keys on standard output as `export CHATREST_…=…` lines, once it listens.

    \b
    Examples:
      chatrest emulator                      in one terminal; copy its lines to another
      eval "$(chatrest emulator &)"          in the background of this shell, which then
      chatrest users --limit 3               has it in its environment
      kill $CHATREST_EMULATOR_PID
      chatrest emulator --messages 100000 --port 8080 > emulator.env
    """
    if until_eof and not _can_wait_for_input():
        raise click.UsageError("--until-eof needs a pipe as standard input")
    # While data is generated the event loop stands still, and could not receive a signal.
    for each in _signals():
        signal.signal(each, _interrupt)
    with suppress(KeyboardInterrupt):
        asyncio.run(
            _serve(until_eof, users=users, messages=messages, seed=seed, database=database, port=port)
        )


def _can_wait_for_input() -> bool:
    """Return True where standard input reports its end; a file, or none at all, does not."""
    if sys.stdin is None:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _signals() -> list[signal.Signals]:
    """The signals that end it; not those that the parent wants ignored, as a shell does with `&`."""
    both = (signal.SIGINT, signal.SIGTERM)
    return [each for each in both if signal.getsignal(each) is not signal.SIG_IGN]


async def _serve(until_eof: bool, **options: Any) -> None:
    from ..emulator import Emulator

    async with Emulator(**options) as service:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in _signals():
            with suppress(NotImplementedError):
                loop.add_signal_handler(each, stop.set)
        if until_eof:
            await loop.connect_read_pipe(lambda: _Eof(stop), sys.stdin)
        _announce(
            {
                "BASE_URL": service.base_url,
                "APP_ID": service.app.app_id,
                "API_KEY": service.app.api_key,
                "MANAGEMENT_URL": service.management_url,
                "MANAGEMENT_KEY": service.management_key,
                "MANAGEMENT_SECRET": service.management_secret,
                "EMULATOR_PID": str(os.getpid()),
            }
        )
        users, messages = len(service.store.people.uids()), len(service.store.ids())
        streams.complain(
            f"emulator at {service.base_url} with {users:,} users and {messages:,} messages; "
            f"end it with Ctrl-C or: kill {os.getpid()}"
        )
        await stop.wait()


def _announce(values: dict[str, str]) -> None:
    text = "".join(f"export CHATREST_{name}={shlex.quote(value)}\n" for name, value in values.items())
    streams.write(text.encode())
    if not streams.is_terminal("stdout"):
        streams.let_go()  # so that $(chatrest emulator &) comes to its end


class _Eof(asyncio.Protocol):
    """Sets an event when the stream ends."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop.set()
