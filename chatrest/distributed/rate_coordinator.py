"""The coordinator of one app's rate in a Dask cluster: it hears reports and sends leases while it is open."""

import asyncio
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, final

import msgspec

from ..core.pace.pacer import Pace
from ..telemetry import LOGGER
from .rate_book import LeaseBook
from .rate_messages import RateLease, RateReport
from .rate_reporter import Reporter
from .rate_session import (
    COORDINATOR,
    decode_report,
    encoded,
    end_job,
    receive_leases,
    register,
    topic,
    unregister,
)

if TYPE_CHECKING:
    from distributed import Client

_ACT_EVERY: Final = 0.05  # seconds between two looks at what is to be granted
_END_SECONDS: Final = 2.0  # for telling the workers that the job has ended


@final
class RateCoordinator:
    """One rate for all sessions of a job: `async with RateCoordinator(client, app_id, pace, job_id):`.

    `client` is an asynchronous Dask `Client`, `pace` that of an `AsyncSession` (None learns the limit), and
    `job_id` a text of this job alone, with which tasks call `open_session(app, job_id)`; the process of the
    coordinator may, too. Leaving the block ends the leases: workers send nothing more, within 3 s also those
    that cannot be told. After the death of this process they send nothing after 3 s.
    """

    def __init__(self, client: "Client", app_id: str, pace: Pace | None, job_id: str) -> None:
        self._client: Any = client
        self._app_id = app_id
        self._job_id = job_id
        self._book = LeaseBook(pace or Pace())
        self._own: Reporter | None = None
        self._wakeup = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<RateCoordinator of {self._app_id}: {self.rate or 'no'} requests/s of the standard class>"

    @property
    def rate(self) -> float | None:
        """Requests a second of the standard class that the whole cluster may send; None before the first."""
        pacer = self._book.pacers.get("standard")
        return None if pacer is None else 0.0 if pacer.held_since is not None else pacer.bulk_rate

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._own = Reporter(COORDINATOR, self._hear, loop)
        register(self._job_id, self._own)
        self._own.start()
        self._client.subscribe_topic(topic(self._job_id), self._hear_event)
        self._start(self._act())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._own is not None
        unregister(self._job_id)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._own.stop()
        if self._client.status == "running":  # a cluster that is gone needs no word
            self._client.unsubscribe_topic(topic(self._job_id))
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await self._client.run(end_job, self._job_id, on_error="ignore")

    # ── reports ──

    def _hear_event(self, event: tuple[float, bytes]) -> None:
        try:
            report = decode_report(event[1])
        except msgspec.MsgspecError as error:  # of another version of chatrest, or of somebody else
            LOGGER.warning("a report of the rate of app %s cannot be read: %s", self._app_id, error)
            return
        self._hear(report)

    def _hear(self, report: RateReport) -> None:
        if self._book.hear(report, time.monotonic()):
            self._wakeup.set()

    # ── leases ──

    async def _act(self) -> None:
        while True:
            self._wakeup.clear()
            leases = self._book.leases(time.monotonic())
            for lease in leases:
                if lease.worker == COORDINATOR and self._own is not None:
                    self._hear(self._own.receive(lease))
            if others := [lease for lease in leases if lease.worker != COORDINATOR]:
                self._start(self._send(others))
            with suppress(TimeoutError):
                async with asyncio.timeout(_ACT_EVERY):
                    await self._wakeup.wait()

    async def _send(self, leases: list[RateLease]) -> None:
        """Send the leases; a worker that does not answer delays nothing but this task."""
        messages = encoded(leases)
        try:
            reports = await self._client.run(
                receive_leases, self._job_id, messages, workers=list(messages), on_error="ignore"
            )
        except OSError as error:  # the scheduler is gone: the leases end by themselves
            LOGGER.warning("the rate of app %s cannot be leased to workers: %s", self._app_id, error)
            return
        for report in reports.values():
            if report is not None:
                self._hear(decode_report(report))

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
