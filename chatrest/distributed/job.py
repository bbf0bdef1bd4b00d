"""A job on a Dask cluster: the connection, its plugin on the workers, its rate, and the tasks of its parts.

| what happens                                   | what becomes of it                                      |
|------------------------------------------------|---------------------------------------------------------|
| a worker dies                                  | the scheduler gives its parts to others, a few times;   |
|                                                | then `PartLostError`                                    |
| a worker has no key, or one that is refused,   | its part goes to another one, and it gets no more;      |
| another version, does not see OUT, or its disk | `ClusterError`, with all their reasons, if no other     |
| is full                                        | worker is left                                          |
| the scheduler goes away                        | `ClusterError`                                          |
| there is no worker                             | the job waits for one; `ClusterError` after a minute    |
| the command dies                               | the scheduler drops its tasks; their threads see it,    |
|                                                | and cancel the parts                                    |

A part that fails becomes a new task for other workers: Dask's own retries would go to the same worker, as it
is idle. All that the cluster keeps of a job has the job's name, and is removed when the job ends.

Tasks report by events of the job's topic; grants of the rate are sent by `client.run`. If this process dies,
workers send requests until their leases end: three seconds, or with more than 150 tasks a fiftieth of their
number.
"""

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any, Final, Self, TypeVar

import msgspec
from distributed import Client, KilledWorker, LocalCluster
from distributed.client import AllExit
from distributed.protocol.pickle import dumps

from .._core.pace.pacer import DOCUMENTED_RATES, Pace
from .._core.requests.arguments import check
from .._core.requests.endpoint import RateClass
from .._telemetry import LOGGER
from .._texts import missing_extra
from ..app import App, environment_of
from ..errors import ChatRestError
from ..export.plan.report import Phase, Progress, Report
from .plugin import JobPlugin, receive_grants, run_task
from .rate_shares import GRANT_SECONDS, RateShares
from .worker import ADDED, STATES, PartWork, TaskEnd, TaskEvent, counts_of

R = TypeVar("R")

