"""Files in a store that readers see as a whole: what is new is put, and then one object is replaced.

1. A file that never changes is put under its own name, once: no other content ever has that name.
2. A file that changes (a journal, a table, the export's manifest) is put under a new name each time, or as
   the pages that have changed since: `journal-00007-0123456789abcdef.sqlite`.
3. `manifest.json` is replaced by one conditional write: from here on readers see the new version.
4. What is no part of it is deleted: only what was listed, and what was a part of the version before or has a
   name that was made here.

A kill after any step leaves the last version with all of its parts; the next publication lists the store, and
continues. A late upload of a writer that has lost its lease has its own name: it is listed, and deleted. A
part is never referred to again once a version is without it, so that no late deletion harms a successor.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable, Container, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeVar, final

import msgspec
from msgspec import Struct

from ..errors import RequestInvalidError
from ..export.in_thread import for_each
from .address import check_name
from .lease import Lease
from .pages import apply_change
from .store import ObjectStore
from .store_errors import ObjectChangedError, ObjectExistsError, ObjectNotFoundError, ObjectStoreError
from .transfer import file_sha256, put_in_place

T = TypeVar("T")

MANIFEST: Final = "manifest.json"
FORMAT: Final = 2
_MADE: Final = re.compile(r"-[0-9]{5,}-(?:[0-9a-f]{8}){1,2}(?=\.[^/]*\Z)")
"""What is in the names that are made: of parts here, of the files of an export by its store."""
_MOST_CHANGES: Final = 100
_LARGEST_SHARE: Final = 0.5
"""Changes that are larger than this part of a file: it is sent whole then."""
_AT_ONCE: Final = 8
"""Small files, each in memory; a larger one is transferred alone, its parts at the same time."""
_SMALL: Final = 2 << 20
"""Bytes: eight of them, or four parts, also get through a slow connection in the time of a request."""


class Part(NamedTuple):
    """An object."""

    name: str
    size: int


@final
class PublishedFile(Struct, frozen=True):
    """A file that changes, as a version has it."""

    name: str
    """Of the file, as the reader sees it."""
    size: int
    sha256: str
    parts: list[Part]
    """The object with its whole content at some time, and then those with pages that have changed since."""


@final
class Version(Struct, frozen=True):
    """The content of the manifest; the files that never change are named by the journal among its files."""

    number: int
    """Larger than that of any version before; 0 before the first."""
    files: list[PublishedFile]
    complete: bool = True
    """False for a version of work that is not finished."""
    about: dict[str, int | str | bool | None] = {}
    """Facts for people and monitors."""
    format: int = FORMAT

    def file(self, name: str) -> PublishedFile | None:
        return next((file for file in self.files if file.name == name), None)

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"

    @property
    def digest(self) -> str:
        """A SHA-256 that no other version of any store has."""
        return hashlib.sha256(self.encoded()).hexdigest()


class PageChange(NamedTuple):
    """The pages of a file that differ from those of the content with the hash `former`, in a file."""

    path: Path
    size: int
    sha256: str
    former: str


@final
class _Header(Struct):
    format: int


@final
class _FormerFile(Struct):
    """A file in a manifest of version 0.2: each was one object, also those that never changed."""

    name: str
    stored_as: str
    size: int
    sha256: str


@final
class _FormerVersion(Struct):
    number: int
    files: list[_FormerFile]
    complete: bool
    about: dict[str, int | str | bool | None]


class LocalFile(NamedTuple):
    """A file to be published."""

    name: str
    path: Path
    size: int
    sha256: str
    change: PageChange | None = None


EMPTY: Final = Version(0, [])


@final
class Publisher:
    """The writer of a store's versions, one after the other, while the lease is held."""

    def __init__(
        self,
        store: ObjectStore,
        lease: Lease,
        *,
        is_own: Callable[[str], bool] = lambda _: True,
        on_version: Callable[[Version], object] = lambda _: None,
    ) -> None:
        """`is_own` says of a made name, without what makes it unique, whether a file of ours has it;
        `on_version` is called with each version right before its manifest is written.
        """
        self._store, self._lease = store, lease
        self._is_own, self._on_version = is_own, on_version
        self._current: tuple[Version, str | None] | None = None
        """The version that readers see, and the e-tag of its manifest; None while that is not known."""
        self._listed: dict[str, int] = {}
        self._added: dict[str, int] = {}
        """The files that others have put there, and that no version has yet."""
        self._has_added = False
        self.published: dict[str, int] = {}
        """The sizes of the files of the current version that never change, as far as they are there.

        It is one object: an archive in another thread asks it.
        """

    async def current(self) -> Version:
        """Return the version that readers see; reads it at the first call, and after a failure.

        All objects are then listed: so what is missing is put again, and what a kill has left is deleted.
        """
        if self._current is None:
            version, etag = await _read_manifest(self._store)
            listed = {info.name: info.size async for info in self._store.list()}
            if self._has_added:  # others put files there: one that no one has told of yet is not deleted
                listed = {name: size for name, size in listed.items() if name in self._listed}
            self._listed = listed | self._added
            self._current = version, etag
        return self._current[0]

    async def find(self, files: Mapping[str, int], lost: Container[str]) -> None:
        """Learn which of these files that never change are there, with these sizes.

        One that is `lost` elsewhere, and that the list did not show, is asked for: nothing counts as missing
        because a list was not whole.
        """
        await self.current()
        self.published.clear()
        for name, size in files.items():
            if self._listed.get(name) != size and name in lost:
                try:
                    self._listed[name] = (await self._store.head(name)).size
                except ObjectNotFoundError:
                    continue
            if self._listed.get(name) == size:
                self.published[name] = size

    def add(self, files: Mapping[str, int]) -> None:
        """Note files that others have put there, with their sizes: they are not sent, and not deleted before
        a version has had them. Called in any thread.
        """
        new = {name: size for name, size in files.items() if name not in self.published}
        self._has_added = True
        self._added.update(new)
        self._listed.update(new)
        self.published.update(new)

    def listed(self, folder: str) -> dict[str, int]:
        return {name: size for name, size in self._listed.items() if name.startswith(f"{folder}/")}

    async def publish(
        self,
        changing: Iterable[LocalFile],
        fixed: Sequence[LocalFile] = (),
        *,
        beside: Sequence[LocalFile] = (),
        complete: bool = True,
        about: Mapping[str, int | str | bool | None] | None = None,
        is_partial: bool = False,
    ) -> Version:
        """Make files the version that readers see, and return it; unchanged ones are not sent again.

        `changing` and `fixed` are all that it has, but those that change and are not given stay if it
        `is_partial`; `beside` are files that never change, and are never deleted. Raises `LeaseLostError`,
        `ObjectChangedError` where the manifest is another writer's, and after any other `ObjectStoreError`
        publish again.
        """
        await self._lease.confirm()
        former = await self.current()
        entries = {file.name: file for file in former.files} if is_partial else {}
        number, send = former.number + 1, [*fixed, *beside]
        for file in changing:
            entry, new = self._entry(file, former.file(file.name), number)
            entries[file.name] = entry
            send += new
        await self._send(send)
        version = Version(number, [entries[name] for name in sorted(entries)], complete, dict(about or {}))
        if msgspec.structs.replace(version, number=former.number) == former:
            version = former
        else:
            await self._write_manifest(version)
        self.published.update({file.name: file.size for file in fixed})
        for file in fixed:
            self._added.pop(file.name, None)
        gone = self.published.keys() - self._added.keys() - {file.name for file in fixed}
        for name in gone:
            del self.published[name]
        await self._delete(former, version, gone)
        return version

    def _entry(
        self, file: LocalFile, former: PublishedFile | None, number: int
    ) -> tuple[PublishedFile, list[LocalFile]]:
        """Return a changing file as the next version has it, and what is to be put for that."""
        parts = former.parts if former is not None else []
        is_there = former is not None and all(self._listed.get(part.name) == part.size for part in parts)
        if former is not None and is_there and (former.size, former.sha256) == (file.size, file.sha256):
            return former, []
        new, change = file._replace(name=_made_name(file.name, number)), file.change
        if change is not None and is_there and former is not None and former.sha256 == change.former:
            total = change.size + sum(part.size for part in parts[1:])
            if total <= _LARGEST_SHARE * file.size and len(parts) <= _MOST_CHANGES:
                new = LocalFile(new.name, *change[:3])
                parts = [*parts, Part(new.name, new.size)]
                return PublishedFile(file.name, file.size, file.sha256, parts), [new]
        return PublishedFile(file.name, file.size, file.sha256, [Part(new.name, file.size)]), [new]

    async def _send(self, files: Iterable[LocalFile]) -> None:
        async def send(file: LocalFile) -> None:
            self._lease.check()
            await self._store.put_file(file.name, file.path, sha256=file.sha256)
            self._listed[file.name] = file.size

        missing = [file for file in files if self._listed.get(file.name) != file.size]
        await _for_each(missing, send, size=lambda file: file.size)

    async def _write_manifest(self, version: Version) -> None:
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
            return
        raise ObjectChangedError(f"another writer has replaced {_manifest_of(self._store)} meanwhile")

    async def _delete(self, former: Version, version: Version, gone: Iterable[str]) -> None:
        """Delete what is no part of the version, now in place."""
        needed = {part.name for file in version.files for part in file.parts} | self.published.keys()
        gone = {*gone, *(part.name for file in former.files for part in file.parts)}
        gone |= {name for name in list(self._listed) if (base := base_name(name)) and self._is_own(base)}

        async def delete(name: str) -> None:
            self._lease.check()
            await self._store.delete(name)
            del self._listed[name]

        await for_each(sorted((gone - needed) & self._listed.keys()), delete, _AT_ONCE)


