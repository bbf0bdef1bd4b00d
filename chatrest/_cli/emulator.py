"""`emulator`: run an emulator of the service on this machine until it is stopped."""

import asyncio
import os
import shlex
import signal
from contextlib import suppress
from typing import Any

import click

from . import streams
from .options import PORT, option_table, shown_default


@click.command(short_help="Run an emulator of the service, with generated data.")
@option_table(
    ("--host", None, None, "Where to listen; 0.0.0.0 for all addresses.", shown_default("127.0.0.1")),
    PORT,
    ("--users", click.IntRange(0), "N", "Number of users.", shown_default(50)),
    ("--messages", click.IntRange(0), "N", "Number of messages.", shown_default(1000)),
    ("--seed", click.IntRange(0), "N", "The same seed and sizes generate the same data.", shown_default(0)),
)  # fmt: skip
def emulator(**options: Any) -> None:
    """Run an emulator of the service on this machine until Ctrl-C or SIGTERM (exit status 0).

    When it is ready, prints its address and keys on standard output as `export CHATREST_…=…` lines.

    \b
    Examples:
      chatrest emulator                      in one terminal; copy the printed lines to another
      eval "$(chatrest emulator &)"          in the background, with its address and
      chatrest users --limit 3               keys in the environment of this shell
      kill $CHATREST_EMULATOR_PID
      chatrest emulator --messages 100000 --port 8080 > emulator.env
      chatrest emulator --host 0.0.0.0       for other containers, which set CHATREST_ALLOW_HTTP=1
                                             and an address that they can reach
    """
    # The event loop does not run while data is generated, so it could not handle a signal.
    for each in _signals():
        signal.signal(each, _interrupt)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(**options))


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _signals() -> list[signal.Signals]:
    """Return the signals that stop the emulator, except ignored ones: a shell ignores SIGINT for `&`."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    return [each for each in numbers if signal.getsignal(each) is not signal.SIG_IGN]


async def _serve(**options: Any) -> None:
    from ..emulator import Emulator

    async with Emulator(**options) as service:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in _signals():
            with suppress(NotImplementedError):
                loop.add_signal_handler(each, stop.set)
        values = {
            "BASE_URL": service.base_url,
            "APP_ID": service.app.app_id,
            "API_KEY": service.app.api_key,
            "MANAGEMENT_URL": service.management_url,
            "MANAGEMENT_KEY": service.management_key,
            "MANAGEMENT_SECRET": service.management_secret,
            "EMULATOR_PID": str(os.getpid()),
        }
        if os.environ.get("CHATREST_APP"):
            values["APP"] = ""  # else the commands would continue with that app, and not with the emulator
        _announce(values)
        users, messages = len(service.store.people.uids()), len(service.store.ids())
        streams.warn(
            f"emulator at {service.base_url} with {users:,} users and {messages:,} messages; "
            f"stop it with Ctrl-C or: kill {os.getpid()}"
        )
        await stop.wait()


def _announce(values: dict[str, str]) -> None:
    text = "".join(f"export CHATREST_{name}={shlex.quote(value)}\n" for name, value in values.items())
    streams.write(text.encode())
    if not streams.is_terminal("stdout"):
        streams.detach_stdout()  # so that $(chatrest emulator &) ends
