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

Messages about the rate come from workers as events of the job's topic, as an answer, or because requests wait
without a slot, or one was refused. Those to workers go by `client.run`: ten times a second to those that use
slots, several workers in a call, and at once to one that has none.
"""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, Self, TypeVar, final

import dask.config
import msgspec
from distributed import Client, KilledWorker, LocalCluster
from distributed.client import AllExit
from distributed.protocol.pickle import dumps

from .._core.pace.pacer import Pace
from .._core.requests.arguments import check
from .._extras import missing_extra
from .._telemetry import LOGGER
from ..errors import RequestInvalidError
from ..export.plan.report import Phase, Progress
from .coordinator import ClusterError, ShardLostError
from .credits import EVERY, CreditBook, Grants, RateReport
from .plugin import JobPlugin, receive_grants, run_task
from .shard import Shard, ShardResult, decode_result, encode
from .worker import FailureKind, JobWork, TaskEnd, installed_version, topic_of

R = TypeVar("R")

_WORKERLESS_SECONDS: Final = 60.0
_SILENT_SECONDS: Final = 3.0  # without a worker, after which the progress says so
_REFRESH_SECONDS: Final = 1.0  # the age that the number of slots may have
_PATIENCE: Final = 4.0  # times the seconds that a shard has: it may wait after another one
_TRIES: Final = 3  # workers that may die while they are told of the job, one after the other
_END_SECONDS: Final = 10.0
_SOONEST: Final = 0.02  # seconds between two looks at the rate
_TOGETHER: Final = 16  # workers that are told by one call, each of which gets the messages of all
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_report: Final = msgspec.msgpack.Decoder(RateReport).decode
_LOCAL: Final = re.compile(r"local:([1-9][0-9]{0,2})")
_ADDRESS: Final = re.compile(r"(?:tcp|tls|ucx|ucxs|ws|wss)://[^\s/]+:[0-9]{1,5}")
_TLS: Final = ("tls", "ucxs", "wss")
_TLS_SETTINGS: Final = ("ca-file", "client.key", "client.cert")
_OTHER_SCHEME: Final = {"tcp": "tls", "tls": "tcp"}
_IGNORE_CTRL_C: Final = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""For processes of this command: a terminal sends Ctrl-C to them, too, and the command ends them."""
_CONNECT_SECONDS: Final = 20
CLOSE_SECONDS: Final = 10  # after which a cluster that does not answer is left alone


# ── the cluster ──


def check_address(address: str) -> int | None:
    """Return the number of workers of `local:N`; None for a scheduler's address.

    Raises `RequestInvalidError` for anything else.
    """
    if match := _LOCAL.fullmatch(address):
        return int(match[1])
    fits = _ADDRESS.fullmatch(address) is not None
    check(fits, "dask", address, "tcp://HOST:PORT, tls://HOST:PORT, or local:N with 1 to 999 workers")
    return None


@asynccontextmanager
async def connect(address: str, *, quiet: bool = False) -> AsyncIterator["Client"]:
    """Connect to the cluster at an address; `local:N` starts N processes here, and ends them behind.

    `quiet` keeps what Dask itself logs from standard error. Raises `RequestInvalidError` for a wrong address,
    and `ClusterError` where there is no scheduler.
    """
    workers = check_address(address)
    if quiet:
        for name in ("distributed", "distributed.client"):  # Dask gives the second a level of its own
            logging.getLogger(name).setLevel(logging.CRITICAL)
    if workers is None:
        async with _client(address) as client:
            yield client
        return
    options: dict[str, Any] = {
        "n_workers": workers, "threads_per_worker": 2, "processes": True, "dashboard_address": "127.0.0.1:0",
        "memory_limit": 0, "asynchronous": True, "preload": [_IGNORE_CTRL_C],
    }  # fmt: skip
    if quiet:
        options["silence_logs"] = logging.CRITICAL
    async with LocalCluster(**options) as cluster, _client(cluster) as client:
        yield client


