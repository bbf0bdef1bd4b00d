"""An export in a store for readers: manifest, journal and log are fetched, other files as they are read."""

import shutil
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from ..._cloud.publication import EMPTY, Version, read_version
from ..._cloud.store import ObjectStore
from ..._cloud.store_errors import ObjectNotFoundError, ObjectStoreError
from ..._threads import wait_for
from ...errors import ChatRestError, RequestInvalidError
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.manifest import NAME as MANIFEST, find_undamaged
from ..plan.file_names import MESSAGES, path_inside
from ..remote.store_export import is_own, remedy
from .folder_view import FolderView

_ALWAYS_READ: Final = (MANIFEST, JOURNAL, "runs.jsonl")
"""The files that each reader needs."""
_READINGS: Final = 5
"""Versions that may replace each other while these are fetched."""
_FILES_AHEAD: Final = 8
_BYTES_AHEAD: Final = 64 << 20
"""No further file is fetched ahead while those that wait have so many bytes."""


class StoreView(FolderView):
    """The version that was current when the view was made.

    Files are downloaded a few ahead of the reader, and removed after it: the local disk has room for
    `_ALWAYS_READ`, the largest of the others, and 64 MiB. If an object is gone, as a newer version was
    published, that is an `ObjectStoreError`.
    """

    is_remote = True

    def __init__(self, address: str, export: str = "", *, may_be_new: bool = False) -> None:
        self._store = ObjectStore.open(address)
        super().__init__(Path(mkdtemp(prefix="chatrest-")), export)
        self.name = self._store.address
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

    def __exit__(self, *_: object) -> None:
        self._end()

    def expect(self, names: Iterable[str]) -> None:
        self._expected = iter([name for name in names if name not in _ALWAYS_READ])

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        if name in _ALWAYS_READ:
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
        return name in self._sizes

    def remedy(self, name: str) -> str:
        return remedy(self.name, name, self._version.about.get("machine"))

    def unknown(self) -> Iterator[tuple[str, bool]]:
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
                    if file.name in _ALWAYS_READ:
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
            name, size = file.object, file.size
        await self._store.download(name, path, size=size, is_durable=False)  # its reader checks it


def _wait_for_file(view: weakref.ref[StoreView], name: str) -> None:
    """Fetch a file, unless its reader has ended; the thread does not keep the view."""
    if (present := view()) is not None:
        wait_for(present._fetch(name))


def _sizes(folder: Path) -> dict[str, int]:
    try:
        with Journal(folder / JOURNAL) as journal:
            return {file.name: file.size for file in journal.files("sealed")}
    except (ChatRestError, OSError):
        manifest = find_undamaged(folder)
        return {} if manifest is None else {entry.name: entry.bytes for entry in manifest.files}


def _clean_up(threads: ThreadPoolExecutor, folder: Path) -> None:
    threads.shutdown(cancel_futures=True)
    shutil.rmtree(folder, ignore_errors=True)
