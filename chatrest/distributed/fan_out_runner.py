"""Runs the items of a fan-out on a Dask cluster.

| what happens                    | what becomes of an item that was sent there                              |
|---------------------------------|--------------------------------------------------------------------------|
| its function raises             | its outcome is the error                                                 |
| its worker dies                 | with a journal it is run once more, on another worker, as after a crash; |
|                                 | three times at most. Without one its outcome is `OutcomeUnknownError`    |
| the worker has no credentials   | they are sent before, where nobody can read them on the way; else the    |
|                                 | fan-out ends with `ClusterError`                                         |
| the scheduler goes away         | no outcome: the fan-out ends with `ClusterError`                         |
"""

import asyncio
import os
import pickle
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import count
from typing import Any, Final, final

from distributed import Client, KilledWorker

from ..errors import OutcomeUnknownError
from .coordinator import ClusterError
from .credentials import Credentials
from .fan_out_cluster import REFRESH_SECONDS, ClusterWorkers, call
from .fan_out_worker import FanOutPlugin, ItemEnd, ItemWorker, run_item

_MOST_RUNS: Final = 4
"""The most runs of an item whose workers die."""
_END_SECONDS: Final = 10.0
_LOST: Final[tuple[ItemEnd, Any]] = ("lost", None)


class ClusterFailure(BaseException):
    """The cluster is gone: no item of it has an outcome any more."""

    def __init__(self, error: ClusterError) -> None:
        super().__init__(str(error))
        self.error = error


@final
class ItemRunner:
    """A fan-out's function on a cluster; used with `async with`."""

    def __init__(self, client: Client, credentials: Credentials, worker: ItemWorker, *, rerun: bool) -> None:
        self.name = f"fan_out-{os.urandom(6).hex()}"
        """The name of the plugin, and the id of the job."""
        self._client: Any = client
        self._rerun = rerun
        self._plugin = FanOutPlugin(self.name, credentials.app.app_id, worker)
        self._workers = ClusterWorkers(client, self.name, credentials)
        self._numbers = count(1)

    async def __aenter__(self) -> "ItemRunner":
        await call(self._client.register_plugin(self._plugin, name=self.name))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client.status != "running":  # a cluster that is gone needs no word
            return
        with suppress(ClusterError, TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await call(self._client.unregister_worker_plugin(self.name))

    async def run(self, item: Any) -> Any:
        """Return the result of the caller's function for an item, or raise its error."""
        try:
            return await self._run(item)
        except ClusterError as error:
            raise ClusterFailure(error) from None

    async def _run(self, item: Any) -> Any:
        for _ in range(_MOST_RUNS if self._rerun else 1):
            address, token = await self._workers.choose()
            self._workers.running[address] += 1
            try:
                end, content = await self._submit(item, address, token)
            finally:
                self._workers.running[address] -= 1
            if end == "value":
                return content
            if end == "error":
                raise content
            self._workers.refresh()
        raise OutcomeUnknownError("the Dask worker that ran the item has died; it may have been run in part")

    async def _submit(self, item: Any, address: str, token: str) -> tuple[ItemEnd, Any]:
        """Run an item in the process of a token; return its end, and its value or error."""
        self._workers.check_connection()
        key = f"{self.name}-{next(self._numbers)}"
        # No other worker may take it: an item that was moved could not be told from one that had begun.
        options = {"key": key, "workers": [address], "pure": False}
        future = self._client.submit(run_item, self.name, token, item, **options)
        done = asyncio.ensure_future(_result(future))
        try:
            while not (await asyncio.wait({done}, timeout=REFRESH_SECONDS))[0]:
                if await self._workers.is_gone(address):
                    await future.cancel()
                    return _LOST
            end: tuple[ItemEnd, Any] = pickle.loads(await done)  # noqa: S301, Dask unpickles all it gets
            return end
        except KilledWorker:
            return _LOST
        except (CancelledError, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                await future.cancel()
                raise
            self._workers.check_connection()
            return _LOST  # the scheduler has cancelled it
        finally:
            done.cancel()
            future.release()


async def _result(future: Any) -> Any:
    """Return the result of a Dask future, as a coroutine."""
    return await future