@asynccontextmanager
async def _client(cluster: Any) -> AsyncIterator["Client"]:
    _silence(asyncio.get_running_loop())
    if isinstance(cluster, str) and cluster.partition(":")[0] in _TLS:
        _check_tls(cluster)
    client = None
    try:
        client = Client(cluster, asynchronous=True, timeout=_CONNECT_SECONDS, set_as_default=False)
        await client
    except (OSError, ValueError, TypeError) as error:
        if client is not None:
            with suppress(Exception):
                await client.close(CLOSE_SECONDS)
        raise ClusterError(
            f"no scheduler answers at {cluster}: {error}{_hint(str(cluster), error)}"
        ) from None
    try:
        yield client
    finally:
        await client.close(CLOSE_SECONDS)


def _hint(address: str, error: Exception) -> str:
    """Return what to try where something answers that is no scheduler of this protocol."""
    scheme, _, rest = address.partition(":")
    if scheme not in _OTHER_SCHEME or "Timed out" in str(error):
        return ""
    return f"; with{'out' if scheme == 'tls' else ''} TLS its address is {_OTHER_SCHEME[scheme]}:{rest}"


def _check_tls(address: str) -> None:
    """Raise `ClusterError` where Dask has no certificate from us, or only a part."""
    lacking = {}
    for name in _TLS_SETTINGS:
        path = dask.config.get(f"distributed.comm.tls.{name}", None)
        if not path or not Path(path).is_file():
            variable = f"DASK_DISTRIBUTED__COMM__TLS__{name.upper().replace('.', '__').replace('-', '_')}"
            lacking[variable] = f" ({path} is no file)" if path else ""
    if lacking:
        names = ", ".join(f"{variable}{fault}" for variable, fault in lacking.items())
        raise ClusterError(f"{address} needs TLS: set {names} to the path of a PEM file")


def _silence(loop: asyncio.AbstractEventLoop) -> None:
    """Keep a loop from printing an exception by which Dask leaves one of its waits."""
    previous = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), AllExit):
            return
        if previous is None:
            loop.default_exception_handler(context)
        else:
            previous(loop, context)

    loop.set_exception_handler(handle)


def check_client(client: object) -> "Client":
    """Return a client that works with `await`; `RequestInvalidError` for anything else."""
    if not isinstance(client, Client) or not client.asynchronous:
        raise RequestInvalidError(
            f"client = {client!r}: expected a distributed.Client with asynchronous=True"
        )
    return client


def check_connection(client: Any, address: str) -> None:
    """Raise `ClusterError` if the scheduler of a client is gone, which was at `address`."""
    if client.status != "running":
        raise ClusterError(f"the scheduler at {address} is gone")


# ── its rate ──


