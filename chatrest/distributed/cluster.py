"""A Dask cluster: the connection to its scheduler, calls of it, and its workers."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Final, TypeVar

from distributed import Client, LocalCluster
from distributed.client import AllExit

from .._core.requests.arguments import check
from ..app import App, environment_of
from ..errors import ChatRestError
from ..export.plan.report import Phase, Progress

R = TypeVar("R")

_LOCAL: Final = re.compile(r"local:([1-9][0-9]{0,2})")
_ADDRESS: Final = re.compile(r"(?:tcp|tls|ucx|ucxs|ws|wss)://[^\s/]+:[0-9]{1,5}")
_IGNORE_CTRL_C: Final = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""For processes of this command: a terminal sends Ctrl-C to them, too, and the command ends them."""
_CONNECT_SECONDS: Final = 20
_CLOSE_SECONDS: Final = 10  # after which a cluster that does not answer is left alone
_WORKERLESS_SECONDS: Final = 60.0
_SILENT_SECONDS: Final = 3.0  # without a worker, after which the progress says so
_POLL_SECONDS: Final = 0.25


class ClusterError(ChatRestError):
    """The cluster cannot continue; what was exported stays, and the next run continues from there."""


class NoResultError(Exception):
    """The task of a part, or a call of a worker, brought no result: its worker died, or could not do it."""


@asynccontextmanager
async def connect(address: str, app: App | None = None) -> AsyncIterator[Client]:
    """Connect to the cluster at an address; `local:N` starts N processes here, and ends them afterwards.

    These processes read `app`, by default that of the environment. Dask's own log does not reach standard
    error meanwhile. Raises `RequestInvalidError` for a wrong address, and `ClusterError` where there is no
    scheduler.
    """
    local = _LOCAL.fullmatch(address)
    fits = local is not None or _ADDRESS.fullmatch(address) is not None
    check(fits, "dask", address, "tcp://HOST:PORT, tls://HOST:PORT, or local:N with 1 to 999 workers")
    options: dict[str, Any] = {
        "n_workers": int(local[1]) if local else 0, "threads_per_worker": 2, "processes": True,
        "memory_limit": 0, "dashboard_address": "127.0.0.1:0", "asynchronous": True,
        "preload": [_IGNORE_CTRL_C], "silence_logs": logging.CRITICAL,
        "env": {} if app is None else environment_of(app),
    }  # fmt: skip
    with silenced(asyncio.get_running_loop()):
        async with AsyncExitStack() as stack:
            cluster: Any = await stack.enter_async_context(LocalCluster(**options)) if local else address
            yield await stack.enter_async_context(_client(cluster))


@asynccontextmanager
async def _client(cluster: Any) -> AsyncIterator[Client]:
    client = None
    try:
        client = Client(cluster, asynchronous=True, timeout=_CONNECT_SECONDS, set_as_default=False)
        await client
    except (OSError, ValueError, TypeError) as error:
        if client is not None:
            with suppress(Exception):
                await client.close(_CLOSE_SECONDS)
        expected = (
            "expected a scheduler there, with TLS and its certificates in Dask's settings if it has TLS"
        )
        raise ClusterError(f"no scheduler answers at {cluster}: {error}; {expected}") from None
    try:
        yield client
    finally:
        await client.close(_CLOSE_SECONDS)


@contextmanager
def silenced(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Keep Dask's log, and an exception by which it leaves one of its waits, from standard error."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]  # each has a level
    levels, handler = [each.level for each in loggers], loop.get_exception_handler()
    default = handler or asyncio.AbstractEventLoop.default_exception_handler

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), AllExit):
            default(loop, context)

    for each in loggers:
        each.setLevel(logging.CRITICAL)
    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(handler)
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)


def check_connection(client: Any) -> None:
    if client.status != "running":
        raise ClusterError(f"the scheduler at {address_of(client)} is gone")


async def call(client: Any, work: Awaitable[R]) -> R:
    """Return the result of a call by the scheduler.

    Raises `ClusterError` if the scheduler is gone, and `NoResultError` if the worker that it called is gone.
    """
    try:
        return await work
    except (OSError, CancelledError, asyncio.CancelledError) as error:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        await asyncio.sleep(0)  # the client notices now that its connection is closed
        check_connection(client)
        raise NoResultError(str(error)) from None


def address_of(client: Any) -> str:
    return str(client.scheduler.address) if client.scheduler is not None else "its address"


async def workers_of(
    client: Any, progress: Progress | None = None, clock: Callable[[], float] = time.monotonic
) -> dict[str, dict[str, Any]]:
    """Return what the scheduler knows of each worker; wait for a first one if there is none.

    Raises `ClusterError` after a minute without any, and if the scheduler is gone.
    """
    progress, address, begun = progress or Progress(), address_of(client), clock()
    phase = progress.phase
    while True:
        check_connection(client)
        with suppress(NoResultError):
            if workers := (await call(client, client.scheduler.identity()))["workers"]:
                progress.enter(phase)
                return dict(workers)
        if (waited := clock() - begun) > _WORKERLESS_SECONDS:
            hint = f"start some with `dask worker {address}`"
            raise ClusterError(f"the scheduler at {address} has no workers: {hint}")
        if waited > _SILENT_SECONDS:
            progress.enter(Phase.WAITING_FOR_WORKER, address)
        await asyncio.sleep(_POLL_SECONDS)
