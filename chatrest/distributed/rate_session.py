"""Sessions at the leased rate of a job: in the workers of a Dask cluster, and in the coordinator itself.

| direction             | by                                                                            |
|-----------------------|-------------------------------------------------------------------------------|
| worker to coordinator | an event of the topic `topic(job_id)`: `worker.log_event`                     |
| coordinator to worker | `client.run(receive_leases, …)`, whose result is the worker's report          |

A process has one participant for a job, which its sessions share. Reports and leases hold numbers only.
"""

import asyncio
import logging
import time
from threading import Lock
from typing import TYPE_CHECKING, Final, Unpack

import msgspec

from ..core.pace.pacer import DOCUMENTED_RATES, GatePacer, Pace, Pacer
from ..core.requests.endpoint import RateClass
from ..core.requests.hosts import App
from ..errors import RequestInvalidError
from ..network.options import ClientOptions
from ..network.pool import MakePacer
from ..session import AsyncSession
from .rate_messages import RateLease, RateReport
from .rate_participant import Participant
from .rate_reporter import Reporter

if TYPE_CHECKING:
    from distributed import Worker

COORDINATOR: Final = "coordinator"
"""The name of the coordinator's own participant."""
FREQUENT_CALLS: Final = (("receive_leases",), ("state_of",))
"""The arguments of the lines that Dask's worker logs for them."""
_REPORTERS: Final[dict[tuple[str, str], Reporter]] = {}
_LOCK: Final = Lock()
_encode: Final = msgspec.msgpack.Encoder().encode
decode_report: Final = msgspec.msgpack.Decoder(RateReport).decode
_decode_lease: Final = msgspec.msgpack.Decoder(RateLease).decode


def topic(job_id: str) -> str:
    """Return the name of the events that carry the reports of a job."""
    return f"chatrest-rate-{job_id}"


def open_session(app: App, job_id: str, **options: Unpack[ClientOptions]) -> AsyncSession:
    """Return a session for `app`, used with `async with`, whose calls follow the rate of the job.

    In a task of a Dask worker, and in the process of the job's `RateCoordinator`; elsewhere it is a
    `RequestInvalidError`. Calls wait until the coordinator grants a share, and fail with `ChatRestError`
    after a minute without one. `options` are those of `AsyncSession`, but for `pace`: that is the
    coordinator's.
    """
    if options.get("pace") is not None:
        raise RequestInvalidError("pace: allowed is None, as the rate is that of the job's RateCoordinator")
    session = AsyncSession(app, **options)
    session._client.make_pacer = _pacers(_participant(job_id), app.app_id)
    return session


def waits_for_rate(job_id: str) -> bool:
    """Return True while requests of this process wait for a slot of the job's rate."""
    return _participant(job_id).is_waiting(time.monotonic())


def _pacers(participant: Participant, app_id: str) -> MakePacer:
    def make_pacer(other_id: str, rate_class: RateClass) -> GatePacer:
        if other_id == app_id:
            return participant.pacer(rate_class)
        return Pacer(Pace(), DOCUMENTED_RATES[rate_class])  # a view for an app that the job has no rate for

    return make_pacer


def _participant(job_id: str) -> Participant:
    worker = _worker()
    name = COORDINATOR if worker is None else worker.address
    with _LOCK:
        reporter = _REPORTERS.get((job_id, name))
        if reporter is None:
            if worker is None:
                raise RequestInvalidError(
                    f"job_id = {job_id!r}: allowed is the job of a RateCoordinator of this process, "
                    "or a call inside of a task of a Dask worker"
                )
            reporter = _REPORTERS[job_id, name] = _reporter_of(worker, job_id)
    return reporter.participant


def _reporter_of(worker: "Worker", job_id: str) -> Reporter:
    loop = worker.loop.asyncio_loop  # type: ignore[attr-defined]

    def send(report: RateReport) -> None:
        worker.log_event(topic(job_id), _encode(report))

    logging.getLogger("distributed.worker").addFilter(is_rare_call)

    def lose() -> None:  # the coordinator is dead: nobody else ends the job on this worker
        with _LOCK:
            _REPORTERS.pop((job_id, worker.address), None)

    reporter = Reporter(worker.address, send, loop, lose=lose)
    loop.call_soon_threadsafe(reporter.start)
    return reporter


def is_rare_call(record: logging.LogRecord) -> bool:
    """Return False for the lines that Dask logs for a `client.run` that comes every few seconds."""
    return record.args not in FREQUENT_CALLS


def _worker() -> "Worker | None":
    """Return the Dask worker that runs this task; None outside of one."""
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def register(job_id: str, reporter: Reporter) -> None:
    """Make the coordinator's own participant known to `open_session`."""
    with _LOCK:
        _REPORTERS[job_id, COORDINATOR] = reporter


def unregister(job_id: str) -> None:
    """Forget the coordinator's own participant."""
    with _LOCK:
        _REPORTERS.pop((job_id, COORDINATOR), None)


# ── run on the workers, by `client.run` ──


def receive_leases(job_id: str, leases: dict[str, bytes], dask_worker: "Worker") -> bytes | None:
    """Follow the lease of this worker; return its report, or None for a worker that has no session."""
    reporter = _REPORTERS.get((job_id, dask_worker.address))
    lease = leases.get(dask_worker.address)
    if reporter is None or lease is None:
        return None
    return _encode(reporter.receive(_decode_lease(lease)))


async def end_job(job_id: str, dask_worker: "Worker") -> None:
    """Forget the job on this worker: its sessions get no share any more."""
    with _LOCK:
        reporter = _REPORTERS.pop((job_id, dask_worker.address), None)
    if reporter is not None:
        await asyncio.shield(reporter.stop())


def encoded(leases: list[RateLease]) -> dict[str, bytes]:
    """Return the leases by worker, as `receive_leases` takes them."""
    return {lease.worker: _encode(lease) for lease in leases}
