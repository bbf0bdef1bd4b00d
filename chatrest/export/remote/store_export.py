"""A run, or a merge of files, of an export in an object store.

lease → the working folder goes on from the store's version → work → publish → lease given back

While a run is writing, its state is published from time to time, so that another machine loses little. A
kill at any point leaves readers a whole version; the next run on this machine goes on with all that is on its
disk, one on another machine with what was published.

Data files that readers see are removed from the copy behind each publication, and fetched when their bytes
are needed: the local disk has room for what is not published yet, and for small files.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

from ...cloud.lease import Lease, Sleep
from ...cloud.publication import Publisher, fetch_version
from ...cloud.store import ObjectStore
from ...errors import ChatRestError
from ..archive import Archive
from ..dataset.tables import ATTACHMENTS
from ..in_thread import in_thread
from ..manifest import Manifest
from ..report import Phase, Progress
from ..run_log import NAME as RUNS
from .stored_files import StoredFiles, may_be_remote
from .version_files import Stage, local_files, stage_at_rest, stage_running, unchanged_data_files
from .working_folder import WorkingFolder

PUBLISH_SECONDS: Final = 600.0
"""The least time between two publications of a run that is writing."""
_RETRY_SECONDS: Final = 60.0
"""The time before one that has failed is tried again; it doubles, up to that of the others."""


@final
class StoreExport:
    """An export in a store, held by its lease; its local copy is current."""

    def __init__(
        self,
        working: WorkingFolder,
        publisher: Publisher,
        lease: Lease,
        remote: StoredFiles,
        progress: Progress,
        sleep: Sleep,
    ) -> None:
        self.folder = working.folder
        self.remote = remote
        """The data files in the store, for an archive of the folder."""
        self._working = working
        self._publisher = publisher
        self._lease = lease
        self._progress = progress
        self._sleep = sleep
        self._failures = 0
        """Publications of the running export that have failed."""
        self._failure = ""
        self.kept: Path | None = None
        """The former copy, if it may hold messages that the store's version lacks."""

    @property
    def warnings(self) -> list[str]:
        """The sentences about what cannot be promised, and what was set aside."""
        texts = [self._lease.warning] if self._lease.warning else []
        if self._failures:
            times = "a publication" if self._failures == 1 else f"{self._failures:,} publications"
            texts.append(f"{times} failed while the run was writing: {self._failure}; all is published now")
        if self.kept is not None:
            texts.append(
                f"another machine has gone on with this export: the former copy in '{self.kept}' may hold "
                "messages that the store lacks, of a run that was not published; keep it, or remove it; the "
                "files that were published before are not in it"
            )
        return texts

    async def update(self, store: ObjectStore) -> None:
        """Fetch the store's version where the local copy does not go on from it, but for the data files."""
        version = await self._publisher.current()
        if not await in_thread(partial(self._working.is_current, version)):
            folder = await in_thread(partial(self._working.begin_fetch, version))
            version = await fetch_version(
                store, version, folder, is_needed=lambda file: not may_be_remote(file.name)
            )
            self.kept = await in_thread(partial(self._working.finish_fetch, version))
        self.remote.note(version, self._publisher.damaged)

    async def publish(self) -> None:
        """Make the copy, which nobody is writing, the version that readers see."""
        with TemporaryDirectory(prefix="staging-", dir=self.folder.parent) as staging:
            stage = await in_thread(partial(stage_at_rest, self.folder, Path(staging), self.remote))
            await self._publish(stage, kept=[])
            await in_thread(partial(self._drop, stage))
        self._progress.unpublished = ""

    @asynccontextmanager
    async def publishing(self, archive: Archive) -> AsyncIterator[None]:
        """Publish from time to time in the block; it is cancelled, and raises, where the lease is lost."""
        owner = asyncio.current_task()
        assert owner is not None
        task = asyncio.create_task(self._publish_repeatedly(archive), name="chatrest publication")
        is_running = True

        def end(done: asyncio.Task[None]) -> None:
            if is_running and not done.cancelled():
                owner.cancel()

        task.add_done_callback(end)
        try:
            try:
                yield
            finally:
                is_running = False
                task.cancel()
                await asyncio.wait({task})
        except asyncio.CancelledError:
            if task.cancelled() or (error := task.exception()) is None:
                raise
            owner.uncancel()
            raise error from None

    async def _publish_repeatedly(self, archive: Archive) -> None:
        """Publish the state of a run until that ends; return never, but raise where the lease is lost."""
        now = asyncio.get_running_loop().time
        wait, retry, succeeded = PUBLISH_SECONDS, _RETRY_SECONDS, now()
        while True:
            await self._sleep(wait)
            begun = now()
            try:
                await self._publish_running(archive)
            except (ChatRestError, OSError) as error:  # the next time may do better
                if self._lease.is_lost:
                    raise
                self._failures, self._failure = self._failures + 1, str(error)
                minutes = (now() - succeeded) / 60
                self._progress.unpublished = f"nothing published for {minutes:.0f} min: {error}"
                wait, retry = retry, min(2 * retry, PUBLISH_SECONDS)
            else:
                self._progress.unpublished = ""
                succeeded, retry = now(), _RETRY_SECONDS
                wait = max(PUBLISH_SECONDS, succeeded - begun)  # half of the time: else it could not keep up

    async def _publish_running(self, archive: Archive) -> None:
        with TemporaryDirectory(prefix="staging-", dir=self.folder.parent) as staging:
            take = partial(stage_running, self.folder, archive.journal, Path(staging), self.remote)
            stage = await in_thread(lambda: archive.at_rest(take))
            if stage is not None:
                await self._publish(stage, kept=[RUNS, ATTACHMENTS])
                await in_thread(lambda: archive.at_rest(partial(self._drop, stage, archive)))

    async def _publish(self, stage: Stage, *, kept: list[str]) -> None:
        """Publish the files, and those of the current version that are `kept`: files, and folders."""
        files = await in_thread(partial(local_files, stage, self._working.hashes))
        former = await self._publisher.current()
        names = [file.name for file in former.files if file.name.partition("/")[0] in kept]
        manifest = stage.manifest
        stats = await self._publisher.publish(
            files, kept=[*names, *stage.remote], complete=manifest.complete, about=_facts(manifest)
        )
        self.remote.note(stats.version, self._publisher.damaged)
        await in_thread(self._working.hashes.save)
        await in_thread(partial(self._working.note_base, stats.version))

    def _drop(self, stage: Stage, archive: Archive | None = None) -> None:
        """Remove the published data files from the copy, which `archive` has open, if it is not None."""
        if not (paths := unchanged_data_files(stage, self.folder)):
            return
        self._working.mark_incomplete(self.folder)
        try:
            for path in paths:
                if archive is not None:
                    archive.workspace.files.release(path)
                path.unlink()
        finally:
            if archive is not None:
                archive.sink.rollback()  # nothing waits; no file is known any more as one to be added to


