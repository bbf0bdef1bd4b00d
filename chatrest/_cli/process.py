"""The process of a command: what ends its coroutine, and the shell text that runs it again."""

import asyncio
import shlex
import signal
import sys
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Any, Final, TypeVar

import click

T = TypeVar("T")
NAME: Final = "chatrest"


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`; Ctrl-C raises `KeyboardInterrupt`, SIGTERM `asyncio.CancelledError`."""
    return asyncio.run(_cancel_on_sigterm(work))


async def _cancel_on_sigterm(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # the event loops of some platforms have no signal handlers
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work


def root_option(name: str) -> str | None:
    """Return an option that was given before the command."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_root().params.get(name)


def invocation() -> str:
    """Return the shell text that runs this command, with the `--app` of this run."""
    app = root_option("app")
    return f"{_program()} --app {shlex.quote(app)}" if app else _program()


def can_continue(error: BaseException) -> bool:
    from ..export import NextRun  # imports aiohttp, which a help text does not need

    return NextRun.after(error) is NextRun.CONTINUES


def continuation(command: str, words: Iterable[str], options: Mapping[str, object]) -> str:
    given = [
        word
        for name, value in options.items()
        if value is not None and value is not False
        for word in ([name] if value is True else [name, str(value)])
    ]
    return f"continue with: {invocation()} {command} {shlex.join([*words, *given])}"


def _program() -> str:
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m {NAME}"
    on_path = which(NAME)
    if on_path is not None and called.exists() and called.samefile(on_path):
        return NAME
    return shlex.quote(str(called))