def base_name(name: str) -> str:
    """Return a made name without what makes it unique; an empty text for any other name."""
    base, count = _MADE.subn("", name)
    return base if count else ""


def _made_name(name: str, number: int) -> str:
    path = PurePosixPath(name)
    stem, dot, suffixes = path.name.partition(".")
    return str(path.with_name(f"{stem}-{number:05d}-{token_hex(8)}{dot}{suffixes}"))


# ── reading ──


async def read_version(store: ObjectStore) -> Version:
    """Return the version that readers see; one of number 0 without files if nothing was published."""
    return (await _read_manifest(store))[0]


async def _read_manifest(store: ObjectStore) -> tuple[Version, str | None]:
    try:
        stored = await store.get(MANIFEST)
    except ObjectNotFoundError:
        return EMPTY, None
    return decode_version(stored.data, _manifest_of(store)), stored.info.etag


def decode_version(data: bytes, target: str) -> Version:
    """Return the version in an object's content, which version 0.2 may have written.

    Raises `ObjectStoreError`, which names `target`, where it is damaged.
    """
    version = None
    try:
        match msgspec.json.decode(data, type=_Header).format:
            case 1:
                version = _continued(msgspec.json.decode(data, type=_FormerVersion))
            case number if number == FORMAT:
                version = msgspec.json.decode(data, type=Version)
        for file in version.files if version is not None else ():
            for name in (file.name, *(part.name for part in file.parts)):
                check_name(name)
    except (msgspec.DecodeError, UnicodeDecodeError, RequestInvalidError):
        version = None
    if version is None or not all(file.parts for file in version.files):
        raise ObjectStoreError(f"{target} is damaged, or no manifest of a published version")
    return version


