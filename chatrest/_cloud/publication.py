"""Files in a store that readers see in one version: new objects are put, then one object is replaced.

1. A file that never changes is put under its own name, once: no other content ever has that name.
2. A file that changes (a journal, a table, the export's manifest) is put whole under a new name each time:
   `journal-00007-0123456789abcdef.sqlite`. All others are there before it.
3. `manifest.json` is replaced by one conditional write: from here on readers see the new version. It can only
   take the place of the version that this writer continues, so no two writers are ever mixed, with a lease
   or without one.
4. What the version before had and this one has not is deleted. At the end of a run all is listed again, and
   what is ours and no part of the version goes, too: uploads of a run that was killed, or of a writer that
   lost its lease.

A kill after any step leaves the last version with all of its files. Deleting cannot harm a successor: what
was listed before a renewal of the lease that succeeded was put before any successor began, and of that a
successor names only what the version names.
"""

import hashlib
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from .._threads import for_each
from ..errors import RequestInvalidError
from .address import check_name
from .lease import LEASE, Lease
from .store import ObjectStore
from .store_errors import ObjectChangedError, ObjectExistsError, ObjectNotFoundError

Facts = Mapping[str, int | str | bool | None]

MANIFEST: Final = "manifest.json"
_UNIQUE_PART: Final = re.compile(r"-[0-9]{5,}-(?:[0-9a-f]{8}){1,2}(?=\.[^/]*\Z)")
"""What is in the names that are made: of changing files here, of the files of an export by its store."""
_AT_ONCE: Final = 8
"""Small files, each in memory; a larger one is transferred alone, its parts at the same time."""
_SMALL: Final = 2 << 20
"""Bytes: eight of them, or four parts, also get through a slow connection in the time of a request."""


class PublishedFile(Struct, frozen=True):
    """A file that changes, as a version has it."""

    name: str
    object: str
    size: int
    sha256: str


class Version(Struct, frozen=True):
    """The content of the manifest; the files that never change are named by the journal among its files."""

    number: int
    """One more than that of the version before; 0 for the empty one that a first run begins with."""
    files: list[PublishedFile]
    complete: bool = False
    """False for a version of work that is not finished."""
    about: dict[str, int | str | bool | None] = {}

    def file(self, name: str) -> PublishedFile | None:
        return next((file for file in self.files if file.name == name), None)

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"

    @property
    def digest(self) -> str:
        """A SHA-256 that no other version of any store has."""
        return hashlib.sha256(self.encoded()).hexdigest()


class LocalFile(NamedTuple):
    """A file to be published, with the name that it gets in the version."""

    name: str
    path: Path
    size: int
    sha256: str


EMPTY: Final = Version(0, [])