def _facts(manifest: Manifest) -> dict[str, int | str | bool | None]:
    """Return the facts of an export that the store's manifest tells."""
    return {
        "app_id": manifest.app_id,
        "messages": manifest.messages,
        "until": manifest.until,
        "finished": manifest.finished,
        "generation": manifest.generation,
    }


@asynccontextmanager
async def store_export(
    address: str, root: Path, *, progress: Progress | None = None, sleep: Sleep = asyncio.sleep
) -> AsyncIterator[StoreExport]:
    """Hold the export at `address`; the local copy in `root` is current in the block.

    After a writer that was killed on another machine, waits until its lease ends. Raises `LeaseHeldError`
    where another writer is at work, `RequestInvalidError` for a wrong address or folder and without the extra
    `cloud`, `ObjectStoreError` where the store fails, and OSError where the disk does.
    """
    store, progress = ObjectStore.open(address), progress or Progress()
    working = await in_thread(partial(WorkingFolder, root, address), WorkingFolder.close)
    with closing(working):
        await in_thread(partial(_remove_staging, root))

        def tell(seconds: float) -> None:
            progress.enter(Phase.WAITING_FOR_LEASE, f"{seconds:.0f} s")

        await store.check_reachable()
        async with Lease(store, owner=working.owner, on_wait=tell) as lease:
            publisher = Publisher(store, lease, on_version=working.note_next)
            export = StoreExport(working, publisher, lease, StoredFiles(store), progress, sleep)
            progress.enter(Phase.COPYING_FROM_STORE)
            await export.update(store)
            yield export


def _remove_staging(root: Path) -> None:
    """Remove what a run that was killed has staged."""
    for path in root.glob("staging-*"):
        shutil.rmtree(path)
