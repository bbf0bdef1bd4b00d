"""An export in a store for readers: manifest, journal and log are fetched, other files as they are read."""

import re
import shutil
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, Self

from ..._cloud.publication import EMPTY, Version, base_name, fetch_file, read_version
from ..._cloud.store import ObjectStore
from ..._cloud.store_errors import ObjectNotFoundError, ObjectStoreError
from ..._threads import wait_for
from ...errors import ChatRestError, RequestInvalidError
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.manifest import NAME as MANIFEST, find_undamaged
from ..folder.tables import ATTACHMENTS, TABLES
from ..plan.file_names import HISTORY, MESSAGES, STEM, path_inside

_AT_ONCE: Final = (MANIFEST, JOURNAL, "runs.jsonl")
"""The files that each reader needs."""
_READINGS: Final = 5
"""Versions that may replace each other while these are fetched."""
_FILES_AHEAD: Final = 8
_BYTES_AHEAD: Final = 64 << 20
"""No further file is fetched ahead while those that wait have so many bytes."""
_OWN: Final = re.compile(
    rf"(?:messages/(?:[^/]+/)?messages|history|journal|manifest|runs|attachments/journal"
    rf"|({'|'.join((*TABLES, ATTACHMENTS))})/\1)\.[a-z.]+"
)
"""The names of an export's files, without what makes an object's name unique."""


class StoreView:
    """The version that was current when the view was made; see `FolderView`.

    Files are downloaded a few ahead of the reader, and removed after it: the local disk has room for
    `_AT_ONCE`, and for the largest of the others and 64 MiB. An object that is gone since, as a newer version
    was published, is an `ObjectStoreError`.
    """

    is_remote = True

    def __init__(self, address: str, export: str = "", *, may_be_new: bool = False) -> None:
        self.export = export
        self._store = ObjectStore.open(address)
        self.name = self._store.address
        self.folder = Path(mkdtemp(prefix="chatrest-"))
        self._threads = ThreadPoolExecutor(_FILES_AHEAD)
        self._end = weakref.finalize(self, _clean_up, self._threads, self.folder)
        self._expected: Iterator[str] = iter(())
        self._ahead: dict[str, Future[None]] = {}
        version = wait_for(self._fetch_first())
        self._version = version or EMPTY
        self._sizes = _sizes(self.folder) | {file.name: file.size for file in self._version.files}
        """The sizes of the export's files, as far as they are known."""
        if not self._version.number and not may_be_new:
            self._end()
            begun = ", as its first run has published nothing yet: wait for that, or run it again"
            lack = f"it has no {MANIFEST}" if version is None else f"its {MANIFEST} names no files{begun}"
            raise RequestInvalidError(f"{address} holds no export: {lack}")

    @property
    def is_begun(self) -> bool:
        return bool(self._version.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def expect(self, names: Iterable[str]) -> None:
        """Fetch these files ahead, in this order, which is that of the reader."""
        self._expected = iter([name for name in names if name not in _AT_ONCE])

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        """Have a file in the folder within the block; the reader checks what is in it."""
        if name in _AT_ONCE:
            yield
            return
        self._fetch_ahead()
        future = self._ahead.pop(name, None)
        if future is None:
            wait_for(self._fetch(name))
        else:
            future.result()
        try:
            yield
        finally:
            path_inside(self.folder, name).unlink(missing_ok=True)

    def has(self, name: str) -> bool:
        """Return True if the version has the file."""
        return name in self._sizes

    def remedy(self, name: str) -> str:
        """Return the way to mend a file that is lost or damaged in the store."""
        return remedy(self.name, name, self._version.about.get("machine"))

    def unknown(self) -> Iterator[tuple[str, bool]]:
        """Yield the objects in the folder of messages that the version does not have."""

        async def names() -> list[str]:
            return sorted([info.name async for info in self._store.list(MESSAGES)])

        objects = {file.object for file in self._version.files}
        for name in wait_for(names()):
            if name not in self._sizes and name not in objects:
                yield name, is_own(name)

    def _fetch_ahead(self) -> None:
        size = sum(self._sizes.get(name, 0) for name in self._ahead)
        while len(self._ahead) < _FILES_AHEAD and size < _BYTES_AHEAD:
            if (name := next(self._expected, None)) is None:
                return
            size += self._sizes.get(name, 0)
            self._ahead[name] = self._threads.submit(_wait_for_file, weakref.ref(self), name)

    async def _fetch_first(self) -> Version | None:
        await self._store.check_reachable()
        for _ in range(_READINGS):
            if (version := await read_version(self._store, is_own)) is None:
                return None
            try:
                for file in version.files:
                    if file.name in _AT_ONCE:
                        await self._download(version, file.name, file.size)
            except ObjectNotFoundError as error:
                failure = f"{error}; {remedy(self.name, JOURNAL, version.about.get('machine'))}"
            else:
                return version
        raise ObjectStoreError(failure)

    async def _fetch(self, name: str) -> None:
        try:
            await self._download(self._version, name, self._sizes.get(name))
        except ObjectNotFoundError:
            if await read_version(self._store) == self._version:
                return  # it is missing, as the reader will notice
        else:
            return
        raise ObjectStoreError(
            f"a new version was published at {self.name} while this one was read: read it again"
        )

    async def _download(self, version: Version, name: str, size: int | None) -> None:
        """Download a file that changes, as the version has it, or one that has its name for ever."""
        path = path_inside(self.folder, name)
        if (file := version.file(name)) is not None:
            await fetch_file(self._store, file, path, is_temporary=True)
        else:
            await self._store.download(name, path, size=size, is_durable=False)


def _wait_for_file(view: weakref.ref[StoreView], name: str) -> None:
    """Fetch a file, unless its reader has ended; the thread does not keep the view."""
    if (present := view()) is not None:
        wait_for(present._fetch(name))


def _sizes(folder: Path) -> dict[str, int]:
    """Return the sizes of the files that never change, of the journal or else of the manifest."""
    try:
        with Journal(folder / JOURNAL) as journal:
            return {file.name: file.size for file in journal.files("sealed")}
    except (ChatRestError, OSError):
        manifest = find_undamaged(folder)
        return {} if manifest is None else {entry.name: entry.bytes for entry in manifest.files}


def _clean_up(threads: ThreadPoolExecutor, folder: Path) -> None:
    threads.shutdown(cancel_futures=True)
    shutil.rmtree(folder, ignore_errors=True)


# ── its objects ──


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
        f"run `chatrest export {address}` on the machine '{machine}', with its `--journal` if it had one: it "
        "has published this last, and puts it there again from its local copy"
    )


def is_own(name: str) -> bool:
    """Return True for a name that a run gives; not for attachments, which are named by their content."""
    return _OWN.fullmatch(base_name(name)) is not None
