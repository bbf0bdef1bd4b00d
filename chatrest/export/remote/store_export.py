"""A run, or a merge of files, of an export in an object store.

lease → the working folder continues from the store's version → work → publish → lease given back

While a run is writing, its state is published from time to time, so that another machine loses little. A
kill at any point leaves readers a complete version; the next run on this machine continues with all that is
on its disk, one on another machine with what was published.

Sealed files have the same names in the store. They are removed from the copy after each publication, and
fetched when their bytes are needed: the local disk has room for what is not published yet. Of the journals
the pages are published that have changed.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, final

from ...cloud.lease import Lease, Sleep
from ...cloud.pages import page_digests, write_change
from ...cloud.publication import LocalFile, PageChange, Publisher, fetch_file
from ...cloud.store import ObjectStore
from ...cloud.store_errors import ObjectStoreError
from ...cloud.transfer import file_sha256
from ...errors import ChatRestError, RequestInvalidError
from ..archive import Archive
from ..dataset.attachment_journal import NAME as ATTACHMENT_JOURNAL, AttachmentJournal
from ..dataset.tables import ATTACHMENTS, TABLES
from ..disk import Disk
from ..file_names import DATABASE, HISTORY, MESSAGES, path_inside
from ..in_thread import in_thread, wait_for
from ..journal import GENERATION, NAME as JOURNAL, Journal
from ..manifest import NAME as MANIFEST, Manifest, find, put
from ..report import Phase, Progress
from ..run_log import NAME as RUNS
from ..store.fragments import Fragment
from ..store.journal import StoreFile
from .working_folder import WorkingFolder

PUBLISH_SECONDS: Final = 600.0
"""The least time between two publications of a run that is writing."""
_COPIES: Final = 20
"""Times the seconds in which the journal is copied, between two publications: each copies all of it, and
would cost the square of the size if it were not made more seldom."""
_RETRY_SECONDS: Final = 60.0
"""The time before one that has failed is tried again; it doubles, up to that of the others."""
_LINKS: Final = f"{ATTACHMENTS}/{ATTACHMENT_JOURNAL}"
_FILES: Final = f"{ATTACHMENTS}/files"
"""The folder of attachments, each named by the hash of its content."""
_JOURNALS: Final = (JOURNAL, _LINKS)
_OWN: Final = re.compile(
    rf"(?:messages/(?:[^/]+/)?messages|history|journal|manifest|messages|runs|attachments/journal"
    rf"|({'|'.join((*TABLES, ATTACHMENTS))})/\1)\.[a-z.]+"
)
"""The names of an export's files, without what makes an object's name unique."""
_CONTENT_NAME: Final = re.compile(r"[0-9a-f]{64}(?:\.[a-z0-9]{1,10})?", re.ASCII)
_HASH: Final = 64
"""Characters of the SHA-256 that a file of digests begins with."""


class _Stage(NamedTuple):
    """The state of an export at one moment; what changes is copied to `staging`."""

    manifest: Manifest
    files: list[StoreFile]
    staging: Path


@final
class StoredFiles:
    """The sealed files in a store; see `archive.RemoteFiles`."""

    def __init__(self, store: ObjectStore, publisher: Publisher) -> None:
        self._store = store
        self._publisher = publisher

    @property
    def names(self) -> Mapping[str, int]:
        """Their names and sizes."""
        return self._publisher.published

    def add(self, fragments: Sequence[Fragment]) -> None:
        """Note files that other processes have put there under their names."""
        self._publisher.add({each.name: each.size for each in fragments})

    def fetch(self, name: str, path: Path, sha256: str) -> None:
        """Download a file; its bytes are checked. Called outside of the event loop's thread."""
        size = self.names[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        wait_for(self._store.download(name, path, sha256=sha256, size=size))


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
        """The sealed files in the store, for an archive of the folder."""
        self._working = working
        self._publisher = publisher
        self._lease = lease
        self._progress = progress
        self._sleep = sleep
        self._pages: dict[str, bytes] = {}
        """The digests of the journals' pages as they are being published."""
        self._copied_at = 0.0
        """The loop's time when the last publication had its copy of the journals."""
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
        """Fetch the store's version where the local copy does not continue it, but for the data files."""
        version = await self._publisher.current()
        if not await in_thread(partial(self._working.is_current, version)):
            self.kept = await in_thread(self._working.begin_fetch)
            for file in version.files:
                path = path_inside(self.folder, file.name)
                if not await in_thread(partial(_is_same, path, file.size, file.sha256)):
                    await fetch_file(store, file, path)
                if file.name in _JOURNALS:
                    digests = await in_thread(partial(page_digests, path))
                    await in_thread(partial(self._note_pages, file.name, file.sha256, digests))
            attachments = self._publisher.listed(_FILES)
            for name, size in attachments.items():
                path = path_inside(self.folder, name)
                if not path.is_file() or path.stat().st_size != size:
                    await store.download(name, path, sha256=path.stem, size=size)
            names = attachments.keys() | {file.name for file in version.files}
            await in_thread(partial(self._working.end_fetch, version, names.__contains__))
        sealed, lost = await in_thread(self._sealed)
        await self._publisher.find(sealed, lost)

    def _sealed(self) -> tuple[dict[str, int], set[str]]:
        """Return the sizes of the sealed files by their names, and which are not in the copy."""
        if not (self.folder / JOURNAL).is_file():
            return {}, set()
        try:
            with Journal(self.folder / JOURNAL) as journal:
                sizes = {file.name: file.size for file in _fixed(journal.files("sealed"))}
        except (
            RequestInvalidError
        ):  # of version 0.2, whose files are all here; what is wrong else is said later
            return {}, set()
        return sizes, {name for name in sizes if not path_inside(self.folder, name).exists()}

    async def publish(self) -> None:
        """Make the copy, which no one is writing, the version that readers see."""
        with self._staging() as staging:
            stage = await in_thread(partial(self._stage_at_rest, Path(staging)))
            await self._publish(stage, is_running=False)
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
                # Half of the time: else it could not keep up.
                wait = max(PUBLISH_SECONDS, succeeded - begun, _COPIES * (self._copied_at - begun))

    async def _publish_running(self, archive: Archive) -> None:
        with self._staging() as staging:
            take = partial(self._stage_running, archive, Path(staging))
            stage = await in_thread(lambda: archive.at_rest(take))
            if stage is None:
                return
            try:
                await self._publish(stage, is_running=True)
            except ObjectStoreError:
                now = await in_thread(lambda: archive.at_rest(lambda: archive.journal.files("sealed")))
                if self._lease.is_lost or {*stage.files} <= {*now}:
                    raise
                return  # the end of the run has replaced files meanwhile
            await in_thread(lambda: archive.at_rest(partial(self._drop, stage)))

    def _staging(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory(prefix="staging-", dir=self.folder.parent)

    async def _publish(self, stage: _Stage, *, is_running: bool) -> None:
        """Publish the state of a moment; while a run is writing, without what only its end writes."""
        changing = await in_thread(partial(self._changing, stage, is_running=is_running))
        self._copied_at = asyncio.get_running_loop().time()
        beside = [] if is_running else await in_thread(self._attachments)
        manifest = stage.manifest
        version = await self._publisher.publish(
            changing,
            [
                LocalFile(file.name, self.folder / file.name, file.size, file.sha256.hex())
                for file in stage.files
                if file.sha256 is not None
            ],
            beside=beside,
            complete=manifest.complete,
            about=_facts(manifest),
            is_partial=is_running,
        )
        await in_thread(partial(self._working.note_base, version))
        for file in changing:
            if file.name in _JOURNALS:
                await in_thread(partial(self._note_pages, file.name, file.sha256, self._pages[file.name]))

    # ── the state of a moment ──

    def _stage_running(self, archive: Archive, staging: Path) -> _Stage | None:
        """Make files of what is committed, and return the state; called while the run commits nothing.

        None if nothing has changed yet, where the run has ended, and for a database, which would be sent
        whole each time.
        """
        manifest = find(self.folder)
        if manifest is None or manifest.finished is not None or archive.plan.format == "sqlite":
            return None
        if manifest.generation != archive.journal[GENERATION]:
            return None
        archive.store.seal_all()
        return self._stage(archive.journal, staging)

    def _stage_at_rest(self, staging: Path) -> _Stage:
        with Journal(self.folder / JOURNAL) as journal:
            return self._stage(journal, staging)

    def _stage(self, journal: Journal, staging: Path) -> _Stage:
        manifest = find(self.folder)
        if manifest is None:
            raise ChatRestError(f"{self.folder / MANIFEST} is lost: export again")
        (staging / MANIFEST).write_bytes((self.folder / MANIFEST).read_bytes())
        journal.write_snapshot(staging / JOURNAL)
        return _Stage(manifest, _fixed(journal.files("sealed")), staging)

    def _changing(self, stage: _Stage, *, is_running: bool) -> list[LocalFile]:
        """Return the files that change, with what has changed of the journals."""
        paths = {name: stage.staging / name for name in (JOURNAL, MANIFEST)}
        if not is_running:
            paths |= {name: self.folder / name for name in (RUNS, DATABASE)}
            for entry in stage.manifest.tables:
                path = paths[entry.file] = path_inside(self.folder, entry.file)
                if not path.is_file() or path.stat().st_size != entry.bytes:
                    raise ChatRestError(f"{path} is not as {MANIFEST} says: export again")
            if (self.folder / _LINKS).is_file():
                paths[_LINKS] = stage.staging / "links"
                with AttachmentJournal(self.folder / _LINKS) as links:
                    links.write_snapshot(paths[_LINKS])
        files = []
        for name, path in paths.items():
            if path.is_file():
                file = LocalFile(name, path, path.stat().st_size, file_sha256(path))
                files.append(file if name not in _JOURNALS else self._with_change(file, stage.staging))
        return files

    def _with_change(self, file: LocalFile, staging: Path) -> LocalFile:
        """Add the pages of a journal that have changed since it was published, where that is known."""
        path = staging / f"change-{_JOURNALS.index(file.name)}"
        try:
            known = self._working.pages_path(file.name).read_bytes()
        except FileNotFoundError:
            known = b""
        self._pages[file.name] = write_change(file.path, known[_HASH:], path)
        if known:
            change = PageChange(
                path, path.stat().st_size, file_sha256(path), known[:_HASH].decode(errors="replace")
            )
            file = file._replace(change=change)
        return file

    def _note_pages(self, name: str, sha256: str, digests: bytes) -> None:
        """Keep the digests of a journal's pages: what is published next are those that differ."""
        put(Disk(), self._working.pages_path(name), sha256.encode() + digests)

    def _attachments(self) -> list[LocalFile]:
        paths = [path for path in sorted((self.folder / _FILES).rglob("*")) if path.is_file()]
        names = [(path, path.relative_to(self.folder).as_posix()) for path in paths]
        return [
            LocalFile(name, path_inside(self.folder, name), path.stat().st_size, path.stem)
            for path, name in names
            if _CONTENT_NAME.fullmatch(path.name)
        ]

    def _drop(self, stage: _Stage) -> None:
        """Remove the published files from the copy: no one is writing."""
        self._working.mark_incomplete()
        for file in stage.files:
            if file.name in self.remote.names:
                path_inside(self.folder, file.name).unlink(missing_ok=True)


def _fixed(files: Iterable[StoreFile]) -> list[StoreFile]:
    """Return the files that never change: no database, and no table."""
    return [file for file in files if file.sha256 and file.stem.startswith((f"{MESSAGES}/", HISTORY))]


def _is_same(path: Path, size: int, sha256: str) -> bool:
    return path.is_file() and path.stat().st_size == size and file_sha256(path) == sha256


def _facts(manifest: Manifest) -> dict[str, int | str | bool | None]:
    """Return the facts of an export that the store's manifest shows."""
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
            own = Publisher(store, lease, is_own=_is_own, on_version=working.note_next)
            export = StoreExport(working, own, lease, StoredFiles(store, own), progress, sleep)
            progress.enter(Phase.COPYING_FROM_STORE)
            await export.update(store)
            yield export


def _is_own(name: str) -> bool:
    return _OWN.fullmatch(name) is not None


def _remove_staging(root: Path) -> None:
    """Remove what a run that was killed has staged."""
    for path in root.glob("staging-*"):
        shutil.rmtree(path)