@final
class RateCoordinator:
    """One rate for all workers of a job; after the block, none is used.

    After the death of this process workers send for a third of a second more; for a few seconds where it got
    so little CPU time that slots had to last longer.
    """

    def __init__(self, client: Client, app_id: str, pace: Pace | None, job: str) -> None:
        self._client: Any = client
        self._app_id, self._job = app_id, job
        self._book = CreditBook(pace or Pace())
        self._wakeup = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._client.subscribe_topic(topic_of(self._job), self._hear)
        self._start(self._act())
        return self

    async def __aexit__(self, *_: object) -> None:
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
                receive_grants, self._job, messages, workers=list(messages), on_error="ignore"
            )
        except OSError as error:  # the scheduler is gone, which ends the job, and so are the slots soon
            LOGGER.debug("the workers do not get the rate of app %s: %s", self._app_id, error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


# ── a job ──


@final
class ClusterJob:
    """A job; used with `async with`."""

    def __init__(
        self, client: Client, app_id: str, name: str, work: JobWork, pace: Pace | None = None,
        progress: Progress | None = None, clock: Callable[[], float] = time.monotonic,
        dead: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """`name` is the job's own, which no other job has; the jobs `dead` are ended on all workers first."""
        self.name, self._dead = name, dead
        self._client: Any = client
        self._plugin = JobPlugin(name, installed_version(), app_id, dumps(work))
        self._rate = RateCoordinator(client, app_id, pace, name)
        self._progress, self._clock = progress or Progress(), clock
        self._slots, self._numbers = (0, float("-inf")), count(1)

    async def __aenter__(self) -> Self:
        self.check_connection()
        for name in self._dead:  # its shards would keep the workers busy until their time is over
            await self._unregister(name)
        for left in reversed(range(_TRIES)):
            try:
                await self.call(self._client.register_plugin(self._plugin, name=self.name))
                break
            except ShardLostError as error:
                if not left:
                    raise ClusterError(f"the workers of {self.address} die: {error}") from None
            except Exception as error:  # of a worker, which Dask gives as a text
                if "ModuleNotFoundError" not in str(error):
                    raise
                await self._unregister(self.name)
                raise _unequipped(error) from None
        await self._rate.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rate.__aexit__()
        await self._unregister(self.name)

    async def _unregister(self, name: str) -> None:
        if self._client.status != "running":  # a cluster that is gone needs no word
            return
        with suppress(ClusterError, ShardLostError, TimeoutError, ValueError, KeyError):  # of no such job
            async with asyncio.timeout(_END_SECONDS):
                await self.call(self._client.unregister_worker_plugin(name))

    async def slots(self) -> int:
        """Return the number of the workers' threads; waits for a worker where there is none."""
        slots, since = self._slots
        if slots and self._clock() < since + _REFRESH_SECONDS:
            return slots
        begun, phase = self._clock(), self._progress.phase
        while not (slots := await self._threads()):
            waited = self._clock() - begun
            if waited > _WORKERLESS_SECONDS:
                hint = f"start some with `dask worker {self.address}`"
                raise ClusterError(f"the scheduler at {self.address} has no workers: {hint}")
            if waited > _SILENT_SECONDS:
                self._progress.enter(Phase.WAITING_FOR_WORKER, self.address)
            await asyncio.sleep(_REFRESH_SECONDS / 4)
        self._progress.enter(phase)
        self._slots = slots, self._clock()
        return slots

    async def run(self, shard: Shard, operation: str) -> ShardResult:
        """Return what has arrived of a shard, whose task has the name of the operation."""
        key, seconds = f"{operation}-{next(self._numbers)}", shard.budget.seconds + shard.budget.grace
        return decode_result(await self.submit(encode(shard), key, seconds=_PATIENCE * seconds))

    async def _threads(self) -> int:
        with suppress(ShardLostError):
            return sum((await self.call(self._client.nthreads())).values())
        return 0

    async def submit(self, payload: bytes, key: str, *, seconds: float | None = None) -> bytes:
        """Return the result of a task.

        Raises `ShardLostError` where it brought none, and `ClusterError` where no task would.
        """
        self.check_connection()
        future = self._client.submit(run_task, self.name, payload, key=f"{key}-{self.name}", pure=False)
        try:
            async with asyncio.timeout(seconds):
                end: TaskEnd = await future
        except TimeoutError:
            await future.cancel()
            raise ShardLostError(f"its task has not ended after {seconds:.0f} s") from None
        except (asyncio.CancelledError, CancelledError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise self._lost("its task was cancelled in the cluster") from None
        except KilledWorker as error:
            raise ShardLostError(f"its workers died: {error.last_worker}") from None
        except OSError as error:
            raise self._lost(f"its result could not be fetched: {error}") from None
        except ImportError as error:
            raise _unequipped(error) from None
        finally:
            future.release()
        if end.failure in ("error", "ended"):
            raise ShardLostError(f"the worker {end.worker} failed: {end.reason}")
        if end.failure:
            raise ClusterError(_FAILURES[end.failure].format(end.worker, end.reason))
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
        check_connection(self._client, self.address)

    @property
    def address(self) -> str:
        """The scheduler's address."""
        scheduler = self._client.scheduler
        return str(scheduler.address) if scheduler is not None else "its address"


def _unequipped(error: Exception) -> ClusterError:
    return ClusterError(f"a worker cannot run it: {error}; {missing_extra('it', 'dask')}")


_FAILURES: Final[dict[FailureKind, str]] = {
    "no_job": "the worker {0} does not see {1}: OUT has to be a folder that all share",
    "no_store": "the worker {0} cannot use the store: {1}",
    "version": "the worker {0} has chatrest {1}: all machines need the same version",
    "key_refused": "the service refuses the key of the worker {0}: {1}",
    "credentials": "the worker {0} has no credentials: {1}; start workers with the variables of the app, as "
    "none are sent",
    "other_app": "the worker {0} cannot read: {1}",
}
