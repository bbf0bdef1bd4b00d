"""The part of a fan-out that runs on Dask workers: one plugin a job, and the task that runs one item.

The plugin has the caller's function and, once, a session at the rate of the job. Items run in an event loop
in a thread of its own, so a function that computes for long does not make the worker look dead. The Dask task
of an item waits in a thread that has left Dask's pool: a worker runs as many items at once as are sent to it.

A task says which process is to run it, by a token that each process draws. If that process is gone and Dask
gives the task to another one, it raises `ItemLostError` there: only the coordinator decides if an item is run
once more.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from threading import Lock, Thread
from typing import Any, Final, final

from distributed import Worker, WorkerPlugin, get_worker, secede

from ..core.hosts import App
from ..errors import RequestInvalidError
from ..session import AsyncSession
from .credentials import Credentials, environment_credentials
from .rate_session import open_session

_END_SECONDS: Final = 5.0

ItemWorker = Callable[[AsyncSession, Any], Awaitable[Any]]
"""The caller's function of a session and an item."""


class ItemLostError(Exception):
    """The process that was to run an item is gone; it may have begun."""


class NoCredentialsError(Exception):
    """This worker has no credentials of the app."""


@final
class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="chatrest-fan-out", daemon=True)
        self._thread.start()

    def run(self, work: Any) -> Any:
        """Return the result of a coroutine; called in any other thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self, last: Any) -> None:
        """Cancel everything that runs, run the coroutine `last`, and end the thread."""
        self.run(_cancel_all())
        self.run(last)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_END_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@final
class FanOutPlugin(WorkerPlugin):
    """The state of one fan-out on a worker. Its pickle, which the scheduler keeps, holds no secret."""

    def __init__(self, name: str, app_id: str, worker: ItemWorker) -> None:
        self.name = name
        self.token = os.urandom(8).hex()
        """Tells this process from every other one."""
        self._app_id, self._worker = app_id, worker
        self._credentials: Credentials | None = None
        self._thread: _LoopThread | None = None
        self._session: AsyncSession | None = None
        self._stack = AsyncExitStack()
        self._lock = Lock()

    def __reduce__(self) -> Any:
        return type(self), (self.name, self._app_id, self._worker)

    def give(self, credentials: Credentials) -> None:
        """Take the credentials of the app; those of the environment are not looked for then."""
        self._credentials = credentials

    def run(self, item: Any) -> Any:
        """Return the worker's result for an item; called in the thread of a task."""
        with self._lock:
            if self._session is None:
                self._open()
            session, thread = self._session, self._thread
        assert session is not None
        assert thread is not None
        return thread.run(_result(self._worker, session, item))

    async def teardown(self, worker: Worker) -> None:
        """Cancel the items that run, wait for their end, and close the session."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.close, self._stack.aclose())

    def _open(self) -> None:
        credentials = self._credentials or environment_credentials(self._app_id)
        if credentials is None:
            raise NoCredentialsError(get_worker().address)
        session = open_session(credentials.app, self.name, headers=credentials.headers, priority="bulk")
        self._thread = _LoopThread()
        self._session = self._thread.run(self._stack.enter_async_context(session))


async def _result(worker: ItemWorker, session: AsyncSession, item: Any) -> Any:
    """Run the caller's function in a task of its own, which `_cancel_all` ends."""
    return await worker(session, item)


def run_item(plugin_name: str, token: str, item: Any) -> Any:
    """Return the worker's result for an item; `ItemLostError` in any other process than the token's."""
    plugin = get_worker().plugins.get(plugin_name)
    if not isinstance(plugin, FanOutPlugin) or plugin.token != token:
        raise ItemLostError(get_worker().address)
    secede()
    return plugin.run(item)


# ── run on the workers, by `client.run` ──


def token_of(plugin_name: str, dask_worker: Any = None) -> str | None:
    """Return the token of this process; None before it has the plugin."""
    plugin = dask_worker.plugins.get(plugin_name)
    return plugin.token if isinstance(plugin, FanOutPlugin) else None


def give_credentials(plugin_name: str, credentials: Credentials, dask_worker: Any = None) -> None:
    """Hand credentials to a fan-out's plugin."""
    plugin = dask_worker.plugins.get(plugin_name)
    if isinstance(plugin, FanOutPlugin):
        plugin.give(credentials)


def check_app(app: object) -> App:
    """Return an app; `RequestInvalidError` for anything else."""
    if not isinstance(app, App):
        raise RequestInvalidError(f"app: allowed is an App, and not a {type(app).__name__}")
    return app
