"""A store of objects under a prefix: whole writes, conditional writes, and checked transfers of files."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, final

from . import local_files
from .address import StoreAddress, check_name, parse_address
from .opening import RequestLimits, client_of, import_obstore
from .operations import ObjectInfo, StoredObject
from .store_errors import (
    ConditionUnsupportedError,
    ObjectChangedError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectStoreError,
    store_error,
)
from .transfer import PART_SIZE, download, upload

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

T = TypeVar("T")

_CONFLICTS: Final = 3
"""Attempts at a create that the store refuses although there is no object: a delete was under way."""
_DELETIONS: Final = 3
"""Attempts at a deletion without a reply: obstore sends it by POST, which it does not repeat then."""


@final
class ObjectStore:
    """The objects under an address.

    Names are relative to the address's prefix. Every operation raises `ObjectStoreError` with one line, after
    the bounded repetitions of `RequestLimits`; no error, repr or pickle holds a credential. After a
    conditional write whose reply was lost, the stored object is compared, so that a success is not reported
    as a refusal.
    """

    __slots__ = ("_address", "_client", "_folder", "_limits", "_obstore", "_part_size")

    def __init__(self, client: "Client", address: StoreAddress | None, *, part_size: int = PART_SIZE) -> None:
        """Use `open` or `in_memory`; `part_size` is that of multipart uploads and downloads, in bytes."""
        self._obstore = import_obstore()
        self._client = client
        self._address = address
        self._folder = Path(address.prefix) if address is not None and address.scheme == "file" else None
        self._limits = RequestLimits()
        self._part_size = part_size

    @classmethod
    def open(
        cls, address: str, *, limits: RequestLimits | None = None, part_size: int = PART_SIZE
    ) -> "ObjectStore":
        """Return the store at `s3://bucket/prefix`, `gs://…`, `az://container/prefix` or `file:///folder`.

        Credentials, region and endpoint are read from the usual environment variables (`AWS_ACCESS_KEY_ID`,
        `AWS_ENDPOINT_URL`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME` …). Nothing is
        sent. Raises `RequestInvalidError` for a wrong address, and without the extra `cloud`.
        """
        parts = parse_address(address)
        limits = limits or RequestLimits()
        store = cls(client_of(parts, limits), parts, part_size=part_size)
        store._limits = limits
        return store

    @classmethod
    def in_memory(cls, *, part_size: int = PART_SIZE) -> "ObjectStore":
        """Return an empty store in this process's memory, for tests."""
        import_obstore()
        from obstore.store import MemoryStore

        return cls(MemoryStore(), None, part_size=part_size)

    @property
    def address(self) -> str:
        """The address, without credentials."""
        return "memory://" if self._address is None else str(self._address)

    def __repr__(self) -> str:
        return f"ObjectStore({self.address!r})"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[str, RequestLimits, int]]:
        """Pickle the address alone: another process reads the credentials of its own environment."""
        if self._address is None:
            raise TypeError("a store in memory cannot be pickled")
        return _reopened, (self.address, self._limits, self._part_size)

    # ── whole objects ──

    async def put(self, name: str, data: bytes) -> str | None:
        """Write an object, whatever was there; return its e-tag."""
        check_name(name)
        if self._folder is not None:
            await self._call(
                "write", name, lambda: asyncio.to_thread(local_files.replace_file, self._path(name), data)
            )
            return (await self.head(name)).etag
        return await self._put(name, data)

    async def put_new(self, name: str, data: bytes) -> str | None:
        """Create an object; return its e-tag.

        Raises `ObjectExistsError` if there is one with other content: one with exactly `data` counts as
        created, as the reply to the write that made it may have been lost. Writers that compete must
        therefore write different bytes. Raises `ConditionUnsupportedError` if the store refuses conditions.
        """
        check_name(name)
        for _ in range(_CONFLICTS):
            try:
                return await self._create(name, data)
            except (ConditionUnsupportedError, ObjectNotFoundError):
                raise
            except ObjectStoreError as error:
                refusal = error
            if (stored := await self._stored(name)) is not None:
                return self._accepted(stored, data, refusal)
            if not isinstance(refusal, ObjectExistsError):
                break
        raise refusal

    async def replace(self, name: str, data: bytes, etag: str) -> str | None:
        """Replace an object if it is still the one with this e-tag; return the new e-tag.

        Raises `ObjectChangedError` if it has other content or was deleted; an object with exactly `data`
        counts as replaced. Raises `ConditionUnsupportedError` if the store refuses the condition.
        """
        check_name(name)
        try:
            if self._folder is not None:
                return await self._call("replace", name, lambda: self._replace_local(name, data, etag))
            return await self._put(name, data, {self._tag_key: etag})
        except ConditionUnsupportedError:
            raise
        except ObjectStoreError as error:
            refusal = error
        if (stored := await self._stored(name)) is not None:
            return self._accepted(stored, data, refusal)
        if isinstance(refusal, ObjectNotFoundError):
            refusal = ObjectChangedError(f"could not replace {self._target(name)}: it was deleted")
        raise refusal

    async def get(self, name: str) -> StoredObject:
        """Read an object into memory; `ObjectNotFoundError` if there is none."""
        check_name(name)

        async def read() -> StoredObject:
            result = await self._obstore.get_async(self._client, name)
            data = bytes(await result.bytes_async())
            return StoredObject(self._info(name, result.meta, result.attributes), data)

        return await self._call("read", name, read)

    async def get_range(self, name: str, start: int, size: int, *, etag: str | None = None) -> bytes:
        """Read `size` bytes from `start`, fewer at the end of the object.

        Raises `ObjectChangedError` if `etag` is given and the object is no longer that one.
        """
        check_name(name)
        options: dict[str, Any] = {"range": (start, start + size)}
        if etag is not None:
            options["version" if self._tag_key == "version" else "if_match"] = etag

        async def read() -> bytes:
            result = await self._obstore.get_async(self._client, name, options=options)
            return bytes(await result.bytes_async())

        return await self._call("read", name, read) if size > 0 else b""

    async def head(self, name: str) -> ObjectInfo:
        """Return the facts of an object; `ObjectNotFoundError` if there is none."""
        check_name(name)

        async def read() -> ObjectInfo:
            result = await self._obstore.get_async(self._client, name, options={"head": True})
            return self._info(name, result.meta, result.attributes)

        return await self._call("read", name, read)

    async def delete(self, name: str) -> None:
        """Delete an object; one that does not exist is no error."""
        check_name(name)
        for _ in range(_DELETIONS):
            try:
                await self._call("delete", name, lambda: self._obstore.delete_async(self._client, name))
            except ObjectNotFoundError:
                return
            except ObjectStoreError as error:
                failure = error
                if error.status is not None:
                    break
            else:
                return
        raise failure

    async def copy(self, name: str, target: str) -> None:
        """Copy an object to another name, within the store and without its bytes coming here.

        What was at `target` is replaced in one step. Raises `ObjectNotFoundError` if there is no such object.
        """
        check_name(name)
        check_name(target, "target")
        await self._call("copy", name, lambda: self._obstore.copy_async(self._client, name, target))

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Iterate over the objects in the folder `prefix` and below, in any order; over all without it."""
        if prefix := prefix.rstrip("/"):
            check_name(prefix, "prefix")
        stream = self._obstore.list(self._client, prefix or None, chunk_size=1000)
        while chunk := await self._call("list", prefix, lambda: _next_chunk(stream)):
            for meta in chunk:
                yield self._info(meta["path"], meta, {})

    # ── files ──

    async def put_file(
        self, name: str, path: Path, *, sha256: str | None = None, size: int | None = None
    ) -> ObjectInfo:
        """Write a file as an object that appears whole or not at all; return its facts.

        `sha256` is the file's hash if it is known, else it is computed first. With `size`, both are about the
        first so many bytes of a file that may grow meanwhile. At most some parts are in memory. A file with
        another hash than that, an error, or a cancellation ends the upload, and nothing is visible.
        Afterwards size and recorded hash are read back (from a folder, the content); a difference is an
        `ObjectStoreError`. The bytes of each request are checked by the store itself, as its signature covers
        them.
        """
        check_name(name)
        put, known, records_hash = self._put_function(name), (sha256, size), self._folder is None
        sha256, size = await self._call(
            "write",
            name,
            lambda: upload(put, path, known[0], self._part_size, records_hash=records_hash, size=known[1]),
        )
        if self._folder is not None:
            await asyncio.to_thread(local_files.sync_file, self._path(name))
        info = await self.head(name)
        stored_hash = info.sha256 or await self.stored_sha256(name)
        if info.size != size or stored_hash != sha256:
            raise ObjectStoreError(
                f"could not write {self._target(name)}: {size} bytes with SHA-256 {sha256} were sent, and "
                f"the store has {info.size} bytes with {stored_hash}"
            )
        return info

    async def download(
        self,
        name: str,
        path: Path,
        *,
        sha256: str | None = None,
        size: int | None = None,
        is_durable: bool = True,
    ) -> None:
        """Write an object to a file, which appears whole or not at all.

        The hash is checked against `sha256`, or else against the one recorded by `put_file`. `size` is the
        object's, if it is known: one of a single part then costs one request, and nothing is checked without
        `sha256`. The file survives a loss of power if it `is_durable`. Raises `ObjectChangedError` if the
        object changes meanwhile, and OSError if the file cannot be written.
        """
        if size is not None and size <= self._part_size:
            await download(self._single_part(name), name, path, sha256, is_durable=is_durable)
            return
        info = await self.head(name)
        expected = sha256 if size is not None else sha256 or info.sha256
        await download(self._parts(info), name, path, expected, is_durable=is_durable)

    async def stored_sha256(self, name: str) -> str:
        """Read an object and return the hash of its content; at most one part is in memory."""
        digest = hashlib.sha256()
        async for part in self._parts(await self.head(name)):
            digest.update(part)
        return digest.hexdigest()

    async def _parts(self, info: ObjectInfo) -> AsyncIterator[bytes]:
        for start in range(0, info.size, self._part_size):
            yield await self.get_range(info.name, start, self._part_size, etag=info.etag)

    async def _single_part(self, name: str) -> AsyncIterator[bytes]:
        yield (await self.get(name)).data

    # ── requests ──

    async def _create(self, name: str, data: bytes) -> str | None:
        if self._folder is None:
            return await self._put(name, data, "create")
        try:
            await asyncio.to_thread(local_files.create_file, self._path(name), data)
        except FileExistsError:
            failure: ObjectStoreError = ObjectExistsError(
                f"could not write {self._target(name)}: it exists already"
            )
        except OSError as error:
            failure = store_error(error, "write", self._target(name))
        else:
            return (await self.head(name)).etag
        raise failure

    def _put_function(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Return obstore's `put` for an object; a closure, as the repr of obstore's client may fail."""

        async def put(data: Any, **options: Any) -> Any:
            return await self._obstore.put_async(self._client, name, data, **options)

        return put

    async def _put(self, name: str, data: bytes, mode: Any = "overwrite") -> str | None:
        put = self._put_function(name)
        result = await self._call("write", name, lambda: put(data, mode=mode, use_multipart=False))
        etag: str | None = result[self._tag_key]
        return etag

    async def _replace_local(self, name: str, data: bytes, etag: str) -> str | None:
        def exchange() -> str | None:
            assert self._folder is not None
            with local_files.locked_folder(self._folder):
                if self._obstore.head(self._client, name)["e_tag"] != etag:
                    raise ObjectChangedError(f"could not replace {self._target(name)}: it has changed")
                local_files.replace_file(self._path(name), data)
                current: str | None = self._obstore.head(self._client, name)["e_tag"]
                return current

        return await asyncio.to_thread(exchange)

    async def _stored(self, name: str) -> StoredObject | None:
        """Return what is stored after a refused write; None if that is nothing, or cannot be read."""
        try:
            return await self.get(name)
        except ObjectStoreError:
            return None

    @staticmethod
    def _accepted(stored: StoredObject, data: bytes, refusal: ObjectStoreError) -> str | None:
        """Return the e-tag if the refused write was applied after all, else raise the refusal."""
        if stored.data != data:
            raise refusal
        return stored.info.etag

    async def _call(self, action: str, name: str, request: Callable[[], Awaitable[T]]) -> T:
        """Await a request, and raise its failure as an `ObjectStoreError`.

        The error is made within the handler and raised behind it, so that no context keeps obstore's text.
        """
        try:
            return await request()
        except ObjectStoreError:
            raise
        except (self._obstore.exceptions.BaseError, OSError, ValueError, NotImplementedError) as error:
            failure = store_error(error, action, self._target(name))
        raise failure

    @property
    def _tag_key(self) -> str:
        """The member of obstore's results that a conditional write compares; for `gs`, the version."""
        return "version" if self._address is not None and self._address.scheme == "gs" else "e_tag"

    def _info(self, name: str, meta: Any, attributes: Any) -> ObjectInfo:
        etag, sha256 = meta[self._tag_key], attributes.get("sha256")
        return ObjectInfo(name, meta["size"], etag, meta["last_modified"], sha256)

    def _target(self, name: str) -> str:
        return f"{self.address.rstrip('/')}/{name}" if self._address else f"{self.address}{name}"

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / name


def _reopened(address: str, limits: RequestLimits, part_size: int) -> ObjectStore:
    return ObjectStore.open(address, limits=limits, part_size=part_size)


async def _next_chunk(stream: Any) -> Any:
    try:
        return await anext(stream)
    except StopAsyncIteration:
        return []