_LOCAL: Final = re.compile(r"local:([1-9][0-9]{0,2})")
_ADDRESS: Final = re.compile(r"(?:tcp|tls|ucx|ucxs|ws|wss)://[^\s/]+:[0-9]{1,5}")
_IGNORE_CTRL_C: Final = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""For processes of this command: a terminal sends Ctrl-C to them, too, and the command ends them."""
_CONNECT_SECONDS: Final = 20
_CLOSE_SECONDS: Final = 10  # after which a cluster that does not answer is left alone


class ClusterError(ChatRestError):
    """The cluster cannot continue; what was exported stays, and the next run continues from there."""


class PartLostError(Exception):
    """The task of a part, or a call of a worker, brought no result: its worker died, or could not do it."""


class PartHeldError(Exception):
    """Another process runs the part."""


@asynccontextmanager
async def connect(address: str, app: App | None = None) -> AsyncIterator[Client]:
    """Connect to the cluster at an address; `local:N` starts N processes here, and ends them afterwards.

    These processes read `app`, by default that of the environment. Dask's own log does not reach standard
    error. Raises `RequestInvalidError` for a wrong address, and
    `ClusterError` where there is no scheduler.
    """
    local = _LOCAL.fullmatch(address)
    fits = local is not None or _ADDRESS.fullmatch(address) is not None
    check(fits, "dask", address, "tcp://HOST:PORT, tls://HOST:PORT, or local:N with 1 to 999 workers")
    for name in ("distributed", "distributed.client"):  # Dask gives the second a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if local is None:
        async with _client(address) as client:
            yield client
        return
    options: dict[str, Any] = {
        "n_workers": int(local[1]), "threads_per_worker": 2, "processes": True, "memory_limit": 0,
        "dashboard_address": "127.0.0.1:0", "asynchronous": True, "preload": [_IGNORE_CTRL_C],
        "silence_logs": logging.CRITICAL, "env": {} if app is None else environment_of(app),
    }  # fmt: skip
    async with LocalCluster(**options) as cluster, _client(cluster) as client:
        yield client


@asynccontextmanager
async def _client(cluster: Any) -> AsyncIterator[Client]:
    _silence(asyncio.get_running_loop())
    client = None
    try:
        client = Client(cluster, asynchronous=True, timeout=_CONNECT_SECONDS, set_as_default=False)
        await client
    except (OSError, ValueError, TypeError) as error:
        if client is not None:
            with suppress(Exception):
                await client.close(_CLOSE_SECONDS)
        expected = (
            "expected a scheduler there, with TLS and its certificates in Dask's settings if it has TLS"
        )
        raise ClusterError(f"no scheduler answers at {cluster}: {error}; {expected}") from None
    try:
        yield client
    finally:
        await client.close(_CLOSE_SECONDS)


def _silence(loop: asyncio.AbstractEventLoop) -> None:
    """Keep a loop from printing an exception by which Dask leaves one of its waits."""
    default = loop.get_exception_handler() or asyncio.AbstractEventLoop.default_exception_handler

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), AllExit):
            default(loop, context)

    loop.set_exception_handler(handle)


def check_connection(client: Any) -> None:
    """Raise `ClusterError` if the scheduler is gone."""
    if client.status != "running":
        raise ClusterError(f"the scheduler at {address_of(client)} is gone")


async def call(client: Any, work: Awaitable[R]) -> R:
    """Return the result of a call by the scheduler.

    Raises `ClusterError` if the scheduler is gone, and `PartLostError` if the worker that it called is gone.
    """
    try:
        return await work
    except (OSError, CancelledError, asyncio.CancelledError) as error:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        await asyncio.sleep(0)  # the client notices now that its connection is closed
        check_connection(client)
        raise PartLostError(str(error)) from None


def address_of(client: Any) -> str:
    return str(client.scheduler.address) if client.scheduler is not None else "its address"


# ── the job ──

_WORKERLESS_SECONDS: Final = 60.0
_SILENT_SECONDS: Final = 3.0  # without a worker, after which the progress says so
_POLL_SECONDS: Final = 0.25
_END_SECONDS: Final = 10.0
_NAMED_WORKERS: Final = 5  # that an error names
_SHORTEST_PAUSE: Final = 0.02  # seconds between two divisions of the rate
_GRANTS_A_CALL: Final = 16  # each worker of a call gets the grants of all its tasks
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_event: Final = msgspec.msgpack.Decoder(TaskEvent).decode


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
        self.unfit: dict[str, str] = {}
        """Workers that get no more parts, each with the reason."""
        self._counts_before = counts_of(self.progress)
        self._runs: defaultdict[int, dict[int, dict[str, int]]] = defaultdict(dict)
        """The counts of each run of each part."""
        self._shares: dict[RateClass, RateShares] = {}
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
        with suppress(
            ClusterError, PartLostError, TimeoutError, ValueError, KeyError
        ):  # it is not registered
            async with asyncio.timeout(_END_SECONDS):
                await call(self._client, self._client.unregister_worker_plugin(self._plugin.name))

    async def run(self, number: int) -> Report:
        """Return the report of a part, run by a worker.

        Raises `PartHeldError` if another process runs it, `PartLostError` if its task brought no result, and
        `ClusterError` if no worker can run it, or the scheduler is gone.
        """
        while True:
            end = await self._task(number, await workers_of(self._client, self.progress))
            if end.failure != "worker":
                break
            if end.worker not in self.unfit:
                self.unfit[end.worker] = end.reason
                LOGGER.warning("%s", end.reason)
        if end.failure == "held":
            raise PartHeldError(end.reason)
        if end.failure:
            raise PartLostError(end.reason)
        return msgspec.msgpack.decode(end.content, type=Report)

    async def _task(self, number: int, workers: dict[str, dict[str, Any]]) -> TaskEnd:
        if not (usable := [name for name in workers if name not in self.unfit]):
            texts = list(self.unfit.values())
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
            raise PartLostError(f"{deaths} workers died while they ran it, the last one at {last}") from None
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
        if (shares := self._shares.get(report.rate_class)) is None:
            shares = RateShares(self._pace, DOCUMENTED_RATES[report.rate_class])
            self._shares[report.rate_class] = shares
        if shares.receive(report, time.monotonic()):
            self._wakeup.set()

    def _count(self, event: TaskEvent) -> None:
        """Take the numbers of a run of a part, and add those that its other runs have reported."""
        self._runs[event.part][event.run] = event.counts
        for name in (*ADDED, *STATES):
            total = sum if name in ADDED else max  # a run that takes in what others have left reads no list
            parts = (total(each[name] for each in runs.values()) for runs in self._runs.values())
            setattr(self.progress, name, self._counts_before[name] + sum(parts))

    # ── the one rate ──

    async def _divide_rate(self) -> None:
        while True:
            for rate_class, shares in self._shares.items():
                grants = [(name, _encode(each)) for name, each in shares.divide(time.monotonic()).items()]
                for start in range(0, len(grants), _GRANTS_A_CALL):
                    self._start(self._send(rate_class, dict(grants[start : start + _GRANTS_A_CALL])))
            await asyncio.sleep(_SHORTEST_PAUSE)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRANT_SECONDS - _SHORTEST_PAUSE):
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


async def workers_of(
    client: Any, progress: Progress | None = None, clock: Callable[[], float] = time.monotonic
) -> dict[str, dict[str, Any]]:
    """Return what the scheduler knows of each worker; wait for a first one if there is none.

    Raises `ClusterError` after a minute without any, and if the scheduler is gone.
    """
    progress, address, begun = progress or Progress(), address_of(client), clock()
    phase = progress.phase
    while True:
        check_connection(client)
        with suppress(PartLostError):
            if workers := (await call(client, client.scheduler.identity()))["workers"]:
                progress.enter(phase)
                return dict(workers)
        if (waited := clock() - begun) > _WORKERLESS_SECONDS:
            hint = f"start some with `dask worker {address}`"
            raise ClusterError(f"the scheduler at {address} has no workers: {hint}")
        if waited > _SILENT_SECONDS:
            progress.enter(Phase.WAITING_FOR_WORKER, address)
        await asyncio.sleep(_POLL_SECONDS)
