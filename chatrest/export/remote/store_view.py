"""An export in a store for readers: manifest, journal and log are fetched, other files as they are read."""

import shutil
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, Self, final

from ...cloud.address import parse_address
from ...cloud.publication import read_version
from ...cloud.publication_plan import RESERVED, PublishedFile, Version, is_numbered
from ...cloud.store import ObjectStore
from ...cloud.store_errors import ObjectNotFoundError, ObjectStoreError
from ...errors import RequestInvalidError
from ..file_names import MESSAGES, path_inside
from ..journal import NAME as JOURNAL
from ..manifest import NAME as MANIFEST
from .blocking import wait_for
from .stored_files import check_room

_AT_ONCE: Final = (MANIFEST, JOURNAL, "runs.jsonl")
"""The files that each reader needs."""
_READINGS: Final = 5
"""Versions that may replace each other while these are fetched."""
_FILES_AHEAD: Final = 8
_BYTES_AHEAD: Final = 64 << 20
"""No further file is fetched ahead while those that wait have so many bytes."""


@final
class StoreView:
    """The version that was current when the view was made; see `FolderView`.

    Files are downloaded a few ahead of the reader, and removed behind it: the local disk has room for
    `_AT_ONCE`, and for the largest of the others and 64 MiB. An object that is gone since, as a newer version
    was published, is an `ObjectStoreError`.
    """

    is_remote = True

    def __init__(self, address: str, *, may_be_new: bool = False) -> None:
        if not may_be_new:
            _check_folder(address)
        self._store = ObjectStore.open(address)
        self.name = self._store.address
        self.folder = Path(mkdtemp(prefix="chatrest-"))
        self._threads = ThreadPoolExecutor(_FILES_AHEAD)
        self._end = weakref.finalize(self, _clean_up, self._threads, self.folder)
        self._expected: Iterator[str] = iter(())
        self._ahead: dict[str, Future[None]] = {}
        self._version = wait_for(self._fetch_first())
        self._files = {file.name: file for file in self._version.files}
        if not self._version.number and not may_be_new:
            self._end()
            raise RequestInvalidError(f"{address} holds no export: it has no {MANIFEST}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary folder."""
        self._end()

    def expect(self, names: Iterable[str]) -> None:
        """Fetch these files ahead, in this order, which is that of the reader."""
        self._expected = iter([name for name in names if name in self._files and name not in _AT_ONCE])

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        """Have a file in the folder within the block; the reader checks what is in it."""
        if name in _AT_ONCE or name not in self._files:
            yield
            return
        self._fetch_ahead()
        future = self._ahead.pop(name, None)
        if future is None:
            wait_for(self._fetch(self._files[name]))
        else:
            future.result()
        try:
            yield
        finally:
            path_inside(self.folder, name).unlink(missing_ok=True)

    def has(self, name: str) -> bool:
        """Return True if the version has the file."""
        return name in self._files

    def unknown(self) -> Iterator[tuple[str, bool]]:
        """Yield the objects in the folder of messages that the version does not have."""

        async def names() -> list[str]:
            return sorted([info.name async for info in self._store.list(MESSAGES)])

        known = self._version.stored_names | RESERVED
        for name in wait_for(names()):
            if name not in known:
                yield name, is_numbered(name)

    def _fetch_ahead(self) -> None:
        size = sum(self._files[name].size for name in self._ahead)
        while len(self._ahead) < _FILES_AHEAD and size < _BYTES_AHEAD:
            if (name := next(self._expected, None)) is None:
                return
            file = self._files[name]
            size += file.size
            self._ahead[name] = self._threads.submit(_wait_for_file, weakref.ref(self), file)

    async def _fetch_first(self) -> Version:
        await self._store.check_reachable()
        for _ in range(_READINGS):
            version = await read_version(self._store)
            try:
                for file in version.files:
                    if file.name in _AT_ONCE:
                        await self._download(file)
            except ObjectNotFoundError as error:
                failure = error
            else:
                return version
        raise ObjectStoreError(f"{self.name}: {failure}")

    async def _fetch(self, file: PublishedFile) -> None:
        try:
            await self._download(file)
        except ObjectNotFoundError:
            if (await read_version(self._store)).number == self._version.number:
                return  # it is missing, as the reader will notice
        else:
            return
        raise ObjectStoreError(
            f"a new version was published at {self.name} while this one was read: read it again"
        )

    async def _download(self, file: PublishedFile) -> None:
        path = path_inside(self.folder, file.name)
        check_room(self.folder, file, self.name)
        await self._store.download(file.stored_as, path, size=file.size, is_durable=False)


def _wait_for_file(view: weakref.ref[StoreView], file: PublishedFile) -> None:
    """Fetch a file, unless its reader has ended; the thread does not keep the view."""
    if (present := view()) is not None:
        wait_for(present._fetch(file))


def _check_folder(address: str) -> None:
    """Refuse a `file://` address without an export; a store that is opened would make its folder."""
    target = parse_address(address)
    folder = Path(target.prefix)
    if target.scheme != "file":
        return
    if (folder / JOURNAL).is_file():
        raise RequestInvalidError(f"{address} is the folder of an export, not a store: write {folder}")
    if not folder.is_dir():
        raise RequestInvalidError(f"{address} holds no export: there is no such folder")


def _clean_up(threads: ThreadPoolExecutor, folder: Path) -> None:
    threads.shutdown(cancel_futures=True)
    shutil.rmtree(folder, ignore_errors=True)
