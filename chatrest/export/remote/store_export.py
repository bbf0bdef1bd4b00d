"""A run, or a merge of files, of an export in an object store.

lease → the working folder continues from the store's version → work → publish → lease given back

While a run is writing, its state is published from time to time, so that another machine loses little. A
publication that fails is tried again, and ends no run. A kill at any point leaves readers a complete version;
the next run on this machine continues with all that is on its disk, one on another machine with what was
published.

Sealed files have the same names in the store. They are removed from the copy after each publication, and
fetched when their bytes are needed: the local disk has room for what is not published yet. The journal is
sent whole each time, and the next publication waits at least as long as the last one took.
"""

import asyncio
import re
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ..._cloud.lease import Lease, Sleep
from ..._cloud.publication import Publisher, Version, base_name, fetch_file
from ..._cloud.store import ObjectStore
from ..._cloud.store_errors import ObjectDamagedError, ObjectNotFoundError
from ..._threads import in_thread, wait_for
from ...errors import ChatRestError
from ..folder.export_folder import ExportFolder
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.tables import ATTACHMENTS, TABLES, has_content
from ..plan.file_names import HISTORY, STEM, path_inside
from ..plan.report import Phase, Progress
from .working_folder import ATTACHMENT_FILES, Stage, WorkingFolder, fixed_files, stage_at_rest, stage_of_run

PUBLISH_SECONDS: Final = 600.0
"""The least time between two publications of a run that is writing."""
_RETRY_SECONDS: Final = 60.0
"""The time before one that has failed is tried again; it doubles, up to that of the others."""
_OWN: Final = re.compile(
    rf"(?:messages/(?:[^/]+/)?messages|history|journal|manifest|runs|attachments/journal"
    rf"|({'|'.join((*TABLES, ATTACHMENTS))})/\1)\.[a-z.]+"
)


