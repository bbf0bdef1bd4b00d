"""From arguments to a distributed export: an ordinary one whose lists are read by a cluster's workers."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from ..cloud.address import parse_address
from ..cloud.store import ObjectStore
from ..core.pace.pacer import Pace
from ..core.requests.hosts import App
from ..errors import RequestInvalidError
from ..export.dataset.attachments import AttachmentOptions
from ..export.dataset.tables import Table
from ..export.entry_points import journal_root, run_at
from ..export.in_thread import in_thread
from ..export.local_path import local_path
from ..export.plan import Plan
from ..export.report import Progress, Report
from ..export.run import OpenWalk, export_folder
from ..export.worker_pool import WORKERS
from ..session import AsyncSession
from .attempt_folder import JOB_PREFIX, AttemptFolder
from .attempt_store import AttemptStore
from .cluster import check_client
from .coordinator import Coordinator, ShardRunner
from .credentials import Credentials
from .dask_runner import DaskRunner
from .rate_coordinator import RateCoordinator
from .shard import Budget, ShardJob, encode, installed_version, plan_of_files

if TYPE_CHECKING:
    from distributed import Client

_SQLITE: Final = (
    "format = 'sqlite': a database is one file, which only one machine can write; "
    "allowed are ndjson and parquet"
)


async def export(
    client: "Client",
    app: App,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
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

    The workers take the app's credentials from their own environment (`CHATREST_APP_ID` and so on). Where
    they have none, they are sent once, if the connection is encrypted or does not leave this machine.

    `pace` is the rate of all workers together, as that of an `AsyncSession`; None finds the limit.

    Raises `ClusterError` where the scheduler goes away, or the workers cannot do their part; what was adopted
    by then stays, and the next run goes on from there. A worker that dies changes nothing.
    """
    client = check_client(client)
    listeners = () if progress is None else progress.heard
    async with AsyncSession(app, pace=pace, telemetry=listeners) as session:
        return await export_with(
            client, session, Credentials(app, {}), out, plan, tables=tables, attachments=attachments,
            recheck=recheck, workers=workers, journal=journal, progress=progress, pace=pace,
        )  # fmt: skip


async def export_with(
    client: "Client",
    session: AsyncSession,
    credentials: Credentials,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    budget: Budget | None = None,
    pace: Pace | None = None,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
    recheck: int | None = None,
    workers: int = WORKERS,
    journal: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Export as `export` does, with a session that is open, and with a budget for each shard."""
    if plan is not None and plan.format == "sqlite":
        raise RequestInvalidError(_SQLITE)
    shown = progress or Progress()
    root = journal_root(out, journal)
    address = str(local_path(out).resolve() if root is None else parse_address(str(out)))

    async def run(folder: Path, **options: Any) -> Report:
        store = None if root is None else AttemptStore(ObjectStore.open(address))

        def open_runner(job: str) -> DaskRunner:
            rate = RateCoordinator(client, credentials.app.app_id, pace, job)
            return DaskRunner(client, credentials, address, rate, shown)

        ahead = ClusterWalk(open_runner, session.app.app_id, folder, budget, store)
        return await export_folder(
            session, folder, plan, tables=tables, attachments=attachments, recheck=recheck, workers=workers,
            progress=shown, ahead=ahead, **options,
        )  # fmt: skip

    return await run_at(address, root, shown, run)


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
    ) -> None:
        """`out` is the export's folder; its attempts are in `store`, or else in the folder itself."""
        self._store = store
        self._open_runner = open_runner
        self._app_id = app_id
        self._out = out
        self._budget = budget
        self.requests: int = 0

    async def __call__(self, walk: OpenWalk, /) -> None:
        """Read what workers can read of it."""
        if walk.pool.archive.plan.format == "sqlite":
            raise RequestInvalidError(_SQLITE)
        if self._store is not None:  # what a run that was killed has left
            await in_thread(self._store.clear)
        if not any(walk.left(walk.sources.known)):
            return
        place = self._store or AttemptFolder(self._out, walk.pool.archive.disk)
        name = f"{JOB_PREFIX}{os.urandom(8).hex()}"
        await in_thread(lambda: place.write_job(name, encode(self._job(walk))))
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

    def _job(self, walk: OpenWalk) -> ShardJob:
        return ShardJob(
            version=installed_version(),
            app_id=self._app_id,
            plan=plan_of_files(walk.pool.archive.plan).encoded(),
            sources=[(known.number, known.source.key) for known in walk.sources.known],
        )
