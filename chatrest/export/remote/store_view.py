"""An export in a store for readers: manifest, journal and log are fetched, other files one at a time."""

import errno
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, Self, final

from ...cloud.publication import read_version
from ...cloud.publication_plan import RESERVED, PublishedFile, Version, is_numbered
from ...cloud.store import ObjectStore
from ...cloud.store_errors import ObjectNotFoundError, ObjectStoreError
from ...errors import RequestInvalidError
from ..file_names import MESSAGES, path_inside
from ..journal.schema import NAME as JOURNAL
from ..manifest import NAME as MANIFEST
from .blocking import wait_for

_AT_ONCE: Final = (MANIFEST, JOURNAL, "runs.jsonl")
"""The files that each reader needs."""
_READINGS: Final = 5
"""Versions that may replace each other while these are fetched."""


@final
class StoreView:
    """The version that was current when the view was made; see `FolderView`.

    The local disk has room for these files and the largest of the others. An object that is gone since, as a
    newer version was published, is an `ObjectStoreError`.
    """

    is_remote = True

    def __init__(self, address: str, *, may_be_new: bool = False) -> None:
        self._store = ObjectStore.open(address)
        self.name = self._store.address
        self.folder = Path(mkdtemp(prefix="chatrest-"))
        self._end = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
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

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        """Download a file for the block; the reader checks what is in it."""
        path = path_inside(self.folder, name)
        if name in _AT_ONCE or (file := self._files.get(name)) is None:
            yield
            return
        wait_for(self._fetch(file))
        try:
            yield
        finally:
            path.unlink(missing_ok=True)

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

    async def _fetch_first(self) -> Version:
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
        raise ObjectStoreError(f"{self._store.address}: {failure}")

    async def _fetch(self, file: PublishedFile) -> None:
        try:
            await self._download(file)
        except ObjectNotFoundError:
            if (await read_version(self._store)).number == self._version.number:
                return  # it is missing, as the reader will notice
        else:
            return
        raise ObjectStoreError(
            f"a new version was published at {self._store.address} while this one was read: read it again"
        )

    async def _download(self, file: PublishedFile) -> None:
        path = path_inside(self.folder, file.name)
        space = shutil.disk_usage(self.folder).free
        if file.size > space:
            text = f"{file.name} of {self._store.address} needs {file.size:,} bytes, and {space:,} are free"
            raise OSError(errno.ENOSPC, text, str(self.folder))
        await self._store.download(file.stored_as, path, is_checked=False)
