"""Runs the items of a fan-out on a Dask cluster.

| what happens                    | what becomes of an item that was sent there                              |
|---------------------------------|--------------------------------------------------------------------------|
| its function raises             | its outcome is the error                                                 |
| its worker dies                 | with a journal it is run once more, on another worker, as after a crash; |
|                                 | three times at most. Without one its outcome is `OutcomeUnknownError`    |
| the worker has no credentials   | they are sent, where nobody can read them on the way; then it is run     |
| the scheduler goes away         | no outcome: the fan-out ends with `ClusterError`                         |
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import count
from typing import Any, Final, TypeVar, final

from distributed import Client, KilledWorker

from ..errors import OutcomeUnknownError
from .coordinator import ClusterError
from .credentials import Credentials, is_private, refusal
from .fan_out_worker import (
    FanOutPlugin,
    ItemLostError,
    ItemWorker,
    NoCredentialsError,
    give_credentials,
    run_item,
    token_of,
)

R = TypeVar("R")

_MOST_RUNS: Final = 4
"""How often an item is run whose workers die."""
_REFRESH_SECONDS: Final = 2.0
"""How old the list of workers may be."""
_WORKERLESS_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.25
_END_SECONDS: Final = 10.0


class ClusterGone(BaseException):  # noqa: N818, no error of an item, so it must end the fan-out
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
        self._credentials = credentials
        self._rerun = rerun
        self._plugin = FanOutPlugin(self.name, credentials.app.app_id, worker)
        self._tokens: dict[str, str] = {}
        self._listed_at = float("-inf")
        self._running: Counter[str] = Counter()
        self._numbers = count(1)

    async def __aenter__(self) -> "ItemRunner":
        await self._call(self._client.register_plugin(self._plugin, name=self.name))
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(ClusterError, TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self._call(self._client.unregister_worker_plugin(self.name))

    async def run(self, item: Any) -> Any:
        """Return the result of the caller's function for an item, or raise its error."""
        try:
            return await self._run(item)
        except ClusterError as error:
            raise ClusterGone(error) from None

    async def _run(self, item: Any) -> Any:
        for _ in range(_MOST_RUNS):
            address, token = await self._worker()
            self._running[address] += 1
            try:
                return await self._submit(item, address, token)
            except NoCredentialsError:
                await self._send_credentials(address)
            except (ItemLostError, KilledWorker):
                if not self._rerun:
                    break
            finally:
                self._running[address] -= 1
            self._listed_at = float("-inf")
        raise OutcomeUnknownError("the Dask worker that ran the item has died; it may have been run in part")

    async def _submit(self, item: Any, address: str, token: str) -> Any:
        self._check_connection()
        key = f"{self.name}-{next(self._numbers)}"
        future = self._client.submit(
            run_item, self.name, token, item, key=key, workers=[address], allow_other_workers=True, pure=False
        )
        try:
            return await future
        except CancelledError:
            self._check_connection()
            raise ItemLostError(address) from None
        except asyncio.CancelledError:
            if future.status == "cancelled":  # by the scheduler, and not this task
                self._check_connection()
                raise ItemLostError(address) from None
            await future.cancel()
            raise
        finally:
            future.release()

    # ── the workers ──

    async def _worker(self) -> tuple[str, str]:
        """Return the worker with the fewest items under way, and its token."""
        end = time.monotonic() + _WORKERLESS_SECONDS
        while True:
            if time.monotonic() > self._listed_at + _REFRESH_SECONDS:
                await self._list_workers()
            if self._tokens:
                return min(self._tokens.items(), key=lambda each: self._running[each[0]])
            if time.monotonic() > end:
                raise ClusterError("the cluster has no workers")
            await asyncio.sleep(_LOOK_SECONDS)
            self._listed_at = float("-inf")

    async def _list_workers(self) -> None:
        self._listed_at = time.monotonic()
        tokens = await self._call(self._client.run(token_of, self.name, on_error="ignore"))
        self._tokens = {address: token for address, token in tokens.items() if token is not None}

    async def _send_credentials(self, worker: str) -> None:
        scheduler = str(self._client.scheduler.address)
        if not (is_private(scheduler) and is_private(worker)):
            raise ClusterError(refusal(scheduler))
        await self._call(
            self._client.run(
                give_credentials, self.name, self._credentials, workers=[worker], on_error="ignore"
            )
        )

    async def _call(self, work: Awaitable[R]) -> R:
        """Return the result of a call of the scheduler; `ClusterError` where it is gone."""
        try:
            return await work
        except (OSError, CancelledError) as error:
            raise ClusterError(f"the scheduler is gone: {error}") from None

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise ClusterError("the scheduler is gone")
