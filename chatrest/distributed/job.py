"""A job on a Dask cluster: its plugin on the workers, its rate, and its tasks.

| what happens                                   | what becomes of it                                      |
|------------------------------------------------|---------------------------------------------------------|
| a worker dies                                  | the scheduler gives its tasks to others, a few times;   |
|                                                | then `TaskLostError`, as for a task whose time is over  |
| a worker has no credentials, or others, a      | `ClusterError`                                          |
| refused key, another version, or it does not   |                                                         |
| see the export's folder                        |                                                         |
| the scheduler goes away                        | `ClusterError`                                          |
| there is no worker                             | it is waited for one; `ClusterError` after a minute     |

All that the cluster keeps of a job has the job's own name, and what its end removes is its own.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, Final, Self, TypeVar, final

from distributed import Client, KilledWorker
from distributed.protocol.pickle import dumps

from ..core.pace.pacer import Pace
from ..export.report import Phase, Progress
from ..extras import install_command
from .coordinator import ClusterError, ShardLostError
from .plugin import JobPlugin, receive_grants, run_task
from .rate import RateCoordinator
from .worker import TaskEnd, Work, installed_version

R = TypeVar("R")

_WORKERLESS_SECONDS: Final = 60.0
_SILENT_SECONDS: Final = 3.0
"""After so many seconds without a worker, the progress says so."""
_REFRESH_SECONDS: Final = 1.0
"""The age that the number of slots may have, in seconds."""
_TRIES: Final = 3
"""Workers that may die while they are told of the job, one after the other."""
_END_SECONDS: Final = 10.0


@final
class ClusterJob:
    """A job; used with `async with`."""

    def __init__(
        self,
        client: Client,
        app_id: str,
        name: str,
        work: Work,
        pace: Pace | None = None,
        progress: Progress | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name` is the job's own, which no other job has."""
        self.name = name
        self._client: Any = client
        self._plugin = JobPlugin(name, installed_version(), app_id, dumps(work))
        self._rate = RateCoordinator(client, app_id, pace, name, receive_grants)
        self._progress = progress or Progress()
        self._clock = clock
        self._slots = (0, float("-inf"))

    async def __aenter__(self) -> Self:
        for left in reversed(range(_TRIES)):
            try:
                await self.call(self._client.register_plugin(self._plugin, name=self.name))
                break
            except ShardLostError as error:
                if not left:
                    raise ClusterError(f"the workers of {self.address} die: {error}") from None
        await self._rate.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rate.__aexit__(None, None, None)
        if self._client.status != "running":  # a cluster that is gone needs no word
            return
        with suppress(ClusterError, ShardLostError, TimeoutError, ValueError):  # it may know of no job
            async with asyncio.timeout(_END_SECONDS):
                await self.call(self._client.unregister_worker_plugin(self.name))

    async def slots(self) -> int:
        """Return the number of the workers' threads; waits for a worker where there is none."""
        count, since = self._slots
        if count and self._clock() < since + _REFRESH_SECONDS:
            return count
        begun, phase = self._clock(), self._progress.phase
        while not (count := sum((await self.threads()).values())):
            waited = self._clock() - begun
            if waited > _WORKERLESS_SECONDS:
                raise ClusterError(f"the scheduler at {self.address} has no workers")
            if waited > _SILENT_SECONDS:
                self._progress.enter(Phase.WAITING_FOR_WORKER, self.address)
            await asyncio.sleep(_REFRESH_SECONDS / 4)
        self._progress.enter(phase)
        self._slots = count, self._clock()
        return count

    async def threads(self) -> dict[str, int]:
        """Return the number of threads of each worker."""
        with suppress(ShardLostError):
            threads: dict[str, int] = await self.call(self._client.nthreads())
            return threads
        return {}

    async def submit(
        self,
        payload: bytes,
        key: str,
        *,
        place: tuple[str, str] | None = None,
        seconds: float | None = None,
    ) -> bytes:
        """Return the result of a task.

        `place` is the worker's address, and the token of its process, where no other one may run it. Raises
        `ShardLostError` where it brought none, and `ClusterError` where no task would.
        """
        self.check_connection()
        address, token = place or (None, None)
        future = self._client.submit(
            run_task, self.name, payload, token, key=f"{key}-{self.name}", pure=False,
            workers=None if address is None else [address],
        )  # fmt: skip
        try:
            async with asyncio.timeout(seconds):
                end: TaskEnd = await future
        except TimeoutError:
            await future.cancel()
            raise ShardLostError(f"its task has not ended after {seconds:.0f} s") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise self._lost("its task was cancelled in the cluster") from None
        except CancelledError:
            raise self._lost("its task was cancelled in the cluster") from None
        except KilledWorker as error:
            raise ShardLostError(f"its workers died: {error.last_worker}") from None
        except OSError as error:
            raise self._lost(f"its result could not be fetched: {error}") from None
        except ImportError as error:
            raise ClusterError(
                f"a worker cannot run it: {error}; it needs {install_command('dask')}, as here"
            ) from None
        finally:
            future.release()
        if end.failure in ("error", "ended"):
            raise ShardLostError(f"the worker {end.worker} failed: {end.reason}")
        if end.failure:
            raise ClusterError(_words(end))
        return end.content

    def _lost(self, reason: str) -> ShardLostError:
        self.check_connection()
        return ShardLostError(reason)

    async def call(self, work: Awaitable[R]) -> R:
        """Return the result of a call by the scheduler.

        Raises `ClusterError` where the scheduler is gone, `ShardLostError` where a worker is that it called.
        """
        try:
            return await work
        except (OSError, CancelledError) as error:
            await asyncio.sleep(0)  # the client notices now that its connection is closed
            self.check_connection()
            raise ShardLostError(str(error)) from None

    def check_connection(self) -> None:
        """Raise `ClusterError` if the scheduler is gone."""
        if self._client.status != "running":
            raise ClusterError(f"the scheduler at {self.address} is gone")

    @property
    def address(self) -> str:
        """The scheduler's address."""
        scheduler = self._client.scheduler
        return str(scheduler.address) if scheduler is not None else "its address"


def _words(end: TaskEnd) -> str:
    worker, reason = end.worker, end.reason
    match end.failure:
        case "no_job":
            return f"the worker {worker} does not see {reason}: OUT has to be a folder that all share"
        case "no_store":
            return f"the worker {worker} cannot use the store: {reason}"
        case "version":
            return f"the worker {worker} has chatrest {reason}: all machines need the same version"
        case "key_refused":
            return f"the service refuses the key of the worker {worker}: {reason}"
        case "credentials":
            return (
                f"the worker {worker} has no credentials: {reason}; start workers with the variables of the "
                "app, as none are sent"
            )
        case _:
            return f"the worker {worker} cannot read: {reason}"
