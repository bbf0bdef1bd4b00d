"""What the tasks of a job share on a Dask worker: an event loop in a thread, and a session at the job's rate.

Dask's own event loop does none of it, so a worker that has much to do answers, and is not taken for dead. The
task itself waits in one of Dask's threads.
"""

import asyncio
import os
import pickle
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, Unpack, final

import msgspec
from distributed import secede
from msgspec import structs

from .._cloud.store_errors import ObjectStoreError
from .._core.environment import headers_from_env
from .._core.pace.pacer import DOCUMENTED_RATES, GatePacer, Pace, Pacer
from .._core.requests.endpoint import RateClass
from .._network.options import ClientOptions
from ..app import App
from ..errors import AuthenticationError, RequestInvalidError
from ..export.plan.app_file import AppReference
from ..export.plan.report import Progress
from ..session import AsyncSession
from .attempt_place import AttemptPlace, JobEndedError, place_of
from .credit_pacer import CreditAccount
from .credits import Grants
from .shard import OpenJob, decode_shard, encode
from .shard_reader import read_shard

if TYPE_CHECKING:
    from distributed import Worker

R = TypeVar("R")

_END_SECONDS: Final = 5.0
_LONGEST_REASON: Final = 1_000  # characters of an error that travel
_CLOSEST: Final = 0.01  # seconds before a report that something has happened, as more may
_UNASKED: Final = 0.25  # seconds after which a worker that was told nothing reports by itself
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_grants: Final = msgspec.msgpack.Decoder(Grants).decode

FailureKind: TypeAlias = Literal[
    "", "credentials", "other_app", "key_refused", "no_job", "no_store", "version", "ended", "error"
]
"""Empty for a result; ended: the job, or the process that was to run the task, has ended; error: any that
`job` has no words for, such as a full disk."""


class TaskEnd(NamedTuple):
    """The end of a task."""

    content: bytes = b""
    failure: FailureKind = ""
    reason: str = ""
    worker: str = ""  # the address of the one that failed


class JobFailure(Exception):  # noqa: N818, it is a result, and never leaves a task
    """A task that this worker cannot run."""

    def __init__(self, kind: FailureKind, reason: str) -> None:
        super().__init__(reason)
        self.kind: FailureKind = kind


class JobWork(Protocol):
    """The work of a job: what a task does."""

    options: dict[str, Any]  # of the session
    reference: AppReference | None  # where this process has the app's key; None for that of its environment

    async def run(self, job: "WorkerJob", payload: bytes, leave: Callable[[], object]) -> bytes:
        """Return the result of a task; called in the job's event loop.

        `leave` lets the task leave Dask's pool of threads: the worker begins another one.
        """


def topic_of(job: str) -> str:
    """Return the name of the events that carry the reports of a job."""
    return f"{job}-rate"


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
        self._stop()
        if self._account.is_busy:
            self._wait(_UNASKED)

    def _wait(self, seconds: float) -> None:
        """Report after so many seconds, unless that is sooner already."""
        when = self._loop.time() + seconds
        if self._timer is None or when < self._timer.when():
            self._stop()
            self._timer = self._loop.call_at(when, self._report)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


