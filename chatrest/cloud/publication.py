"""Versions of a set of files in a store: a reader sees one version whole, and never parts of two.

`publish` sends the new files, then replaces the manifest by a conditional write, then deletes what no
manifest refers to. After a crash at any point, the next `publish` goes on: what was sent is not sent again.
The rules are in `publication_plan`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, final

from msgspec import Struct, structs

from .address import check_name
from .lease import Lease
from .operations import Operations, StoredObject
from .publication_plan import (
    EMPTY,
    MANIFEST,
    WORKLIST,
    LocalFile,
    Manifest,
    PublicationPlan,
    PublishedFile,
    Worklist,
    check_names,
    decode_manifest,
    decode_worklist,
    encoded,
    plan_publication,
    unreferenced,
)
from .store_errors import ObjectChangedError, ObjectExistsError, ObjectNotFoundError, ObjectStoreError
from .transfer import PART_SIZE, file_sha256

_SMALL_FILES_AT_ONCE: Final = 8
"""Files of up to one part, each in memory; a larger one is sent alone, its parts at the same time."""
_READINGS: Final = 5
"""Versions that may replace each other while one is fetched."""

OnFile: TypeAlias = Callable[[PublishedFile], object]
"""Called after a file was sent or downloaded."""


@final
class PublicationStats(Struct, frozen=True):
    """The work of a publication."""

    generation: int
    """Of the version that readers see now."""
    sent: int
    """Files that were sent."""
    present: int
    """Files that were in the store already."""
    deleted: int
    """Objects that were deleted."""


async def publish(
    store: Operations, files: Mapping[str, Path], lease: Lease, *, on_file: OnFile = lambda _: None
) -> PublicationStats:
    """Make `files`, by their names, the version that readers see; call `on_file` for each that was sent.

    The lease is checked before each write, and confirmed before the manifest is replaced. Raises
    `LeaseLostError` or, if another writer replaced the manifest, `ObjectChangedError`; readers then see the
    former version or the other writer's. Any other `ObjectStoreError` may be followed by another `publish`.
    """
    check_names(files)
    local = [await asyncio.to_thread(_local_file, name, path) for name, path in sorted(files.items())]
    lease.check()
    writer = _Publisher(store, lease, on_file)
    current = await writer.read_manifest()
    plan = plan_publication(local, current, await writer.read_worklist())
    sent = 0
    if not plan.is_current:
        sent = await _publish_new(writer, plan, files)
    deleted = await writer.delete_unreferenced(plan)
    return PublicationStats(plan.manifest.generation, sent, len(local) - sent, deleted)


async def _publish_new(writer: "_Publisher", plan: PublicationPlan, files: Mapping[str, Path]) -> int:
    await writer.write_worklist(plan.worklist)
    small = [file for file in plan.send if file.size <= PART_SIZE]
    large = [file for file in plan.send if file.size > PART_SIZE]

    async def send(remaining: Iterator[PublishedFile]) -> int:
        """Send what other workers have not taken; return the number of files."""
        return sum(
            [
                await writer.send(file, files[file.name], may_exist=file.stored_as in plan.leftovers)
                for file in remaining
            ]
        )

    sent = await send(iter(large))
    remaining = iter(small)
    workers = [send(remaining) for _ in range(min(_SMALL_FILES_AT_ONCE, len(small)))]
    sent += sum(await _run_all(workers))
    await writer.write_manifest(plan.manifest)
    return sent


async def _run_all(workers: Iterable[Coroutine[Any, Any, int]]) -> list[int]:
    """Run workers at the same time; return their results, or end the others after the first error."""
    tasks = [asyncio.create_task(worker) for worker in workers]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def read_version(store: Operations) -> Manifest:
    """Return the version that readers see; one of generation 0 without files if nothing was published."""
    try:
        stored = await store.get(MANIFEST)
    except ObjectNotFoundError:
        return EMPTY
    return decode_manifest(stored.data, _target(store, MANIFEST))


async def fetch_version(
    store: Operations,
    folder: Path,
    *,
    is_present: Callable[[PublishedFile], bool] = lambda _: False,
    on_file: OnFile = lambda _: None,
) -> Manifest:
    """Download the files of the current version into `folder`, each whole and checked; return the version.

    A file for which `is_present`, called in a thread, returns True is left out: the caller has it elsewhere.
    `on_file` is called for each file that was downloaded.

    If a new version replaces it meanwhile, begins again with that. A file that is in the folder with the
    right hash is not read again. Other files of the folder are left alone. Raises `ObjectStoreError` if a
    file of the current version is missing or damaged.
    """
    manifest = await read_version(store)
    for _ in range(_READINGS):
        try:
            for file in manifest.files:
                if await asyncio.to_thread(_is_needed, file, folder / file.name, is_present):
                    await store.download(file.stored_as, folder / file.name, sha256=file.sha256)
                    on_file(file)
            return manifest
        except ObjectNotFoundError as error:
            failure = error
        newer = await read_version(store)
        if newer == manifest:
            raise ObjectStoreError(f"a file of version {manifest.generation} is missing: {failure}")
        manifest = newer
    raise failure


@final
class _Publisher:
    """The writes of one publication, each on the condition that no other writer came between."""

    def __init__(self, store: Operations, lease: Lease, on_file: OnFile) -> None:
        self._store = store
        self._lease = lease
        self._on_file = on_file
        self._worklist = Worklist()
        self._etags: dict[str, str | None] = {}
        """Of the manifest and the worklist, as they were read or written last; without an entry, absent."""

    async def read_manifest(self) -> Manifest:
        """Return the current version."""
        stored = await self._read(MANIFEST)
        return decode_manifest(stored.data, _target(self._store, MANIFEST)) if stored else EMPTY

    async def read_worklist(self) -> Worklist:
        """Return what former publications have left to do."""
        if stored := await self._read(WORKLIST):
            self._worklist = decode_worklist(stored.data, _target(self._store, WORKLIST))
        return self._worklist

    async def write_worklist(self, worklist: Worklist) -> None:
        """Write the objects that are to be sent or deleted, before they are."""
        if worklist != self._worklist:
            await self._write(WORKLIST, encoded(worklist))
            self._worklist = worklist

    async def send(self, file: PublishedFile, path: Path, *, may_exist: bool) -> bool:
        """Send a file; return True.

        If it `may_exist`, and is there with its size and hash, nothing is sent, and False is returned.
        """
        self._lease.check()
        if may_exist and await self._is_stored(file):
            return False
        await self._store.put_file(file.stored_as, path, sha256=file.sha256)
        self._on_file(file)
        return True

    async def write_manifest(self, manifest: Manifest) -> None:
        """Let readers see a version whose files are all stored."""
        await self._lease.confirm()
        await self._write(MANIFEST, encoded(manifest))

    async def delete_unreferenced(self, plan: PublicationPlan) -> int:
        """Delete what the manifest, now in place, does not refer to; return the number of objects."""
        names = unreferenced(plan.manifest, plan.worklist)
        if names:
            await self.write_worklist(structs.replace(plan.worklist, known=[], deleting=names))
        for name in names:
            self._lease.check()
            await self._store.delete(name)
        await self.write_worklist(structs.replace(plan.worklist, known=[], deleting=[]))
        return len(names)

    async def _is_stored(self, file: PublishedFile) -> bool:
        try:
            info = await self._store.head(file.stored_as)
        except ObjectNotFoundError:
            return False
        if info.size != file.size:
            return False
        return (info.sha256 or await self._store.stored_sha256(file.stored_as)) == file.sha256

    async def _read(self, name: str) -> StoredObject | None:
        try:
            stored = await self._store.get(name)
        except ObjectNotFoundError:
            return None
        self._etags[name] = stored.info.etag
        return stored

    async def _write(self, name: str, data: bytes) -> None:
        self._lease.check()
        try:
            if not self._lease.is_exclusive:
                etag = await self._store.put(name, data)
            elif (known := self._etags.get(name)) is None:
                etag = await self._store.put_new(name, data)
            else:
                etag = await self._store.replace(name, data, known)
        except (ObjectExistsError, ObjectChangedError):
            etag = None
        else:
            self._etags[name] = etag
            return
        raise ObjectChangedError(f"another writer has published to {_target(self._store, name)} meanwhile")


def _is_needed(file: PublishedFile, path: Path, is_present: Callable[[PublishedFile], bool]) -> bool:
    return not is_same(file, path) and not is_present(file)


def is_same(file: PublishedFile, path: Path) -> bool:
    """Return True if the file at `path` has the size and the hash of a published one; reads all of it."""
    return path.is_file() and path.stat().st_size == file.size and file_sha256(path) == file.sha256


def _local_file(name: str, path: Path) -> LocalFile:
    check_name(name)
    return LocalFile(name, path.stat().st_size, file_sha256(path))


def _target(store: Operations, name: str) -> str:
    return f"{store.address.rstrip('/')}/{name}"