def _continued(former: _FormerVersion) -> Version:
    files = [
        PublishedFile(file.name, file.size, file.sha256, [Part(file.stored_as, file.size)])
        for file in former.files
    ]
    return Version(former.number, files, former.complete, former.about)


async def fetch_file(
    store: ObjectStore, file: PublishedFile, path: Path, *, is_temporary: bool = False
) -> None:
    """Download a file of a version to `path`, which is there whole, or not at all.

    Checked by its SHA-256, and it survives a loss of power, unless it `is_temporary`: its reader checks it.
    """
    sha256, is_durable = None if is_temporary else file.sha256, not is_temporary
    first, *changes = file.parts
    if not changes:
        await store.download(first.name, path, sha256=sha256, size=first.size, is_durable=is_durable)
        return
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".fetch-", dir=path.parent) as folder:
        whole, change = Path(folder, "whole"), Path(folder, "change")
        await store.download(first.name, whole, size=first.size, is_durable=False)
        for part in changes:
            await store.download(part.name, change, size=part.size, is_durable=False)
            await asyncio.to_thread(apply_change, whole, change)
        if sha256 is not None and (found := await asyncio.to_thread(file_sha256, whole)) != sha256:
            raise ObjectStoreError(
                f"{first.name} and its changes are damaged: the SHA-256 of {file.name} is {found}, and not "
                f"{sha256}"
            )
        await asyncio.to_thread(put_in_place, whole, path, is_durable=is_durable)


async def _for_each(
    items: Sequence[T], work: Callable[[T], Coroutine[Any, Any, None]], size: Callable[[T], int]
) -> None:
    """Do the work for each item, for small ones at the same time; the first error ends the others."""
    for item in items:
        if size(item) > _SMALL:
            await work(item)
    await for_each([item for item in items if size(item) <= _SMALL], work, _AT_ONCE)


def _manifest_of(store: ObjectStore) -> str:
    return f"{store.address.rstrip('/')}/{MANIFEST}"
