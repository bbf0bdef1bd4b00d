"""The part of a fan-out that runs on Dask workers: one plugin a job, and the task that runs one item.

The plugin has the caller's function and, once, a session at the rate of the job. Items run in an event loop
in a thread of its own, so a function that computes for long does not make the worker look dead. The Dask task
of an item waits in a thread that has left Dask's pool: a worker runs as many items at once as are sent to it.

A task says which process is to run it, by a token that each process draws. If that process is gone and Dask
gives the task to another one, the item is not run there: only the coordinator decides if it is run once more.
A task raises nothing: an error is in its result, so that no log of the cluster repeats it.
"""

import asyncio
import os
import pickle
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack
from threading import Lock, Thread
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

from distributed import Worker, WorkerPlugin, get_worker, secede

from ..core.requests.hosts import App
from ..errors import ChatRestError, RequestInvalidError
from ..session import AsyncSession
from .credentials import Credentials, environment_credentials
from .rate_session import open_session
from .shard import installed_version

_END_SECONDS: Final = 5.0

ItemWorker: TypeAlias = Callable[[AsyncSession, Any], Awaitable[Any]]
"""The caller's function of a session and an item."""


ItemEnd: TypeAlias = Literal["value", "error", "lost"]
"""The end of an item's run: `lost` if the process that was to run it is gone; it may have begun."""


class WorkerState(NamedTuple):
    """A worker, as the coordinator needs to know it."""

    token: str
    """Tells the process from every other one."""
    has_credentials: bool
    fault: str = ""
    """The reason why it can run nothing; empty if it can."""


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

    def __init__(self, name: str, app_id: str, worker: ItemWorker, version: str | None = None) -> None:
        self.name = name
        self.version = version or installed_version()
        """The version of chatrest that the coordinator has."""
        self.token = os.urandom(8).hex()
        """Tells this process from every other one."""
        self._app_id, self._worker = app_id, worker
        self._credentials: Credentials | None = None
        self._thread: _LoopThread | None = None
        self._session: AsyncSession | None = None
        self._stack = AsyncExitStack()
        self._lock = Lock()

    def __reduce__(self) -> Any:
        return type(self), (self.name, self._app_id, self._worker, self.version)

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

    def state(self) -> WorkerState:
        """Return the state of this worker."""
        if self.version != (own := installed_version()):
            return WorkerState(self.token, True, f"it has chatrest {own}, and not {self.version}")
        try:
            self._credentials = self._credentials or environment_credentials(self._app_id)
        except RequestInvalidError as error:
            return WorkerState(self.token, True, str(error))
        return WorkerState(self.token, self._credentials is not None)

    async def teardown(self, worker: Worker) -> None:
        """Cancel the items that run, wait for their end, and close the session."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.close, self._stack.aclose())

    def _open(self) -> None:
        credentials = self._credentials
        assert credentials is not None  # the coordinator sends no items before
        session = open_session(credentials.app, self.name, headers=credentials.headers, priority="bulk")
        self._thread = _LoopThread()
        self._session = self._thread.run(self._stack.enter_async_context(session))


async def _result(worker: ItemWorker, session: AsyncSession, item: Any) -> Any:
    """Run the caller's function in a task of its own, which `_cancel_all` ends."""
    return await worker(session, item)


def run_item(plugin_name: str, token: str, item: Any) -> bytes:
    """Return the pickled end of an item and its value or error; it is run only in the token's process."""
    plugin = get_worker().plugins.get(plugin_name)
    if not isinstance(plugin, FanOutPlugin) or plugin.token != token:
        return _pickled("lost", None)
    secede()
    try:
        return _pickled("value", plugin.run(item))
    except (Exception, CancelledError) as error:
        return _pickled("error", error)


def _pickled(end: ItemEnd, content: Any) -> bytes:
    """Return an end that can be sent; an error that cannot be pickled becomes one with its text."""
    try:
        return pickle.dumps((end, content))
    except Exception as error:
        if end == "error":
            return pickle.dumps((end, ChatRestError(f"{type(content).__name__}: {content}")))
        return pickle.dumps(("error", TypeError(f"the worker's result cannot be pickled: {error}")))


# ── run on the workers, by `client.run` ──


def state_of(plugin_name: str, dask_worker: Any = None) -> WorkerState | None:
    """Return the state of this worker; None before it has the plugin."""
    plugin = dask_worker.plugins.get(plugin_name)
    return plugin.state() if isinstance(plugin, FanOutPlugin) else None


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
