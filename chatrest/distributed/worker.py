"""The task of a part on a Dask worker: an event loop in the task's thread, and a session at the job's rate.

Dask's own event loop has no part in it, so a busy worker still answers the scheduler, and is not taken for
dead. A part is run exactly as on one machine.
"""

import asyncio
import pickle
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from secrets import randbits
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, structs

from .._cloud.store_errors import LeaseHeldError, LeaseLostError, ObjectStoreError
from .._core.requests.endpoint import RateClass
from .._network.view import client_of
from .._storage import InUseError
from .._texts import plural
from ..app import App, headers_from_env
from ..errors import AuthenticationError, ChatRestError, RequestInvalidError
from ..export.fetch.worker_pool import first_error
from ..export.folder.part_files import find_parts
from ..export.plan.parts import Night
from ..export.plan.report import Progress, Report
from ..export.read.exports import part_files
from ..session import AsyncSession
from .rate_coordinator import Grant, RateReport
from .task_pacer import TaskPacer

if TYPE_CHECKING:
    from distributed import Worker

_SENT_NAMES: Final = 20  # of the failed sources of a part, and of its deleted users
_MAX_REASON: Final = 1_000  # characters
_EVENT_SECONDS: Final = 0.01  # from an event to its report, which then has those that follow closely
_REPORT_SECONDS: Final = 0.25  # without a grant, after which a busy task reports by itself
_LOOK_SECONDS: Final = 0.5  # between two checks that a part is still wanted, and two reports of its numbers
_RUN_BITS: Final = 63
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_grant: Final = msgspec.msgpack.Decoder(Grant).decode

FailureKind: TypeAlias = Literal["", "worker", "held", "part"]
"""Empty for a result. worker: this worker cannot run any part; held: another process runs the part; part: any
other failure."""
SUMMED_COUNTS: Final = ("written", "changed", "deleted", "received", "requests", "limited", "repeated")
"""The counts of `Progress` of which a part has the sum of its runs."""
MAX_COUNTS: Final = ("ids", "covered", "sources", "done", "failed")
"""Those of which it has the largest of its runs."""


class TaskEvent(Struct, frozen=True, array_like=True):
    """A message of a task while it runs: about its rate, or its numbers."""

    rate: RateReport | None = None
    part: int = 0
    run: int = 0  # a random number
    counts: dict[str, int] = {}


class TaskEnd(NamedTuple):
    failure: FailureKind = ""
    reason: str = ""
    worker: str = ""  # its address
    content: bytes = b""  # the encoded `Report`


class UnfitError(Exception):
    """This worker cannot run any part of the job."""


class PartWork(Struct, frozen=True):
    """The work of a job: what its tasks have in common. It holds no secret, as the scheduler keeps it."""

    out: str  # the folder, or the address, of an export of parts
    nights: tuple[Night, ...]  # of its `parts.json`
    app_id: str
    url: str  # of the service, as the process that has the job asks it
    version: str  # of chatrest
    run: Callable[..., Awaitable[Report]]  # `export.run.run_parts.run_part`
    options: dict[str, Any] = {}  # of `run`


