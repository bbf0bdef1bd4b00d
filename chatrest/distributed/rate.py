"""The one rate of a job on a Dask cluster: `credits` and `credit_pacer`, with clocks and messages.

| direction             | by                                                                              |
|-----------------------|---------------------------------------------------------------------------------|
| worker to coordinator | an event of the job's topic: `worker.log_event`; as an answer, or because       |
|                       | requests wait without a slot, or one was refused                                |
| coordinator to worker | `client.run`, ten times a second to those that use slots,    |
|                       | several workers in a call, and at once to one that has none                     |
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, Unpack, final

import msgspec

from ..core.pace.pacer import DOCUMENTED_RATES, GatePacer, Pace, Pacer
from ..core.requests.endpoint import RateClass
from ..core.requests.hosts import App
from ..network.options import ClientOptions
from ..session import AsyncSession
from ..telemetry import LOGGER
from .credit_pacer import CreditAccount
from .credits import EVERY, CreditBook, Grants, Report

if TYPE_CHECKING:
    from distributed import Client, Worker

_SOONEST: Final = 0.02  # seconds between two looks of the coordinator
_CLOSEST: Final = 0.01  # seconds before a report that something has happened, as more may
_UNASKED: Final = 0.25  # seconds after which a worker that was told nothing reports by itself
_TOGETHER: Final = 16  # workers that are told by one call, each of which gets the messages of all
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_report: Final = msgspec.msgpack.Decoder(Report).decode
_decode_grants: Final = msgspec.msgpack.Decoder(Grants).decode


def topic_of(job: str) -> str:
    """Return the name of the events that carry the reports of a job."""
    return f"{job}-rate"


@final
class RateCoordinator:
    """One rate for all workers of a job: `async with RateCoordinator(…):`.

    `client` is an asynchronous Dask `Client`, and `pace` that of an `AsyncSession` (None learns the limit).
    Behind the block, or after the death of this process, workers send nothing more after a third of a second.
    """

    def __init__(
        self, client: "Client", app_id: str, pace: Pace | None, job: str, receive: Callable[..., None]
    ) -> None:
        """`receive` takes the job and the messages by worker, on each worker, by `client.run`."""
        self._client: Any = client
        self._app_id, self._job, self._receive = app_id, job, receive
        self._book = CreditBook(pace or Pace())
        self._wakeup = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def rate(self) -> float | None:
        """Requests a second of the standard class that the whole cluster may send; None before the first."""
        shared = self._book.classes.get("standard")
        if shared is None:
            return None
        return 0.0 if shared.pacer.held_since is not None else shared.pacer.bulk_rate

    async def __aenter__(self) -> Self:
        self._client.subscribe_topic(topic_of(self._job), self._hear)
        self._start(self._act())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client.status == "running":  # a cluster that is gone needs no word
            self._client.unsubscribe_topic(topic_of(self._job))

    def _hear(self, event: tuple[float, bytes]) -> None:
        try:
            report = _decode_report(event[1])
        except msgspec.MsgspecError as error:  # of another version of chatrest, or of somebody else
            LOGGER.warning("a report of the rate of app %s cannot be read: %s", self._app_id, error)
            return
        if self._book.hear(report, time.monotonic()):
            self._wakeup.set()

    async def _act(self) -> None:
        while True:
            grants = self._book.grants(time.monotonic())
            names = list(grants)
            for start in range(0, len(names), _TOGETHER):
                self._start(self._send({name: grants[name] for name in names[start : start + _TOGETHER]}))
            await asyncio.sleep(_SOONEST)
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY - _SOONEST):
                    await self._wakeup.wait()
            self._wakeup.clear()

    async def _send(self, grants: Mapping[str, Grants]) -> None:
        """Send messages; a worker that does not answer delays nothing but this task."""
        messages = {name: _encode(each) for name, each in grants.items()}
        try:
            await self._client.run(
                self._receive, self._job, messages, workers=list(messages), on_error="ignore"
            )
        except OSError as error:  # the scheduler is gone, and so are the slots soon
            LOGGER.warning("the workers cannot be told the rate of app %s: %s", self._app_id, error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@final
class WorkerRate:
    """A worker's part of the rate of a job, for sessions that run in one event loop, not Dask's.

    Requests wait until they are given slots, and fail with `ChatRestError` after a minute without a word.
    """

    def __init__(self, worker: "Worker", job: str, loop: asyncio.AbstractEventLoop) -> None:
        self._worker, self._topic, self._loop = worker, topic_of(job), loop
        self._account = CreditAccount(worker.address, self.waiting, self._alarm)
        self._sessions: list[AsyncSession] = []
        self._timer: asyncio.TimerHandle | None = None

    def session(self, app: App, **options: Unpack[ClientOptions]) -> AsyncSession:
        """Return a session at the rate of the job, to be used with `async with`."""

        def make_pacer(app_id: str, rate_class: RateClass) -> GatePacer:
            if app_id == app.app_id:
                return self._account.pacer(rate_class)
            return Pacer(Pace(), DOCUMENTED_RATES[rate_class])  # another app, of a view

        session = AsyncSession(app, **options)
        session._client.make_pacer = make_pacer
        self._sessions.append(session)
        return session

    def waiting(self, rate_class: RateClass | None = None) -> int:
        """Return how many requests wait for a slot, of one class or of all."""
        return sum(
            gate.waiting
            for session in self._sessions
            for pool in session._client._pools.values()
            for (app_id, of), gate in pool.gates.known()
            if app_id == session.app.app_id and rate_class in (None, of)
        )

    def receive(self, message: bytes) -> None:
        """Take a message of the coordinator; called in any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._receive, message)

    def _receive(self, message: bytes) -> None:
        if self._account.receive(_decode_grants(message), time.monotonic()):
            self._report()

    def _alarm(self) -> None:
        self._wait(_CLOSEST)

    def _report(self) -> None:
        report = self._account.report(time.monotonic())
        self._worker.log_event(self._topic, _encode(report))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._account.is_busy:
            self._wait(_UNASKED)

    def _wait(self, seconds: float) -> None:
        """Report after so many seconds, unless that is sooner already."""
        when = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._report)
