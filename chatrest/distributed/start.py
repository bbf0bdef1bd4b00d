"""From arguments to a distributed export: an ordinary one whose lists are read by a cluster's workers."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager, suppress
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, final

from .._cloud.address import parse_address
from .._cloud.lease import LEASE, Sleep
from .._cloud.store import ObjectStore
from .._cloud.store_errors import LeaseLostError, ObjectStoreError
from .._core.pace.pacer import Pace
from .._threads import in_thread
from ..app import App
from ..export.dataset.attachments import AttachmentOptions
from ..export.fetch.worker_pool import WORKERS
from ..export.folder.tables import Table
from ..export.plan.app_file import AppExport, AppReference
from ..export.plan.plan import Plan
from ..export.plan.report import Progress, Report
from ..export.remote.local_path import local_path
from ..export.run.apps import AT_ONCE, AppResult, Watch, export_each, make_runs
from ..export.run.place import journal_root, run_at
from ..export.run.run import OpenWalk, export_folder
from ..export.store.segments import NEW
from ..session import AsyncSession
from .attempt_place import JOB_PREFIX, AttemptFolder, AttemptPlace, AttemptStore
from .coordinator import ClusterError, Coordinator, ShardRunner
from .job import ClusterJob, check_client, check_connection
from .plugin import missing_variables
from .shard import Budget, write_job
from .worker import ExportWork

if TYPE_CHECKING:
    from distributed import Client

_ANSWER_SECONDS: Final = 10.0  # for the workers' answer which variables they lack
_SHOWN: Final = 5  # workers that an error names
_WATCH_SECONDS: Final = 10.0  # between two looks at the lease of an export in a store


async def export(
    client: "Client",
    app: App,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
    only: bool = False,
    change_plan: bool = False,
    recheck: int | None = None,
    workers: int = WORKERS,
    journal: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    pace: Pace | None = None,
) -> Report:
    """Export the messages of `plan` into `out`, with the workers of a Dask cluster.

    `client` is a `distributed.Client` with `asynchronous=True`, and `out` a folder that this machine and all
    workers see under the same path, or the address of an object store, for which the workers have credentials
    in their own environment. The other arguments, the result and the errors are those of
    `chatrest.export.export`; so is the export: the same ids and the same bytes of each message. A run may go
    on with an export of one machine, and the other way round.

    The workers take the app's credentials from their own environment (`CHATREST_APP_ID` and so on,
    `CHATREST_HEADERS` too); nothing of `app` but its id is sent.

    `pace` is the rate of all workers together, as that of an `AsyncSession`; None finds the limit.

    Raises `ClusterError` where the scheduler goes away, or the workers cannot do their part; what was adopted
    by then stays, and the next run continues from there. A worker that dies changes nothing.
    """
    client = check_client(client)
    listeners = () if progress is None else progress.heard
    async with AsyncSession(app, pace=pace, telemetry=listeners) as session:
        return await export_with(
            client, session, out, plan, tables=tables, attachments=attachments, only=only,
            change_plan=change_plan, recheck=recheck, workers=workers, journal=journal, progress=progress,
            pace=pace,
        )  # fmt: skip


async def export_apps(
    client: "Client",
    apps: Sequence[AppExport],
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    at_once: int = AT_ONCE,
    journal: str | PathLike[str] | None = None,
    headers: Mapping[str, str] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> list[AppResult]:
    """Export many apps with the workers of one Dask cluster, each into `out/<app id>`.

        for result in await export_apps(client, read_apps("apps.toml"), "/shared/backups"):
            result.check()

    `client` and `out` are as for `export`, all else as for `chatrest.export.export_apps`. The apps share the
    workers, and each has its own rate. A shard keeps no thread of a worker while it waits, so a service that
    hangs delays its own app only.

    A worker reads an app's key in the variable `key_env` of its environment, or in the file `key_file` of its
    disk. No key is sent, so an app with neither is a `RequestInvalidError`. `headers` are those of
    this process, and workers have `CHATREST_HEADERS`. An app whose variable some worker lacks fails, with the
    names of the variable and the workers. Raises `ClusterError` where this is true for every app.
    """
    client, runs = check_client(client), make_runs(apps, out, at_once)
    references = {each.app.app_id: AppReference.of(each) for each in apps}
    address = str(client.scheduler.address) if client.scheduler is not None else "its address"
    check_connection(client, address)
    lacks = await _missing_variables(client, references.values())
    if all(each.key_env in lacks for each in references.values()):
        raise _missing_error(lacks)

    async def export_one(session: AsyncSession, *args: Any, **options: Any) -> Report:
        check_connection(client, address)
        reference = references[session.app.app_id]
        if (name := reference.key_env) in lacks:
            raise _missing_error({name: lacks[name]})
        return await export_with(client, session, *args, reference=reference, **options)

    return await export_each(
        runs, export_one, plan, out=out, at_once=at_once, journal=journal, sessions={"headers": headers},
        watch=watch, **options,
    )  # fmt: skip


async def _missing_variables(client: Any, references: Iterable[AppReference]) -> dict[str, list[str]]:
    """Return the variables that workers lack, each with the workers' addresses.

    A worker that joins later, or that does not answer now, finds it out with its first task.
    """
    names = list(dict.fromkeys(each.key_env for each in references if each.key_env))
    answers: dict[str, object] = {}
    with suppress(OSError, CancelledError):
        async with asyncio.timeout(_ANSWER_SECONDS):
            answers = await client.run(missing_variables, names, on_error="return")
    missing = {worker: answer for worker, answer in answers.items() if isinstance(answer, list)}
    workers = {name: [worker for worker, lacked in missing.items() if name in lacked] for name in names}
    return {name: lacking for name, lacking in workers.items() if lacking}


def _missing_error(lacks: Mapping[str, Sequence[str]]) -> ClusterError:
    names: dict[str, list[str]] = {}
    for name, workers in lacks.items():
        for worker in workers:
            names.setdefault(worker, []).append(name)
    parts = [f"the worker {worker} lacks {', '.join(each)}" for worker, each in names.items()]
    if (more := len(parts) - _SHOWN) > 0:
        parts[_SHOWN:] = [f"and {more:,} more"]
    return ClusterError(f"{'; '.join(parts)}: start the workers with the keys of the apps, as none are sent")


async def export_with(
    client: "Client",
    session: AsyncSession,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    budget: Budget | None = None,
    reference: AppReference | None = None,
    pace: Pace | None = None,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
    only: bool = False,
    change_plan: bool = False,
    recheck: int | None = None,
    workers: int = WORKERS,
    journal: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Export as `export` does, with a session that is open, and with a budget for each shard.

    `reference` is given for one of many apps: it says where workers have its key.
    """
    shown, root = progress or Progress(), journal_root(out, journal)
    address = str(local_path(out).resolve() if root is None else parse_address(str(out)))
    store = None if root is None else AttemptStore(ObjectStore.open(address))
    # From before this run holds the lease: a later holder's are not among them, however long this one sleeps.
    leftovers = [] if store is None else await in_thread(store.names)

    async def run(folder: Path, **options: Any) -> Report:
        guard = None
        if store is not None:
            guard = StoreGuard(store, leftovers)
            await guard.begin()

        def open_runner(name: str) -> ClusterJob:
            work = ExportWork(address, name, reference)
            return ClusterJob(client, session.app.app_id, name, work, pace, shown, dead=ahead.dead_jobs)

        ahead = ClusterWalk(open_runner, session.app.app_id, folder, budget, store, guard)
        return await export_folder(
            session, folder, plan, tables=tables, attachments=attachments, only=only, change_plan=change_plan,
            recheck=recheck, workers=workers, progress=shown, ahead=ahead, **options,
        )  # fmt: skip

    return await run_at(address, root, shown, run)