class TaskRate:
    """A task's share of the rate of a job: gives the session's gates their pacers, and sends their reports.

    Requests wait until the task has a share, and fail with `ChatRestError` after a minute without a grant.
    """

    def __init__(
        self, worker: "Worker", job: str, name: str, head_start: float, session: AsyncSession
    ) -> None:
        """`name` is the task's, `address#run`; `head_start` is that of its pacers."""
        self._worker, self._topic, self._loop = worker, job, asyncio.get_running_loop()
        self._name, self._head_start, self._client = name, head_start, client_of(session)
        self._client.make_pacer = self._pacer
        self._pacers: dict[RateClass, TaskPacer] = {}
        self._timer: asyncio.TimerHandle | None = None

    def _pacer(self, app_id: str, rate_class: RateClass) -> TaskPacer:
        if rate_class not in self._pacers:
            report_soon = partial(self._report_in, _EVENT_SECONDS)
            self._pacers[rate_class] = TaskPacer(
                self._name, rate_class, self._waiting, report_soon, self._head_start
            )
        return self._pacers[rate_class]

    def _waiting(self, rate_class: RateClass) -> int:
        gates = (each for pool in self._client.pools.values() for each in pool.gates.items())
        return sum(gate.waiting for (_, gate_class), gate in gates if gate_class == rate_class)

    def receive(self, rate_class: RateClass, message: bytes) -> None:
        """Take an encoded grant; called in any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._receive, rate_class, message)

    def _receive(self, rate_class: RateClass, message: bytes) -> None:
        if self._pacers[rate_class].receive(_decode_grant(message), time.monotonic()):
            self.report()

    def report(self, *, is_last: bool = False) -> None:
        for pacer in self._pacers.values():
            report = pacer.report(time.monotonic(), is_last=is_last)
            self._worker.log_event(self._topic, _encode(TaskEvent(report)))
        self._cancel_timer()
        if not is_last and any(pacer.is_busy for pacer in self._pacers.values()):
            self._report_in(_REPORT_SECONDS)

    def _report_in(self, seconds: float) -> None:
        when = self._loop.time() + seconds
        if self._timer is None or when < self._timer.when():
            self._cancel_timer()
            self._timer = self._loop.call_at(when, self.report)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


# ── a task ──


def run_part_task(
    worker: "Worker", job: str, work: bytes, number: int, rates: dict[str, TaskRate],
    is_wanted: Callable[[], bool],
) -> TaskEnd:  # fmt: skip
    """Return the end of a part's task; called in its thread. It raises nothing.

    `work` is the pickle of a `PartWork`; while it runs, its rate is in `rates`.
    """
    _stop_profiler(worker)
    try:
        report = asyncio.run(_run(worker, job, _decoded(work), number, rates, is_wanted))
        return TaskEnd(worker=worker.address, content=_encode(brief_report(report, number)))
    except (Exception, asyncio.CancelledError) as error:
        return _failed_end(error, worker.address)


def _stop_profiler(worker: "Worker") -> None:
    """Stop Dask's profiler, which looks at all threads a hundred times a second.

    In Python 3.11 it can wait for ever for a thread that begins at the same moment, and all other threads of
    the process then wait for it; a part begins many threads.
    """
    if (profiler := worker.periodic_callbacks.get("profile")) is not None:
        worker.loop.add_callback(profiler.stop)


async def _run(
    worker: "Worker", job: str, work: PartWork, number: int, rates: dict[str, TaskRate],
    is_wanted: Callable[[], bool],
) -> Report:  # fmt: skip
    """Run a part, report its numbers, and cancel it when it is not wanted any more."""
    app, headers = _credentials(work)
    await _check_export(work)
    progress, run = Progress(), randbits(_RUN_BITS)
    name = f"{worker.address}#{run}"
    async with AsyncSession(app, headers=headers, telemetry=progress.heard) as session:
        rates[name] = rate = TaskRate(worker, job, name, run / 2**_RUN_BITS, session)
        try:
            part = asyncio.ensure_future(
                work.run(session, work.out, number, progress=progress, **work.options)
            )
            while not part.done():
                await asyncio.wait({part}, timeout=_LOOK_SECONDS)
                event = TaskEvent(part=number, run=run, counts=counts_of(progress))
                worker.log_event(job, _encode(event))
                if not is_wanted():
                    part.cancel()
            return part.result()
        finally:
            rate.report(is_last=True)
            del rates[name]


def counts_of(progress: Progress) -> dict[str, int]:
    return {name: getattr(progress, name) for name in (*SUMMED_COUNTS, *MAX_COUNTS)}


def brief_report(report: Report, part: int) -> Report:
    """Return a report to send: with the names of some sources and users, and the number of the others."""
    reasons = report.reasons[:_SENT_NAMES]
    if (more := len(report.failed) - _SENT_NAMES) > 0:
        reasons.append(f"{plural(more, 'more source')} of part {part} failed: see its manifest.json")
    return structs.replace(
        report, failed=report.failed[:_SENT_NAMES], deleted_users=report.deleted_users[:_SENT_NAMES],
        reasons=reasons,
    )  # fmt: skip


def _failed_end(error: BaseException, address: str) -> TaskEnd:
    error = first_error(error)
    kind: FailureKind = "worker"
    match error:
        case UnfitError():
            text = f"the worker {address} {error}"
        case AuthenticationError():
            text = f"the service refuses the key of the worker {address}: {error}"
        case InUseError() | LeaseHeldError() | LeaseLostError():
            kind, text = "held", str(error)
        case ObjectStoreError():
            text = f"the worker {address} cannot use the store: {error}"
        case OSError() if not isinstance(error, ChatRestError):
            text = f"the worker {address} cannot write: {error}"
        case _:
            name = "" if isinstance(error, ChatRestError) else f"{type(error).__name__}: "
            kind, text = "part", f"the worker {address}: {name}{error}"
    return TaskEnd(kind, text[:_MAX_REASON], address)


# ── what a worker needs ──


def _decoded(work: bytes) -> PartWork:
    part_work: PartWork = pickle.loads(work)  # noqa: S301, Dask unpickles all it gets
    if part_work.version != (own := installed_version()):
        raise UnfitError(f"has chatrest {own}: expected {part_work.version}, as all machines need the same")
    return part_work


def _credentials(work: PartWork) -> tuple[App, Mapping[str, str]]:
    """Return the app and the headers from this process's environment: nobody sends them to a worker.

    Raises `UnfitError` if they are missing, or of another app or deployment than the job's.
    """
    try:
        app, headers = App.from_env(), headers_from_env()
    except RequestInvalidError as error:
        raise UnfitError(
            f"has no credentials: {error}; start workers with the variables of the app, as the job sends none"
        ) from None
    if app.app_id != work.app_id:
        raise UnfitError(f"cannot read: CHATREST_APP_ID = {app.app_id!r}: expected {work.app_id!r}")
    if app.chat_url != work.url:  # another deployment may have an app of the same id
        raise UnfitError(f"cannot read: its variables name the service {app.chat_url}: expected {work.url}")
    return app, headers


async def _check_export(work: PartWork) -> None:
    try:
        stored = await find_parts(part_files(work.out))
        is_same = stored is not None and stored[0].nights[: len(work.nights)] == work.nights
        fault = "" if is_same else "it is not there"
    except (OSError, ChatRestError) as error:
        fault = str(error)
    if fault:
        expected = "expected a folder that all machines share, or an address of an object store"
        raise UnfitError(f"does not see the export {work.out}: {fault}; {expected}")


def installed_version() -> str:
    return str(vars(sys.modules[__name__.partition(".")[0]])["__version__"])