@final
class WorkerJob:
    """One job on this worker."""

    def __init__(self, worker: "Worker", name: str, version: str, app_id: str, work: bytes) -> None:
        """`work` is the pickle of a `JobWork`. Raises `JobFailure` where this worker cannot run it."""
        if version != (own := installed_version()):
            raise JobFailure("version", f"{own}, and not {version}")
        self.work: JobWork = pickle.loads(work)  # noqa: S301, Dask unpickles all it gets
        app, headers = credentials(app_id, self.work.reference)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="chatrest", daemon=True)
        self._thread.start()
        self._stack = AsyncExitStack()
        self.rate: WorkerRate = WorkerRate(worker, name, self._loop)
        session = self.rate.session(app, headers=headers, **self.work.options)
        self.session: AsyncSession = self._wait(self._stack.enter_async_context(session))

    def run(self, payload: bytes) -> bytes:
        """Return the result of a task; called in the task's thread."""
        has_left = Event()
        end = asyncio.run_coroutine_threadsafe(self.work.run(self, payload, has_left.set), self._loop)
        end.add_done_callback(lambda _: has_left.set())
        has_left.wait()
        if not end.done():
            secede()
        return end.result()

    def close(self) -> None:
        """Cancel everything that runs, close the session, and end the thread."""
        self._wait(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_END_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._stack.aclose()


def run_payload(job: Callable[[], WorkerJob], payload: bytes, address: str) -> TaskEnd:
    """Return the end of a task of a job, which is made by its first one; it raises nothing."""
    failure: FailureKind = "error"
    try:
        return TaskEnd(job().run(payload))
    except JobFailure as error:
        failure, reason = error.kind, str(error)
    except AuthenticationError as error:
        failure, reason = "key_refused", str(error)
    except (CancelledError, JobEndedError) as error:
        failure, reason = "ended", str(error)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    return TaskEnd(failure=failure, reason=reason[:_LONGEST_REASON], worker=address)


def credentials(app_id: str, reference: AppReference | None) -> tuple[App, Mapping[str, str]]:
    """Return the app and the headers of this process's environment, from where alone a worker has them.

    Raises `JobFailure` where there are none, or those of another app.
    """
    try:
        app = App.from_env() if reference is None else reference.app(os.environ)
        headers = headers_from_env()
    except RequestInvalidError as error:
        raise JobFailure("credentials", str(error)) from None
    if app.app_id != app_id:
        raise JobFailure("other_app", f"CHATREST_APP_ID = {app.app_id!r}: expected {app_id!r}")
    return app, headers


def installed_version() -> str:
    """Return the version of chatrest that this process runs."""
    return str(vars(sys.modules[__name__.partition(".")[0]])["__version__"])


@final
class ExportWork:
    """Reads shards; `out` is the export's folder or address, in which `file` is that of the job.

    A task leaves Dask's pool of threads when its last lists leave requests unused, so that the next shard has
    begun by its end. One of many apps that share the workers, as `reference` is given for, leaves at once: if
    it is slow, it keeps no thread from the others.
    """

    def __init__(self, out: str, file: str, reference: AppReference | None = None) -> None:
        self._out, self._file, self.reference = out, file, reference
        self._counts, self._reported = Progress(), (0, 0)
        self._opened: tuple[OpenJob, AttemptPlace] | None = None
        self.options: dict[str, Any] = {"telemetry": self._counts.heard}

    def __reduce__(self) -> Any:
        return type(self), (self._out, self._file, self.reference)

    async def run(self, job: WorkerJob, payload: bytes, leave: Callable[[], object]) -> bytes:
        """Return the encoded `ShardResult` of an encoded `Shard`."""
        if self.reference is not None:
            leave()
        if self._opened is None:
            self._opened = await asyncio.to_thread(self._open)
        opened, place = self._opened
        result = await read_shard(
            decode_shard(payload), opened, job.session, place,
            waits_for_rate=lambda: job.rate.waiting() > 0, fade=leave,
        )  # fmt: skip
        total, before = (self._counts.requests, self._counts.limited), self._reported
        self._reported = total
        return encode(structs.replace(result, sent=total[0] - before[0], limited=total[1] - before[1]))

    def _open(self) -> tuple[OpenJob, AttemptPlace]:
        """Read the job's file."""
        try:
            place = place_of(self._out)
            with place.job_file(self._file) as path:
                return OpenJob(path), place
        except FileNotFoundError as error:
            raise JobFailure("no_job", str(error.filename)) from None
        except (RequestInvalidError, ObjectStoreError) as error:
            raise JobFailure("no_store", str(error)) from None
