"""Run a command's coroutine, with handling of SIGINT and SIGTERM."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`.

    After the cleanup of `work`, Ctrl-C raises `KeyboardInterrupt` and SIGTERM `asyncio.CancelledError`.
    """
    return asyncio.run(_cancel_on_sigterm(work))


async def _cancel_on_sigterm(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # the event loops of some platforms have no signal handlers
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work
