"""Export by parts on a cluster: each part is a task, and is run again until it has nothing left to do."""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from os import PathLike
from typing import Any, Final

from distributed import Client

from .._cloud.lease import Sleep
from .._core.pace.pacer import Pace
from ..app import App
from ..errors import RequestInvalidError
from ..export.dataset.attachments import AttachmentOptions
from ..export.fetch.worker_pool import WORKERS
from ..export.folder.part_files import find_parts
from ..export.folder.tables import Table
from ..export.plan.export_plan import Plan
from ..export.plan.file_names import local_path
from ..export.plan.parts import Parts
from ..export.plan.report import Progress, Report
from ..export.read.exports import part_files
from ..export.run.folder_run import ExportOptions, journal_root
from ..export.run.run_parts import export_parts, run_part, run_rounds
from ..session import AsyncSession
from .cluster import NoResultError, workers_of
from .job import ClusterJob, PartHeldError
from .worker import PartWork, installed_version

PARTS_A_THREAD: Final = 4  # of a new export, so that all threads end at about the same time
_MAX_PARTS: Final = 1_000
_TRIES: Final = 3  # of a part, one after the other, that bring no result
_MAX_RUNS: Final = 10  # of a part, each of which takes in what other parts have left it
_HELD_SECONDS: Final = 10.0  # between two tries of parts that other processes run


async def export(
    client: Client,
    app: App,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    parts: int | None = None,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
    recheck: int | None = None,
    workers: int = WORKERS,
    progress: Progress | None = None,
    pace: Pace | None = None,
) -> Report:
    """Export the messages of `plan` into `out`, an export of parts, with the workers of a Dask cluster.

    `client` is a `distributed.Client` with `asynchronous=True`, and `out` a folder that this machine and all
    workers see under the same path, or the address of an object store. Each part is a task, and a worker runs
    it as one machine does; whatever else runs parts can continue the export. `parts` is their number in a new
    export: by default four for each thread that the workers have now. `pace` is the rate of all workers
    together, as that of an `AsyncSession`; None finds the limit. The other arguments and the result are those
    of `chatrest.export.export`.

    The workers take the credentials of the app (`CHATREST_APP_ID` and so on, `CHATREST_HEADERS` too) and of
    the store from their own environment; nothing of `app` but its id is sent.

    If it is cancelled, the workers cancel their parts. What was committed stays, and the next export
    continues from there; of a worker that dies, the rest is read again.

    Raises `ClusterError` if the scheduler goes away, or no worker can run a part, `RequestInvalidError` for a
    client that is not asynchronous, and the errors of `chatrest.export.export`.
    """
    if not isinstance(client, Client) or not client.asynchronous:
        raise RequestInvalidError(
            f"client = {client!r}: expected a distributed.Client with asynchronous=True"
        )
    listeners = () if progress is None else progress.heard
    async with AsyncSession(app, pace=pace, telemetry=listeners) as session:
        return await export_with(
            client, session, out, plan, parts=parts, progress=progress, pace=pace, tables=tables,
            attachments=attachments, recheck=recheck, workers=workers,
        )  # fmt: skip


async def parts_of_new(client: Client, out: str | PathLike[str]) -> int | None:
    """Return the number of parts for a new export; None for one that exists already."""
    files = part_files(out)
    if await find_parts(files) is not None:
        return None
    await files.check_free()
    threads = sum(int(info["nthreads"]) for info in (await workers_of(client)).values())
    return min(_MAX_PARTS, PARTS_A_THREAD * threads)


async def export_with(
    client: Client,
    session: AsyncSession,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    parts: int | None = None,
    pace: Pace | None = None,
    progress: Progress | None = None,
    journal: str | PathLike[str] | None = None,
    **options: Any,
) -> Report:
    """Export as `export` does, with a session that is open; `options` are those of `ExportOptions`."""
    export_options = ExportOptions(**options)
    parts = parts or await parts_of_new(client, out)
    address = str(out) if journal_root(out, None) else str(local_path(out).resolve())
    progress = progress or Progress()

    async def run_left(
        prepared: Parts, unfinished: Callable[[], Awaitable[list[int]]]
    ) -> dict[int, list[Report]]:
        app, version = session.app, installed_version()
        run_options = {"options": export_options, "journal": journal}
        work = PartWork(address, prepared.nights, app.app_id, app.chat_url, version, run_part, run_options)
        job = ClusterJob(client, f"chatrest-{os.urandom(8).hex()}", work, pace, progress)
        async with job:
            reports = await run_on_cluster(job, unfinished, prepared.parts)
        for each in reports.values():
            each[-1].warnings += job.unfit_workers.values()
            job.unfit_workers.clear()
        return reports

    return await export_parts(
        session,
        address,
        plan,
        export_options,
        parts=parts,
        progress=progress,
        run_left=run_left,
        journal=journal,
    )


async def run_on_cluster(
    job: ClusterJob,
    unfinished: Callable[[], Awaitable[list[int]]],
    at_once: int,
    sleep: Sleep = asyncio.sleep,
) -> dict[int, list[Report]]:
    """Run the parts that `unfinished` gives, until it gives none; return the reports of each part, in order.

    `at_once` are in the cluster at a time. A part that fails several times is left to the next export.
    """
    runs = Counter[int]()

    async def runnable() -> list[int]:
        return [number for number in await unfinished() if runs[number] < _MAX_RUNS]

    async def run(number: int) -> Report | None:
        reason = ""
        for _ in range(_TRIES):
            try:
                report = await job.run(number)
            except PartHeldError:
                return None
            except NoResultError as error:
                reason = str(error)
            else:
                runs[number] += 1
                return report
        runs[number] = _MAX_RUNS
        return Report(reasons=[f"it failed {_TRIES} times: {reason}"])

    return await run_rounds(runnable, run, at_once=at_once, sleep=sleep, pause=_HELD_SECONDS)
