"""Versions of a set of files in a store: a reader sees one version whole, and never parts of two.

A publication notes what it will do, sends the new files, then replaces the manifest by a conditional write,
then deletes what the manifest does not refer to any more. After a crash at any point the next one goes on:
what was sent is not sent again.
The rules are in `publication_plan`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, final

import msgspec
from msgspec import Struct

from ..export.in_thread import for_each
from .lease import Lease
from .publication_plan import (
    EMPTY,
    MANIFEST,
    WORKLIST,
    LocalFile,
    PublicationPlan,
    PublishedFile,
    Version,
    decode_version,
    is_named_by,
    leftovers,
    orphans,
    plan_publication,
    unreferenced,
    worklist,
)
from .store import ObjectInfo, ObjectStore
from .store_errors import ObjectChangedError, ObjectExistsError, ObjectNotFoundError, ObjectStoreError
from .transfer import file_sha256

T = TypeVar("T")

_AT_ONCE: Final = 8
"""Small files, each in memory; a larger one is transferred alone, its parts at the same time."""
_SMALL: Final = 2 << 20
"""Bytes: eight of them, or four parts, also get through a slow connection in the time of a request."""
_READINGS: Final = 5
"""Versions that may replace each other while one is fetched."""


@final
class PublicationStats(Struct, frozen=True):
    """The work of a publication."""

    version: Version
    """The one that readers see now."""
    sent: int
    """Files that were sent."""
    present: int
    """Files that were in the store already."""
    deleted: int
    """Objects that were deleted."""


@final
class Publisher:
    """The writer of a store's versions, one after the other, while the lease is held."""

    def __init__(
        self,
        store: ObjectStore,
        lease: Lease,
        *,
        on_version: Callable[[Version], object] = lambda _: None,
    ) -> None:
        """`on_version` is called with each version right before its manifest is written."""
        self._store = store
        self._lease = lease
        self._on_version = on_version
        self._current: tuple[Version, str | None] | None = None
        """The version that readers see, and the e-tag of its manifest; None while that is not known."""
        self._damaged: set[str] = set()
        """Objects of the version that are missing in the store, or have another size."""
        self._leftovers: set[str] = set()
        """Objects that may be in the store, and that the manifest may not refer to."""

    async def current(self) -> Version:
        """Return the version that readers see; reads it at the first call, and after a failure.

        Its objects are then listed, so that the next publication sends those anew that are missing.
        """
        if self._current is None:
            version, etag = await _read_manifest(self._store)
            names = await self._read_worklist()
            sizes = {info.name: info.size async for info in self._store.list()}
            self._leftovers.update(leftovers(names, sizes, version))
            for name in orphans(version, sizes, self._leftovers):
                info = await self._info(name)
                if info is not None and info.sha256 is not None and is_named_by(name, info.sha256):
                    self._leftovers.add(name)
            self._damaged = {
                file.stored_as
                for file in version.files
                if sizes.get(file.stored_as) != file.size and not await self._has_size(file)
            }
            self._current = version, etag
        return self._current[0]

    @property
    def damaged(self) -> frozenset[str]:
        """The objects of the current version that are missing in the store, or have another size."""
        return frozenset(self._damaged)

    async def publish(
        self,
        files: Sequence[LocalFile],
        *,
        kept: Iterable[str] = (),
        complete: bool = True,
        about: Mapping[str, int | str | bool | None] | None = None,
    ) -> PublicationStats:
        """Make `files`, and those of the current version that are `kept`, the version that readers see.

        The lease is checked before each write, and confirmed before the manifest is replaced. Raises
        `LeaseLostError` or, if another writer replaced the manifest, `ObjectChangedError`; readers then see
        the former version or the other writer's. After any other `ObjectStoreError` publish again.
        """
        await self._lease.confirm()
        version = await self.current()
        plan = plan_publication(
            files, version, kept=kept, damaged=self._damaged, complete=complete, about=about
        )
        names = worklist(plan, version, self._leftovers)
        if {*names} != self._leftovers:
            self._lease.check()
            await self._store.put(WORKLIST, msgspec.json.encode(names))
        may_exist = frozenset(self._leftovers)
        self._leftovers.update(names)
        sent = await self._send(plan, may_exist)
        if not plan.is_current:
            await self._write_manifest(plan.version)
        deleted = await self._delete_unreferenced(plan.version)
        return PublicationStats(plan.version, sent, len(plan.version.files) - sent, deleted)

    async def _send(self, plan: PublicationPlan, may_exist: frozenset[str]) -> int:
        """Send the files that are not in the store; return their number."""
        sent = 0

        async def send(item: tuple[PublishedFile, LocalFile]) -> None:
            nonlocal sent
            entry, file = item
            self._lease.check()
            if entry.stored_as in may_exist and await self._is_stored(entry):
                return
            await self._store.put_file(entry.stored_as, file.path, sha256=file.sha256, size=file.size)
            sent += 1

        await _for_each(plan.send, send, size=lambda item: item[0].size)
        return sent

    async def _has_size(self, file: PublishedFile) -> bool:
        """Ask for an object that a list did not show: nothing counts as lost because a list was not whole."""
        info = await self._info(file.stored_as)
        return info is not None and info.size == file.size

    async def _is_stored(self, file: PublishedFile) -> bool:
        """Return True for an object that an interrupted publication has sent, of the same bytes."""
        info = await self._info(file.stored_as)
        if info is None or info.size != file.size:
            return False
        return (info.sha256 or await self._store.stored_sha256(file.stored_as)) == file.sha256

    async def _info(self, name: str) -> ObjectInfo | None:
        try:
            return await self._store.head(name)
        except ObjectNotFoundError:
            return None

    async def _read_worklist(self) -> list[str]:
        try:
            return msgspec.json.decode((await self._store.get(WORKLIST)).data, type=list[str])
        except ObjectNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        raise ObjectStoreError(f"{self._store.address.rstrip('/')}/{WORKLIST} is damaged: remove it")

    async def _write_manifest(self, version: Version) -> None:
        """Let readers see a version whose files are all stored."""
        assert self._current is not None
        known = self._current[1]
        await self._lease.confirm()
        self._on_version(version)
        self._current = None  # a write that fails may have been applied
        data = version.encoded()
        try:
            if not self._lease.is_exclusive:
                etag = await self._store.put(MANIFEST, data)
            elif known is None:
                etag = await self._store.put_new(MANIFEST, data)
            else:
                etag = await self._store.replace(MANIFEST, data, known)
        except (ObjectExistsError, ObjectChangedError):
            pass
        else:
            self._current = version, etag
            self._damaged -= version.stored_names
            return
        raise ObjectChangedError(f"another writer has replaced {_manifest_of(self._store)} meanwhile")

    async def _delete_unreferenced(self, version: Version) -> int:
        """Delete what the manifest, now in place, does not refer to; return the number of objects."""
        names = unreferenced(version, self._leftovers)

        async def delete(name: str) -> None:
            self._lease.check()
            await self._store.delete(name)
            self._leftovers.discard(name)

        await _for_each(names, delete)
        self._leftovers -= version.stored_names
        return len(names)


