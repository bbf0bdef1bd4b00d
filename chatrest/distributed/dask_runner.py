"""Runs shards on a Dask cluster.

| what happens                                  | what is done                                             |
|-----------------------------------------------|----------------------------------------------------------|
| a worker dies                                 | the scheduler gives its shards to others, a few times;   |
|                                               | then they are lost, and cut again                        |
| a worker has no credentials                   | they are sent, where nobody can read them on the way     |
| … or others, a refused key, another version,  | `ClusterError`                                           |
| or it does not see the export's folder        |                                                          |
| the scheduler goes away                       | `ClusterError`                                           |
| there is no worker                            | it is waited for one; `ClusterError` after a minute      |
"""

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, Final, TypeVar, final

from distributed import Client, KilledWorker

from ..export.report import Phase, Progress
from ..extras import install_command
from .coordinator import ClusterError, ShardLostError
from .credentials import Credentials, is_private, refusal
from .rate_coordinator import RateCoordinator
from .shard import Shard, ShardResult, decode_result, encode
from .worker import ExportPlugin, give_credentials, run_shard

R = TypeVar("R")

_WORKERLESS_SECONDS: Final = 60.0
_SILENT_SECONDS: Final = 3.0
"""After so many seconds without a worker, the progress says so."""
_REFRESH_SECONDS: Final = 1.0
"""The age that the number of slots may have, in seconds."""
_SENDINGS: Final = 3
"""The most times that credentials are sent to one worker for one shard; then something else is wrong."""


@final
class DaskRunner:
    """A job on a Dask cluster; used with `async with`."""

    def __init__(
        self, client: Client, credentials: Credentials, out: str, rate: RateCoordinator, progress: Progress,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`out` is the export's folder or address as workers know it."""
        self._rate = rate
        self._progress = progress
        self._client = client
        self._credentials = credentials
        self._plugin = ExportPlugin(plugin_name(out), out)
        self._clock = clock
        self._slots = (0, float("-inf"))
        self._run_id = f"r{os.urandom(4).hex()}"

    async def __aenter__(self) -> "DaskRunner":
        for last in (False, False, True):  # a worker may die while it is told
            try:
                await self._call(self._client.register_plugin(self._plugin, name=self._plugin.name))
                break
            except ShardLostError as error:
                if last:
                    raise ClusterError(f"the workers of {self._address} die: {error}") from None
        await self._rate.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            with suppress(ClusterError, ShardLostError, ValueError):  # the scheduler may have forgotten it
                self._check_connection()
                await self._call(self._client.unregister_worker_plugin(self._plugin.name))
        finally:
            await self._rate.__aexit__(None, None, None)

    async def slots(self) -> int:
        """Return the number of the workers' threads; waits for a worker where there is none."""
        count, since = self._slots
        if count and self._clock() < since + _REFRESH_SECONDS:
            return count
        begun, phase = self._clock(), self._progress.phase
        while not (count := await self._threads()):
            waited = self._clock() - begun
            if waited > _WORKERLESS_SECONDS:
                raise ClusterError(f"the scheduler at {self._address} has no workers")
            if waited > _SILENT_SECONDS:
                self._progress.enter(Phase.WAITING_FOR_WORKER, self._address)
            await asyncio.sleep(_REFRESH_SECONDS / 4)
        self._progress.enter(phase)
        self._slots = count, self._clock()
        return count

    async def _threads(self) -> int:
        with suppress(ShardLostError):
            return sum((await self._call(self._client.nthreads())).values())
        return 0

    async def run(self, shard: Shard, operation: str) -> ShardResult:
        """Return what has come of a shard."""
        receivers = Counter[str]()
        while True:
            key = f"{operation}-{self._run_id}-{shard.id}-{receivers.total()}"
            result = decode_result(await self._run(encode(shard), key))
            if result.failure != "credentials" or receivers[result.worker] == _SENDINGS:
                break
            receivers[result.worker] += 1
            await self._send_credentials(result.worker)
        if result.failure not in (None, "error", "ended"):
            raise ClusterError(self._words(result))
        return result

    async def _run(self, shard: bytes, key: str) -> bytes:
        self._check_connection()
        future = self._client.submit(run_shard, self._plugin.name, shard, key=key, pure=False)
        try:
            result: bytes = await future
        except CancelledError:
            self._check_connection()
            raise ShardLostError("its task was cancelled in the cluster") from None
        except KilledWorker as error:
            raise ShardLostError(f"its workers died: {error.last_worker}") from None
        except OSError as error:
            self._check_connection()
            raise ShardLostError(f"its result could not be fetched: {error}") from None
        except ImportError as error:
            raise ClusterError(
                f"a worker cannot run it: {error}; it needs {install_command('dask')}, as here"
            ) from None
        finally:
            future.release()
        return result

    async def _send_credentials(self, worker: str) -> None:
        if not (is_private(self._address) and is_private(worker)):
            raise ClusterError(refusal(self._address))
        call = self._client.run(give_credentials, self._plugin.name, self._credentials, workers=[worker])
        with suppress(ShardLostError):
            await self._call(call)

    async def _call(self, work: Coroutine[Any, Any, R]) -> R:
        """Return the result of a call by the scheduler.

        Raises `ClusterError` where the scheduler is gone, `ShardLostError` where a worker is that it called.
        """
        try:
            return await work
        except (OSError, CancelledError) as error:
            await asyncio.sleep(0)  # the client notices now that its connection is closed
            self._check_connection()
            raise ShardLostError(str(error)) from None

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise ClusterError(f"the scheduler at {self._address} is gone")

    @property
    def _address(self) -> str:
        scheduler = self._client.scheduler
        return str(scheduler.address) if scheduler is not None else "its address"

    def _words(self, result: ShardResult) -> str:
        worker, reason = result.worker, result.reason
        match result.failure:
            case "no_job":
                return f"the worker {worker} does not see {reason}: OUT has to be a folder that all share"
            case "no_store":
                return f"the worker {worker} cannot use the store: {reason}"
            case "version":
                return f"the worker {worker} has chatrest {reason}: all machines need the same version"
            case "key_refused":
                return f"the service refuses the key of the worker {worker}: {reason}"
            case _:
                return f"the worker {worker} cannot read: {reason or 'it keeps no credentials'}"


def plugin_name(out: str) -> str:
    """Return the name of an export's plugin, the same in each run: what a killed one has left is replaced."""
    return f"chatrest-{hashlib.sha256(out.encode(errors='surrogateescape')).hexdigest()[:16]}"