class Publisher:
    """The writer of a store's versions, one after the other, while the lease is held."""

    def __init__(
        self,
        store: ObjectStore,
        lease: Lease,
        *,
        is_own: Callable[[str], bool] = lambda name: bool(base_name(name)),
        on_version: Callable[[Version], object] = lambda _: None,
    ) -> None:
        """`is_own` says of an object whether an export has put it, and so may delete it; `on_version` is
        called with each version right before its manifest is written.
        """
        self._store, self._lease = store, lease
        self._is_own, self._on_version = is_own, on_version
        self._current, self._etag = EMPTY, ""
        """The version that this writer continues, and the e-tag of its manifest."""
        self._doubtful: Version | None = None
        """The one that was about to take its place when the store failed."""
        self._fixed: set[str] = set()
        self.stored_sizes: Final[dict[str, int]] = {}
        """The sizes of objects that are there, as they were listed and have been put since.

        It is one object: an export in another thread asks it.
        """

    async def begin(self) -> Version:
        """Return the version to go on from; in an empty store one without files, which is written there.

        Raises `RequestInvalidError` where our objects are there, and no manifest.
        """
        self.stored_sizes.clear()
        async for info in self._store.list():
            self.stored_sizes[info.name] = info.size
        try:
            self._current, self._etag = await _read(self._store)
        except ObjectNotFoundError:
            check_manifest_is_lost(self._store.address, self.stored_sizes, self._is_own)
            self._etag = await self._store.put_new(MANIFEST, EMPTY.encoded()) or ""
            self._current = EMPTY
        return self._current

    async def check_fixed(self, files: Mapping[str, int], lost: Container[str]) -> None:
        """Learn which of these files that never change are not there with these sizes.

        One that is `lost` elsewhere, and that the list did not show, is asked for: nothing counts as missing
        because a list was not whole.
        """
        for name, size in files.items():
            if name in lost and name not in self.stored_sizes:
                with suppress(ObjectNotFoundError):
                    self.stored_sizes[name] = (await self._store.head(name)).size
            if self.stored_sizes.get(name, size) != size:
                del self.stored_sizes[name]
        self._fixed = set(files)

    async def publish(
        self,
        changing: Iterable[LocalFile],
        fixed: Sequence[LocalFile] = (),
        *,
        permanent: Sequence[LocalFile] = (),
        complete: bool = True,
        about: Facts | None = None,
        is_partial: bool = False,
    ) -> Version:
        """Make files the version that readers see, and return it; unchanged ones are not sent again.

        `changing` and `fixed` are all that it has, but those that change and are not given stay if it
        `is_partial`, as while a run is writing; else all that is ours and no part of it is deleted.
        `permanent` are files that never change, and are never deleted. Raises `LeaseLostError`,
        `ObjectChangedError` where the manifest is another writer's, and any other `ObjectStoreError`, after
        which it may be called again.
        """
        await self._lease.confirm()
        former = await self._resolve_doubt()
        entries = {file.name: file for file in former.files} if is_partial else {}
        new = list[LocalFile]()
        for file in changing:
            entry = former.file(file.name)
            if entry is None or not self._has(entry, file):
                name = _made_name(file.name, former.number + 1)
                entry = PublishedFile(file.name, name, file.size, file.sha256)
                new.append(file._replace(name=name))
            entries[file.name] = entry
        await self._send([*fixed, *permanent])
        await self._send(new)
        files = [entries[name] for name in sorted(entries)]
        version = Version(former.number + 1, files, complete, dict(about or {}))
        if structs.replace(version, number=former.number) != former:
            await self._write_manifest(version)
        named = {*(file.name for file in fixed), *(file.object for file in self._current.files)}
        await self._delete({*self._fixed, *(file.object for file in former.files)} - named)
        self._fixed = {file.name for file in fixed}
        if not is_partial:
            await self._delete_leftovers({*named, *(file.name for file in permanent)})
        return self._current

    def _has(self, entry: PublishedFile, file: LocalFile) -> bool:
        is_there = self.stored_sizes.get(entry.object) == entry.size
        return is_there and (entry.size, entry.sha256) == (file.size, file.sha256)

    async def _send(self, files: Iterable[LocalFile]) -> None:
        async def send(file: LocalFile) -> None:
            self._lease.check()
            await self._store.put_file(file.name, file.path, sha256=file.sha256)
            self.stored_sizes[file.name] = file.size

        missing = [file for file in files if self.stored_sizes.get(file.name) != file.size]
        for file in missing:
            if file.size > _SMALL:
                await send(file)
        await for_each([file for file in missing if file.size <= _SMALL], send, _AT_ONCE)

    async def _resolve_doubt(self) -> Version:
        """Return the version to go on from; after a write of the manifest that failed it may be that one."""
        if self._doubtful is not None:
            stored, etag = await _read(self._store)
            if stored not in (self._current, self._doubtful):
                raise self._overtaken_error()
            self._current, self._etag, self._doubtful = stored, etag, None
        return self._current

    async def _write_manifest(self, version: Version) -> None:
        await self._lease.confirm()
        self._on_version(version)
        self._doubtful = version
        try:
            etag = await self._store.replace(MANIFEST, version.encoded(), self._etag)
        except (ObjectExistsError, ObjectChangedError):
            raise self._overtaken_error() from None
        self._current, self._etag, self._doubtful = version, etag or "", None

    def _overtaken_error(self) -> ObjectChangedError:
        return ObjectChangedError(
            f"another writer has replaced {self._store.address}/{MANIFEST} meanwhile: what this run has "
            "read stays in its local copy"
        )

    # ── what is no part of the version ──

    async def _delete_leftovers(self, named: set[str]) -> None:
        """Delete what is ours and no part of the version, whoever has put it; the run has ended."""
        listed = {info.name async for info in self._store.list()}
        await self._lease.confirm()  # no successor has put anything of that
        await self._delete(filter(self._is_own, listed - named - {MANIFEST, LEASE}))

    async def _delete(self, names: Iterable[str]) -> None:
        async def delete(name: str) -> None:
            self._lease.check()
            await self._store.delete(name)
            self.stored_sizes.pop(name, None)

        await for_each(sorted(names), delete, _AT_ONCE)


def base_name(name: str) -> str:
    """Return a made name without what makes it unique; an empty text for any other name."""
    base, count = _UNIQUE_PART.subn("", name)
    return base if count else ""


def _made_name(name: str, number: int) -> str:
    path = PurePosixPath(name)
    stem, dot, suffixes = path.name.partition(".")
    return str(path.with_name(f"{stem}-{number:05d}-{token_hex(8)}{dot}{suffixes}"))


# ── reading ──


async def read_version(store: ObjectStore, is_own: Callable[[str], bool] = lambda _: False) -> Version | None:
    """Return the version that readers see; None where no run has begun.

    Raises `RequestInvalidError` where objects are there that `is_own`, and no manifest.
    """
    try:
        return (await _read(store))[0]
    except ObjectNotFoundError:
        check_manifest_is_lost(store.address, [info.name async for info in store.list()], is_own)
        return None


def check_manifest_is_lost(address: str, names: Iterable[str], is_own: Callable[[str], bool]) -> None:
    """Refuse a store with objects of an export and without its manifest, which every run puts there first."""
    if (own_name := next(filter(is_own, sorted(names)), None)) is not None:
        raise RequestInvalidError(
            f"{address}/{MANIFEST} is lost: {address} holds objects of an export, such as {own_name}, and "
            f"no manifest; nothing was changed: {rebuild_hint(address)}"
        )


def rebuild_hint(address: str) -> str:
    return (
        f"restore an earlier version of {MANIFEST}; or copy all that is below {address} to a new folder "
        "DIR/export, rename the newest journal-….sqlite there to journal.sqlite, and export with "
        "--journal DIR to a new address"
    )


async def _read(store: ObjectStore) -> tuple[Version, str]:
    stored = await store.get(MANIFEST)
    return decode_version(stored.data, store.address), stored.info.etag or ""


def decode_version(data: bytes, address: str) -> Version:
    """Return the version in an object's content; `RequestInvalidError` where it is damaged."""
    try:
        version = msgspec.json.decode(data, type=Version)
        for file in version.files:
            check_name(file.name)
            check_name(file.object)
    except (msgspec.DecodeError, UnicodeDecodeError, RequestInvalidError):
        pass
    else:
        return version
    raise RequestInvalidError(
        f"{address}/{MANIFEST} is damaged, or is not a version's manifest; nothing was changed: "
        f"{rebuild_hint(address)}"
    )


async def fetch_file(store: ObjectStore, file: PublishedFile, path: Path) -> None:
    """Download a file of a version, checked by its SHA-256; it is there whole and durable, or not at all."""
    await store.download(file.object, path, sha256=file.sha256, size=file.size)
