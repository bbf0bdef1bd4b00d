"""The part of an export that runs on Dask workers: one plugin a job, and the task that reads a shard.

The plugin holds what all shards of a job share on a worker: the job's file, decoded once, and the session
with its connections. It is made anew on a worker that joins later, and closes its session when the worker or
the job ends. The task runs on the worker's event loop. It raises nothing: whatever goes wrong is in its
result, so that no log of the cluster repeats an error of the service.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any, Final, final

from distributed import Worker, WorkerPlugin, get_worker
from msgspec import structs

from ..cloud.store_errors import ObjectStoreError
from ..errors import AuthenticationError, ChatRestError, RequestInvalidError
from ..export.report import Progress
from ..session import AsyncSession
from .attempt_folder import AttemptPlace, JobEndedError
from .attempt_store import place_of
from .credentials import Credentials, environment_credentials
from .rate_session import open_session, waits_for_rate
from .shard import FailureKind, OpenJob, ShardResult, decode_job, decode_shard, encode, installed_version
from .shard_reader import read_shard

_LONGEST_REASON: Final = 1_000
"""Characters of an error that travel."""


class ShardFailure(Exception):  # noqa: N818, it is a result, and never leaves this module
    """A shard that cannot be read on this worker."""

    def __init__(self, kind: FailureKind, reason: str) -> None:
        super().__init__(reason)
        self.kind: FailureKind = kind


@final
class ExportPlugin(WorkerPlugin):
    """The state of one job on a worker. Its pickle, which the scheduler keeps, has a path and no secret."""

    def __init__(self, name: str, out: str) -> None:
        self.name = name
        self.out = out
        self._credentials: Credentials | None = None
        self._opened: tuple[str, OpenJob, AttemptPlace, AsyncSession] | None = None
        self._stack = AsyncExitStack()
        self._lock: asyncio.Lock | None = None
        self._counts = Progress()
        self._reported = (0, 0)
        self._readings: set[asyncio.Task[ShardResult]] = set()

    def __getstate__(self) -> dict[str, str]:
        return {"name": self.name, "out": self.out}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__init__(**state)

    async def teardown(self, worker: Worker) -> None:
        """End the shards that are read, of which nobody takes the results any more; close the session."""
        for reading in self._readings:
            reading.cancel()
        await asyncio.gather(*self._readings, return_exceptions=True)
        await self._stack.aclose()
        self._opened = None

    def give(self, credentials: Credentials) -> None:
        """Take the credentials of the app; those of the environment are not looked for then."""
        self._credentials = credentials

    async def read(self, encoded: bytes) -> ShardResult:
        """Read a shard; raise `ShardFailure` where it cannot be read here."""
        shard = decode_shard(encoded)
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            if self._opened is None or self._opened[0] != shard.job:
                await self._open(shard.job)
        assert self._opened is not None
        name, job, place, session = self._opened
        work = read_shard(shard, job, session, place, waits_for_rate=lambda: waits_for_rate(name))
        reading = asyncio.create_task(work)
        self._readings.add(reading)
        reading.add_done_callback(self._readings.discard)
        try:
            result = await reading
        except asyncio.CancelledError:
            if not reading.cancelled():
                raise  # this task itself is to end
            raise ShardFailure("ended", "it ends") from None
        except AuthenticationError as error:
            raise ShardFailure("key_refused", str(error)) from None
        except JobEndedError as error:
            raise ShardFailure("ended", str(error)) from None
        total, before = (self._counts.requests, self._counts.limited), self._reported
        self._reported = total
        return structs.replace(result, sent=total[0] - before[0], limited=total[1] - before[1])

    async def _open(self, name: str) -> None:
        """Read the job's file, and open a session for it in the place of an older job's."""
        await self._stack.aclose()
        self._opened = None
        try:
            place = place_of(self.out)
            job = decode_job(await asyncio.to_thread(place.read_job, name))
        except FileNotFoundError as error:
            raise ShardFailure("no_job", str(error.filename)) from None
        except (RequestInvalidError, ObjectStoreError) as error:
            raise ShardFailure("no_store", str(error)) from None
        if job.version != (own := installed_version()):
            raise ShardFailure("version", f"{own}, and not {job.version}")
        try:
            credentials = self._credentials or environment_credentials(job.app_id)
        except RequestInvalidError as error:
            raise ShardFailure("other_app", str(error)) from None
        if credentials is None:
            raise ShardFailure("credentials", "")
        opened = await asyncio.to_thread(OpenJob, job)
        self._counts, self._reported = Progress(), (0, 0)
        session = await self._stack.enter_async_context(
            open_session(credentials.app, name, headers=credentials.headers, telemetry=self._counts.heard)
        )
        self._opened = name, opened, place, session


async def run_shard(plugin_name: str, shard: bytes) -> bytes:
    """Read a shard on this worker; return the encoded `ShardResult`."""
    number, worker = decode_shard(shard).id, get_worker()
    plugin: Any = worker.plugins.get(plugin_name)
    try:
        if plugin is None:  # the job has ended
            raise ShardFailure("ended", plugin_name)
        result = await plugin.read(shard)
    except ShardFailure as failure:
        result = _failed(number, worker.address, failure.kind, str(failure))
    except (ChatRestError, OSError) as error:
        result = _failed(number, worker.address, "error", f"{type(error).__name__}: {error}")
    return encode(result)


def give_credentials(plugin_name: str, credentials: Credentials, dask_worker: Any = None) -> None:
    """Hand credentials to a job's plugin; run by `Client.run` on a worker."""
    plugin = dask_worker.plugins.get(plugin_name)
    if plugin is not None:
        plugin.give(credentials)


def _failed(number: int, worker: str, kind: FailureKind, reason: str) -> ShardResult:
    return ShardResult(shard=number, failure=kind, reason=reason[:_LONGEST_REASON], worker=worker)