@final
class StoreGuard:
    """Asks whether the lease of an export in a store is still this run's, which may have slept for long."""

    def __init__(self, store: AttemptStore, leftovers: list[str], sleep: Sleep = asyncio.sleep) -> None:
        """`leftovers` are objects that were there before this run held the lease."""
        self._store, self.leftovers, self._sleep = store, leftovers, sleep
        self._holder: tuple[str, int] | None = None

    async def begin(self) -> None:
        """Note that this run holds the lease."""
        self._holder = await in_thread(self._store.holder)

    async def check(self) -> None:
        """Raise `LeaseLostError` if it has passed to another writer, and `ObjectStoreError`."""
        if await in_thread(self._store.holder) != self._holder:
            raise LeaseLostError(f"the lease {self._store.address}/{LEASE} has passed to another writer")

    async def clear(self) -> None:
        """Delete what runs have left that were killed."""
        await self.check()
        await in_thread(lambda: self._store.delete(self.leftovers))

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` while the lease is held; however that ends, a lease that was lost is the error."""
        running, watching = asyncio.create_task(work), asyncio.create_task(self._watch())
        try:
            await asyncio.wait({running, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (running, watching):
                task.cancel()
            await asyncio.wait({running, watching})
        if not watching.cancelled():
            watching.result()
        if not running.cancelled() and running.exception() is not None:
            await self._check_if_it_answers()
        running.result()

    async def _watch(self) -> None:
        while True:
            await self._sleep(_WATCH_SECONDS)
            await self._check_if_it_answers()

    async def _check_if_it_answers(self) -> None:
        try:
            await self.check()
        except ObjectStoreError as error:
            if isinstance(error, LeaseLostError):
                raise


@final
class ClusterWalk:
    """Reads the lists of a run with workers, before the run reads what is left."""

    def __init__(
        self,
        open_runner: Callable[[str], AbstractAsyncContextManager[ShardRunner]],
        app_id: str,
        out: Path,
        budget: Budget | None = None,
        store: AttemptStore | None = None,
        guard: StoreGuard | None = None,
    ) -> None:
        """`out` is the export's folder; its attempts are in `store`, with a guard, or else in the folder.

        `open_runner` gets the name of the job, which no other job has.
        """
        self._store, self._guard, self._open_runner = store, guard, open_runner
        self._app_id, self._out, self._budget = app_id, out, budget
        self.dead_jobs: list[str] = []
        """Of runs that were killed, or have lost their lease; their files are removed by now."""
        self.requests: int = 0

    async def __call__(self, walk: OpenWalk, /) -> None:
        if self._guard is None:
            await self._read(walk)
            return
        await self._guard.clear()
        await self._guard.run(self._read(walk))

    async def _read(self, walk: OpenWalk) -> None:
        if not any(walk.left(walk.sources.known)):
            return
        place: AttemptPlace = self._store or AttemptFolder(self._out, walk.pool.archive.disk)
        name = f"{JOB_PREFIX}{os.urandom(8).hex()}"
        leftovers = [finding.name for finding in walk.pool.archive.findings if finding.kind == "leftover"]
        leftovers += self._guard.leftovers if self._guard is not None else []
        stems = (PurePosixPath(each).name.removesuffix(NEW) for each in leftovers)
        self.dead_jobs = [each for each in stems if each.startswith(JOB_PREFIX)]
        sources = ((known.number, known.source) for known in walk.sources.known)
        await in_thread(lambda: write_job(place, name, self._app_id, walk.pool.archive.plan, sources))
        try:
            async with self._open_runner(name) as runner:
                coordinator = Coordinator(walk, runner, name, self._budget)
                try:
                    await coordinator.read()
                finally:
                    self.requests += coordinator.requests
        finally:
            await in_thread(lambda: place.remove_job(name))
            added = await in_thread(walk.pool.archive.adopt_fragments)
            walk.pool.stats.written += added
            walk.pool.progress.written += added