async def read_version(store: ObjectStore) -> Version:
    """Return the version that readers see; one of number 0 without files if nothing was published."""
    return (await _read_manifest(store))[0]


async def _read_manifest(store: ObjectStore) -> tuple[Version, str | None]:
    """Return the version that readers see, and the e-tag of its manifest."""
    try:
        stored = await store.get(MANIFEST)
    except ObjectNotFoundError:
        return EMPTY, None
    return decode_version(stored.data, _manifest_of(store)), stored.info.etag


async def fetch_version(
    store: ObjectStore,
    version: Version,
    folder: Path,
    *,
    is_needed: Callable[[PublishedFile], bool] = lambda _: True,
) -> Version:
    """Download the files of a version into `folder`, each whole and checked; return the version.

    Those that are not needed are left in the store. If a new version replaces it meanwhile, begins again with
    that. A file that is in the folder with the right hash is not read again. Other files of the folder are
    left alone. Raises `ObjectStoreError` if a file of the current version is missing or damaged.
    """

    async def fetch(file: PublishedFile) -> None:
        path = folder / file.name
        if not await asyncio.to_thread(is_same, file, path):
            await store.download(file.stored_as, path, sha256=file.sha256, size=file.size)

    for _ in range(_READINGS):
        try:
            await _for_each(list(filter(is_needed, version.files)), fetch, size=lambda file: file.size)
            return version
        except ObjectNotFoundError as error:
            failure = error
        newer = await read_version(store)
        if newer == version:
            raise ObjectStoreError(f"a file of version {version.number} is missing: {failure}")
        version = newer
    raise failure


def is_same(file: PublishedFile, path: Path) -> bool:
    """Return True if the file at `path` has the size and the hash of a published one; reads all of it."""
    return path.is_file() and path.stat().st_size == file.size and file_sha256(path) == file.sha256


async def _for_each(
    items: Sequence[T], work: Callable[[T], Coroutine[Any, Any, None]], size: Callable[[T], int] = lambda _: 0
) -> None:
    """Do the work for each item, for small ones at the same time; the first error ends the others."""
    for item in items:
        if size(item) > _SMALL:
            await work(item)
    await for_each([item for item in items if size(item) <= _SMALL], work, _AT_ONCE)


def _manifest_of(store: ObjectStore) -> str:
    return f"{store.address.rstrip('/')}/{MANIFEST}"
