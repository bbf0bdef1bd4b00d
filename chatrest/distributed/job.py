"""A job on a Dask cluster: its plugin on the workers, its rate, and the tasks of its parts.

| what happens                                   | what becomes of it                                      |
|------------------------------------------------|---------------------------------------------------------|
| a worker dies                                  | the scheduler gives its parts to others, a few times;   |
|                                                | then `PartLostError`                                    |
| a worker has no key, or one that is refused,   | its part goes to another one, and it gets no more;      |
| another version, does not see OUT, or its disk | `ClusterError`, with all their reasons, if no other     |
| is full                                        | worker is left                                          |
| the scheduler goes away                        | `ClusterError`                                          |
| there is no worker                             | it is waited for one; `ClusterError` after a minute     |
| the command dies                               | the scheduler drops its tasks; their threads see it,    |
|                                                | and cancel the parts                                    |

What fails becomes a new task for other workers: Dask's own retries would go to the same one, as it has no
work. All that the cluster keeps of a job has the job's own name, and goes with its end.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, Final, Self

from distributed import Client, KilledWorker
from distributed.protocol.pickle import dumps

from .._core.pace.pacer import Pace
from .._telemetry import LOGGER
from .._texts import missing_extra
from ..export.plan.report import Phase, Progress, Report
from .cluster import ClusterError, PartHeldError, PartLostError, address_of, call, check_connection
from .part_progress import PartsProgress, decode_report
from .plugin import JobPlugin, run_task
from .rate_coordinator import RateCoordinator
from .worker import PartWork, TaskEnd

_WORKERLESS_SECONDS: Final = 60.0
_SILENT_SECONDS: Final = 3.0  # without a worker, after which the progress says so
_POLL_SECONDS: Final = 0.25
_END_SECONDS: Final = 10.0
_SHOWN: Final = 5  # workers that an error names


class ClusterJob:
    """A job; used with `async with`."""

    def __init__(
        self, client: Client, name: str, work: PartWork, pace: Pace | None = None,
        progress: Progress | None = None,
    ) -> None:  # fmt: skip
        """`name` is the job's own, which no other job has."""
        self._client: Any = client
        self._plugin = JobPlugin(name, dumps(work))
        self._progress = progress or Progress()
        self.parts: PartsProgress = PartsProgress(self._progress)
        self._rate = RateCoordinator(client, work.app_id, pace, name, self.parts.hear)
        self._numbers = count(1)
        self.unfit: dict[str, str] = {}
        """Workers that get no more parts, each with the reason."""

    async def __aenter__(self) -> Self:
        await workers_of(self._client, self._progress)
        try:
            await call(self._client, self._client.register_plugin(self._plugin, name=self._plugin.name))
        except Exception as error:  # of a worker, which Dask gives as a text
            await self._unregister()
            check_connection(self._client)
            raise ClusterError(f"a worker cannot run it: {error}; {missing_extra('it', 'dask')}") from None
        await self._rate.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rate.__aexit__()
        await self._unregister()

    async def _unregister(self) -> None:
        if self._client.status != "running":  # a cluster that is gone needs no word
            return
        with suppress(ClusterError, PartLostError, TimeoutError, ValueError, KeyError):  # of no such job
            async with asyncio.timeout(_END_SECONDS):
                await call(self._client, self._client.unregister_worker_plugin(self._plugin.name))

    async def run(self, number: int) -> Report:
        """Return the report of a part, run by a worker.

        Raises `PartHeldError` where another process runs it, `PartLostError` where its task brought no
        result, and `ClusterError` where no task would.
        """
        while True:
            end = await self._task(number, await workers_of(self._client, self._progress))
            if end.failure != "worker":
                break
            if end.worker not in self.unfit:
                self.unfit[end.worker] = end.reason
                LOGGER.warning("%s", end.reason)
        if end.failure == "held":
            raise PartHeldError(end.reason)
        if end.failure:
            raise PartLostError(end.reason)
        return decode_report(end.content)

    async def _task(self, number: int, workers: dict[str, dict[str, Any]]) -> TaskEnd:
        if not (fit := [name for name in workers if name not in self.unfit]):
            texts = list(self.unfit.values())
            more = [f"and {len(texts) - _SHOWN:,} more"] if len(texts) > _SHOWN else []
            raise ClusterError("; ".join([*texts[:_SHOWN], *more]))
        key = f"part-{number:02}-{next(self._numbers)}-{self._plugin.name}"
        future = self._client.submit(
            run_task, self._plugin.name, number, key=key, pure=False,
            workers=fit if len(fit) < len(workers) else None, allow_other_workers=len(fit) < len(workers),
        )  # fmt: skip
        try:
            end: TaskEnd = await call(self._client, future)
        except KilledWorker as error:
            raise PartLostError(f"its workers died: {error.last_worker}") from None
        finally:
            future.release()
        return end


async def workers_of(
    client: Any, progress: Progress | None = None, clock: Callable[[], float] = time.monotonic
) -> dict[str, dict[str, Any]]:
    """Return what the scheduler knows of each worker; waits for one where there is none.

    Raises `ClusterError` after a minute without any, and where the scheduler is gone.
    """
    shown, address, begun = progress or Progress(), address_of(client), clock()
    phase = shown.phase
    while True:
        check_connection(client)
        with suppress(PartLostError):
            if workers := (await call(client, client.scheduler.identity()))["workers"]:
                shown.enter(phase)
                return dict(workers)
        if (waited := clock() - begun) > _WORKERLESS_SECONDS:
            hint = f"start some with `dask worker {address}`"
            raise ClusterError(f"the scheduler at {address} has no workers: {hint}")
        if waited > _SILENT_SECONDS:
            shown.enter(Phase.WAITING_FOR_WORKER, address)
        await asyncio.sleep(_POLL_SECONDS)
