"""A job on a Dask cluster: its plugin on the workers, its rate, and the tasks of its parts.

`chatrest/guide/clusters.md` has as a table what becomes of it when a worker, the scheduler or the command
dies. A part that fails becomes a new task for other workers: Dask's own retries would go to the same worker,
as it is idle. All that the cluster keeps of a job has the job's name, and is removed when the job ends.

Tasks report by events of the job's topic; grants of the rate are sent by `client.run`. If this process dies,
workers send requests until their leases end: three seconds, or with more than 150 tasks a fiftieth of their
number.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Final, Self

import msgspec
from distributed import Client, KilledWorker
from distributed.protocol.pickle import dumps

from .._core.pace.pacer import DOCUMENTED_RATES, Pace
from .._core.requests.endpoint import RateClass
from .._telemetry import LOGGER
from .._texts import missing_extra
from ..export.plan.report import Progress, Report
from .cluster import ClusterError, NoResultError, call, check_connection, workers_of
from .plugin import JobPlugin, receive_grants, run_task
from .rate_coordinator import GRANT_SECONDS, RateCoordinator
from .worker import MAX_COUNTS, SUMMED_COUNTS, PartWork, TaskEnd, TaskEvent, counts_of

_END_SECONDS: Final = 10.0
_NAMED_WORKERS: Final = 5  # that an error names
_MIN_PAUSE: Final = 0.02  # seconds between two divisions of the rate
_GRANTS_A_CALL: Final = 16  # each worker of a call gets the grants of all its tasks
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_event: Final = msgspec.msgpack.Decoder(TaskEvent).decode


class PartHeldError(Exception):
    """Another process runs the part."""


class ClusterJob:
    """The parts of one export on a cluster; used with `async with`, whose end removes all of it there."""

    def __init__(
        self, client: Client, name: str, work: PartWork, pace: Pace | None = None,
        progress: Progress | None = None,
    ) -> None:  # fmt: skip
        self._client: Any = client
        self._plugin = JobPlugin(name, dumps(work))
        self._app_id, self._pace = work.app_id, pace or Pace()
        self._numbers = count(1)
        self.progress: Progress = progress or Progress()
        self.unfit_workers: dict[str, str] = {}
        """Workers that get no more parts, each with the reason."""
        self._counts_before = counts_of(self.progress)
        self._runs: defaultdict[int, dict[int, dict[str, int]]] = defaultdict(dict)
        """The counts of each run of each part."""
        self._coordinators: dict[RateClass, RateCoordinator] = {}
        self._wakeup = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await workers_of(self._client, self.progress)
        try:
            await call(self._client, self._client.register_plugin(self._plugin, name=self._plugin.name))
        except Exception as error:  # Dask gives an error of a worker as a text
            await self._unregister()
            check_connection(self._client)
            raise ClusterError(
                f"a worker cannot run the export: {error}; {missing_extra('it', 'dask')}"
            ) from None
        self._client.subscribe_topic(self._plugin.name, self._receive_event)
        self._start(self._divide_rate())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client.status == "running":
            self._client.unsubscribe_topic(self._plugin.name)
        await self._unregister()

    async def _unregister(self) -> None:
        if self._client.status != "running":
            return
        # It may not be registered.
        with suppress(ClusterError, NoResultError, TimeoutError, ValueError, KeyError):
            async with asyncio.timeout(_END_SECONDS):
                await call(self._client, self._client.unregister_worker_plugin(self._plugin.name))

    async def run(self, number: int) -> Report:
        """Return the report of a part, run by a worker.

        Raises `PartHeldError` if another process runs it, `NoResultError` if its task brought no result, and
        `ClusterError` if no worker can run it, or the scheduler is gone.
        """
        while True:
            end = await self._task(number, await workers_of(self._client, self.progress))
            if end.failure != "worker":
                break
            if end.worker not in self.unfit_workers:
                self.unfit_workers[end.worker] = end.reason
                LOGGER.warning("%s", end.reason)
        if end.failure == "held":
            raise PartHeldError(end.reason)
        if end.failure:
            raise NoResultError(end.reason)
        return msgspec.msgpack.decode(end.content, type=Report)

    async def _task(self, number: int, workers: dict[str, dict[str, Any]]) -> TaskEnd:
        if not (usable := [name for name in workers if name not in self.unfit_workers]):
            texts = list(self.unfit_workers.values())
            more = [f"and {len(texts) - _NAMED_WORKERS:,} more"] if len(texts) > _NAMED_WORKERS else []
            raise ClusterError("; ".join([*texts[:_NAMED_WORKERS], *more]))
        key = f"part-{number:02}-{next(self._numbers)}-{self._plugin.name}"
        future = self._client.submit(
            run_task, self._plugin.name, number, key=key, pure=False,
            workers=usable if len(usable) < len(workers) else None,
            allow_other_workers=len(usable) < len(workers),
        )  # fmt: skip
        try:
            end: TaskEnd = await call(self._client, future)
        except KilledWorker as error:
            deaths, last = error.allowed_failures + 1, error.last_worker.address
            raise NoResultError(f"{deaths} workers died while they ran it, the last one at {last}") from None
        finally:
            future.release()
        return end

    # ── what tasks report while they run ──

    def _receive_event(self, event: tuple[float, bytes]) -> None:
        try:
            task_event = _decode_event(event[1])
        except msgspec.MsgspecError as error:  # of another version of chatrest, or of somebody else
            LOGGER.warning("an event of the export of app %s cannot be read: %s", self._app_id, error)
            return
        if (report := task_event.rate) is None:
            self._count(task_event)
            return
        if (coordinator := self._coordinators.get(report.rate_class)) is None:
            coordinator = RateCoordinator(self._pace, DOCUMENTED_RATES[report.rate_class])
            self._coordinators[report.rate_class] = coordinator
        if coordinator.receive(report, time.monotonic()):
            self._wakeup.set()

    def _count(self, event: TaskEvent) -> None:
        """Take the numbers of a run of a part, and add those that its other runs have reported."""
        self._runs[event.part][event.run] = event.counts
        for name in (*SUMMED_COUNTS, *MAX_COUNTS):
            # A run that takes in what others have left reads no list.
            total = sum if name in SUMMED_COUNTS else max
            parts = (total(each[name] for each in runs.values()) for runs in self._runs.values())
            setattr(self.progress, name, self._counts_before[name] + sum(parts))

    # ── the one rate ──

    async def _divide_rate(self) -> None:
        while True:
            for rate_class, coordinator in self._coordinators.items():
                shares = coordinator.divide(time.monotonic())
                grants = [(name, _encode(grant)) for name, grant in shares.items()]
                for start in range(0, len(grants), _GRANTS_A_CALL):
                    self._start(self._send(rate_class, dict(grants[start : start + _GRANTS_A_CALL])))
            await asyncio.sleep(_MIN_PAUSE)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRANT_SECONDS - _MIN_PAUSE):
                    await self._wakeup.wait()
            self._wakeup.clear()

    async def _send(self, rate_class: RateClass, grants: Mapping[str, bytes]) -> None:
        """Send encoded grants, by the names of tasks; a worker that does not answer delays only these."""
        workers = list({name.rpartition("#")[0] for name in grants})
        arguments = self._plugin.name, rate_class, grants
        try:
            await self._client.run(receive_grants, *arguments, workers=workers, on_error="ignore")
        except OSError as error:  # the scheduler is gone, which ends the job
            LOGGER.debug("the workers do not get their shares of the rate of app %s: %s", self._app_id, error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