class StoreExport:
    """An export in a store, held by its lease; its local copy is current.

    For an export of the copy it is also the `RemoteFiles`: the sealed files in the store.
    """

    def __init__(
        self,
        store: ObjectStore,
        working: WorkingFolder,
        publisher: Publisher,
        progress: Progress,
        sleep: Sleep,
    ) -> None:
        self.folder = working.folder
        self._store, self._working, self._publisher = store, working, publisher
        self._progress, self._sleep = progress, sleep
        self._turn = asyncio.Lock()
        self._failures = 0
        self._failure = ""
        self.former_copy: Path | None = None
        """The former copy, if it may hold messages that the store's version lacks."""

    @property
    def names(self) -> Mapping[str, int]:
        """The names and sizes of the objects in the store: sealed files have the same names there."""
        return self._publisher.stored_sizes

    def fetch(self, name: str, path: Path, sha256: str) -> None:
        """Download a sealed file; its bytes are checked. Called outside of the event loop's thread."""
        path.parent.mkdir(parents=True, exist_ok=True)
        wait_for(self._store.download(name, path, sha256=sha256, size=self.names[name]))

    @property
    def warnings(self) -> list[str]:
        """Sentences about publications that failed, and a former copy that was kept."""
        texts = []
        if self._failures:
            times = "a publication" if self._failures == 1 else f"{self._failures:,} publications"
            texts.append(f"{times} failed while the run was writing: {self._failure}; all is published now")
        if self.former_copy is not None:
            texts.append(
                f"another machine has continued this export: the former copy in '{self.former_copy}' may "
                "hold messages that the store lacks, of a run that was not published; keep it, or remove it; "
                "the files that were published before are not in it"
            )
        return texts

    async def update(self) -> None:
        """Fetch the store's version where the local copy does not continue it, but for the data files."""
        version = await self._publisher.begin()
        if not await in_thread(partial(self._working.is_current, version)):
            self.former_copy = await in_thread(self._working.begin_fetch)
            for file in version.files:
                path = path_inside(self.folder, file.name)
                if not await in_thread(partial(has_content, path, file.size, file.sha256)):
                    await self._fetch_or_advise(version, file.name, fetch_file(self._store, file, path))
            attachments = [item for item in self.names.items() if item[0].startswith(f"{ATTACHMENT_FILES}/")]
            for name, size in attachments:
                path = path_inside(self.folder, name)
                if not path.is_file() or path.stat().st_size != size:
                    content = self._store.download(name, path, sha256=path.stem, size=size)
                    await self._fetch_or_advise(version, name, content)
            names = {file.name for file in version.files}
            is_part = lambda name: name in names or name.startswith(f"{ATTACHMENT_FILES}/")  # noqa: E731
            await in_thread(partial(self._working.end_fetch, version, is_part))
        await self._publisher.check_fixed(*await in_thread(self._sealed))

    async def _fetch_or_advise(self, version: Version, name: str, download: Awaitable[None]) -> None:
        try:
            await download
        except (ObjectNotFoundError, ObjectDamagedError) as error:
            advice = remedy(self._store.address, name, version.about.get("machine"))
            raise type(error)(f"{error}; {advice}") from None

    def _sealed(self) -> tuple[dict[str, int], set[str]]:
        """Return the sizes of the sealed files by their names, and which are not in the copy."""
        if not (self.folder / JOURNAL).is_file():
            return {}, set()
        with Journal(self.folder / JOURNAL) as journal:
            sizes = {file.name: file.size for file in fixed_files(self.folder, journal)}
        return sizes, {name for name in sizes if not path_inside(self.folder, name).exists()}

    async def publish(self) -> None:
        """Make the copy, which no one is writing, the version that readers see."""
        with self._staging() as staging:
            stage = await in_thread(partial(stage_at_rest, self.folder, Path(staging)))
            await self._publish(stage)
            await in_thread(partial(self._drop, stage))
        self._progress.unpublished = ""

    @asynccontextmanager
    async def publishing(self, export: ExportFolder) -> AsyncIterator[None]:
        """Publish from time to time in the block.

        What fails is tried again, and ends nothing. At the block's end a running publication is finished: an
        upload that is given up could appear in the store after all is tidied.
        """
        ended = asyncio.Event()
        task = asyncio.create_task(self._publish_repeatedly(export, ended), name="chatrest publication")
        try:
            yield
            ended.set()
            async with self._turn:
                task.cancel()
        finally:
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    async def _publish_repeatedly(self, export: ExportFolder, ended: asyncio.Event) -> None:
        now = asyncio.get_running_loop().time
        wait, retry, succeeded = PUBLISH_SECONDS, _RETRY_SECONDS, now()
        while not ended.is_set():
            await self._sleep(wait)
            async with self._turn:
                begun = now()
                try:
                    await self._publish_running(export)
                except (ChatRestError, OSError, sqlite3.Error) as error:  # the next time may do better
                    self._failures, self._failure = self._failures + 1, str(error)
                    minutes = (now() - succeeded) / 60
                    self._progress.unpublished = f"nothing published for {minutes:.0f} min: {error}"
                    wait, retry = retry, min(2 * retry, PUBLISH_SECONDS)
                else:
                    self._progress.unpublished = ""
                    succeeded, retry = now(), _RETRY_SECONDS
                    wait = max(PUBLISH_SECONDS, succeeded - begun)  # half of the time at most

    async def _publish_running(self, export: ExportFolder) -> None:
        with self._staging() as staging:
            make_stage = partial(stage_of_run, export, Path(staging))
            stage = await in_thread(partial(export.at_rest, make_stage))
            if stage is None:
                return
            try:
                await self._publish(stage)
            except ChatRestError:
                sealed = await in_thread(lambda: export.at_rest(lambda: export.journal.files("sealed")))
                if {file.name for file in stage.fixed} <= {file.name for file in sealed}:
                    raise
                return  # the end of the run has replaced files meanwhile
            await in_thread(lambda: export.at_rest(partial(self._drop, stage)))

    def _staging(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory(prefix="staging-", dir=self.folder.parent)

    async def _publish(self, stage: Stage) -> None:
        manifest = stage.manifest
        version = await self._publisher.publish(
            stage.changing,
            stage.fixed,
            permanent=stage.attachments or [],
            complete=manifest.complete,
            about={
                "app_id": manifest.app_id,
                "messages": manifest.messages,
                "until": manifest.until,
                "finished": manifest.finished,
                "generation": manifest.generation,
                "machine": socket.gethostname(),
            },
            is_partial=stage.attachments is None,
        )
        await in_thread(partial(self._working.note_base, version))

    def _drop(self, stage: Stage) -> None:
        self._working.mark_incomplete()
        for file in stage.fixed:
            if file.name in self.names:
                path_inside(self.folder, file.name).unlink(missing_ok=True)


@asynccontextmanager
async def store_export(
    address: str, root: Path, *, progress: Progress | None = None, sleep: Sleep = asyncio.sleep
) -> AsyncIterator[StoreExport]:
    """Hold the export at `address`; the local copy in `root` is current in the block.

    After a writer that was killed on another machine, waits until its lease ends. Raises `LeaseHeldError`
    where another writer is at work, `RequestInvalidError` for a wrong address or folder, a store without
    conditional writes, one whose manifest is lost, and without the extra `cloud`, `ObjectStoreError` where
    the store fails, and OSError where the disk does.
    """
    store, progress = ObjectStore.open(address), progress or Progress()
    working = await in_thread(partial(WorkingFolder, root, address), WorkingFolder.close)
    with closing(working):

        def show_wait(seconds: float) -> None:
            progress.enter(Phase.WAITING_FOR_LEASE, f"{seconds:.0f} s")

        await store.check_reachable()
        async with Lease(store, owner=working.owner, on_wait=show_wait) as lease:
            publisher = Publisher(store, lease, is_own=is_own, on_version=working.note_next)
            export = StoreExport(store, working, publisher, progress, sleep)
            progress.enter(Phase.COPYING_FROM_STORE)
            await export.update()
            yield export


def remedy(address: str, name: str, machine: object) -> str:
    """Return the way to mend a file whose object is lost or damaged; `machine` has published it last.

    Files of messages are in the store only, all others in the machine's local copy as well.
    """
    if name.startswith(HISTORY):
        return (
            f"restore an earlier version of the object {address}/{name}, as older versions cannot "
            "be read again; without one keep it: what can still be read of it is nowhere else"
        )
    if name.startswith(f"{STEM}/"):
        return (
            f"restore an earlier version of the object {address}/{name}, as what was deleted in the service "
            "is in it alone; or keep a copy of what is left of it, delete it there, and run "
            f"`chatrest export {address}` again: its messages are read again"
        )
    return (
        f"delete the object of {name} below {address}, and run `chatrest export {address}` on the machine "
        f"'{machine}', with its `--journal` if it had one: it has published this last, and puts it there "
        "again from its local copy"
    )


def is_own(name: str) -> bool:
    """Return True for a name that a run gives; not for attachments, which are named by their content."""
    return _OWN.fullmatch(base_name(name)) is not None
