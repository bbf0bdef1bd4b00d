"""A store of objects under a prefix: whole writes, conditional writes, and checked transfers of files."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from msgspec import Struct

from .address import RequestLimits, StoreAddress, check_name, client_of, import_obstore, parse_address
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
_REACHABLE_SECONDS: Final = 20.0


class ObjectInfo(Struct, frozen=True):
    name: str
    size: int
    etag: str | None
    """Changes with the content; None from a store that has none."""


class StoredObject(Struct, frozen=True):
    info: ObjectInfo
    data: bytes


class ObjectStore:
    """The objects under an address.

    Names are relative to the address's prefix. Every operation raises `ObjectStoreError` with one line, after
    the bounded repetitions of `RequestLimits`; no error and no repr holds a credential. After a
    conditional write whose reply was lost, the stored object is compared, so that a success is not reported
    as a refusal.
    """

    __slots__ = ("_address", "_client", "_limits", "_obstore", "_part_size")

    def __init__(
        self,
        client: "Client",
        address: StoreAddress,
        limits: RequestLimits = RequestLimits(),  # noqa: B008, an immutable value
        part_size: int = PART_SIZE,
    ) -> None:
        """Use `open`; `part_size` is that of multipart uploads and downloads, in bytes."""
        self._obstore = import_obstore()
        self._client = client
        self._address = address
        self._limits = limits
        self._part_size = part_size

    @classmethod
    def open(cls, address: str) -> "ObjectStore":
        """Return the store at `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.

        Credentials, region and endpoint are read from the usual environment variables (`AWS_ACCESS_KEY_ID`,
        `AWS_ENDPOINT_URL`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME` …). Nothing is
        sent. Raises `RequestInvalidError` for a wrong address, and without the extra `cloud`.
        """
        parts = parse_address(address)
        return ObjectStore(client_of(parts, RequestLimits()), parts)

    @property
    def address(self) -> str:
        return str(self._address)

    def __repr__(self) -> str:
        return f"ObjectStore({self.address!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a store is not pickled, as its client holds credentials: open its address elsewhere")

    async def check_reachable(self, seconds: float = _REACHABLE_SECONDS) -> None:
        """Ask for any object; raise `ObjectStoreError` where there is no reply within `seconds`.

        The limits of other requests are those of large transfers over slow connections: an endpoint that does
        not answer would be noticed after minutes. Any reply is enough here: later ones show more.
        """
        try:
            async with asyncio.timeout(seconds):
                await self.head("manifest.json")
        except TimeoutError:
            raise ObjectStoreError(
                f"{self.address} did not answer within {seconds:g} s: check the network, and the endpoint in "
                "the environment variables"
            ) from None
        except ObjectStoreError as error:
            if error.status is None and not isinstance(error, ObjectNotFoundError):
                raise

    # ── whole objects ──

    async def put_new(self, name: str, data: bytes) -> str | None:
        """Create an object; return its e-tag.

        Raises `ObjectExistsError` if there is one with other content: one with exactly `data` counts as
        created, as the reply to the write that made it may have been lost. Writers that compete must
        therefore write different bytes. Raises `ConditionUnsupportedError` if the store refuses conditions.
        """
        for _ in range(_CONFLICTS):
            try:
                return await self._put("write", name, data, "create")
            except (ConditionUnsupportedError, ObjectNotFoundError):
                raise
            except ObjectStoreError as error:
                refusal = error
            if (info := await self._info_if_applied(name, data, refusal)) is not None:
                return info.etag
            if not isinstance(refusal, ObjectExistsError):
                break
        raise refusal

    async def replace(self, name: str, data: bytes, etag: str) -> str | None:
        """Replace an object if it is still the one with this e-tag; return the new e-tag.

        Raises `ObjectChangedError` if it has other content or was deleted; an object with exactly `data`
        counts as replaced. Raises `ConditionUnsupportedError` if the store refuses the condition.
        """
        try:
            return await self._put("replace", name, data, {self._tag_key: etag})
        except ConditionUnsupportedError:
            raise
        except ObjectStoreError as error:
            refusal = error
        if (info := await self._info_if_applied(name, data, refusal)) is not None:
            return info.etag
        if isinstance(refusal, ObjectNotFoundError):
            refusal = ObjectChangedError(f"could not replace {self._target(name)}: it was deleted")
        raise refusal

    async def get(self, name: str) -> StoredObject:
        """Read an object into memory; `ObjectNotFoundError` if there is none."""
        check_name(name)

        async def read() -> StoredObject:
            result = await self._obstore.get_async(self._client, name)
            data = bytes(await result.bytes_async())
            return StoredObject(self._info(name, result.meta), data)

        return await self._call("read", name, read)

    async def head(self, name: str) -> ObjectInfo:
        """Return an object's facts without its content; `ObjectNotFoundError` if there is none."""
        check_name(name)
        read = lambda: self._obstore.get_async(self._client, name, options={"head": True})  # noqa: E731
        return self._info(name, (await self._call("read", name, read)).meta)

    async def delete(self, name: str) -> None:
        """Delete an object; one that does not exist is no error."""
        check_name(name)
        with suppress(ObjectNotFoundError):
            await self._call("delete", name, lambda: self._obstore.delete_async(self._client, name))

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Iterate over the objects in the folder `prefix` and below, in any order; over all without it.

        The whole list is in memory before the first is returned.
        """
        if prefix := prefix.rstrip("/"):
            check_name(prefix, "prefix")

        async def read() -> Any:
            return await self._obstore.list(self._client, prefix or None, chunk_size=1000).collect_async()

        for meta in await self._call("list", prefix, read):
            yield self._info(meta["path"], meta)

    async def entries(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of the objects, and of the folders, that are directly in the prefix."""
        listed = await self._call("list", "", lambda: self._obstore.list_with_delimiter_async(self._client))
        folders = (each.rstrip("/").rpartition("/")[2] for each in listed["common_prefixes"])
        return frozenset(each["path"] for each in listed["objects"] if each["size"]), frozenset(folders)

    # ── files ──

    async def put_file(self, name: str, path: Path, *, sha256: str) -> None:
        """Write a file as an object that appears completely or not at all.

        At most some parts are in memory. A file with another hash, an error, or a cancellation ends the
        upload, and nothing is visible; only a process that is killed leaves the parts of one, which the store
        does not list as an object. Afterwards the size is read back; a difference is an `ObjectStoreError`.
        The bytes of each request are checked by the store itself, as its signature covers them.
        """
        check_name(name)
        send = partial(upload, self._put_function(name), path, sha256, self._part_size)
        sent = await self._call("write", name, send)
        info = await self.head(name)
        if info.size != sent:
            raise ObjectStoreError(
                f"could not write {self._target(name)}: {sent:,} bytes were sent, and the store has "
                f"{info.size:,}"
            )

    async def download(
        self,
        name: str,
        path: Path,
        *,
        sha256: str | None = None,
        size: int | None = None,
        is_durable: bool = True,
    ) -> None:
        """Write an object to a file, which appears completely or not at all.

        The hash is checked against `sha256`, if that is given. `size` is the object's, if it is known: one of
        a single part then costs one request. The file survives a loss of power if it `is_durable`. Raises
        `ObjectChangedError` if the object changes meanwhile, and OSError if the file cannot be written.
        """
        await download(self._parts(name, size), name, path, sha256, is_durable=is_durable)

    async def _parts(self, name: str, size: int | None = None) -> AsyncIterator[bytes]:
        """Read an object in parts; `ObjectChangedError` where it is no longer the same."""
        if size is not None and size <= self._part_size:
            yield (await self.get(name)).data
            return
        info, options = await self.head(name), dict[str, Any]()
        if info.etag is not None:
            options["version" if self._tag_key == "version" else "if_match"] = info.etag

        async def read(start: int) -> bytes:
            ranged = options | {"range": (start, min(start + self._part_size, info.size))}
            result = await self._obstore.get_async(self._client, info.name, options=ranged)
            return bytes(await result.bytes_async())

        for start in range(0, info.size, self._part_size):
            yield await self._call("read", info.name, partial(read, start))

    # ── requests ──

    def _put_function(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Return obstore's `put` for an object; a closure, as the repr of obstore's client may fail."""

        async def put(data: Any, **options: Any) -> Any:
            return await self._obstore.put_async(self._client, name, data, **options)

        return put

    async def _put(self, verb: str, name: str, data: bytes, mode: Any) -> str | None:
        """Write an object on a condition, which is the `mode` of obstore's `put`; return its e-tag."""
        check_name(name)
        put = self._put_function(name)
        request = partial(put, data, mode=mode, use_multipart=False)
        result = await self._call(verb, name, request, is_once=True)
        etag: str | None = result[self._tag_key]
        return etag

    async def _info_if_applied(self, name: str, data: bytes, refusal: ObjectStoreError) -> ObjectInfo | None:
        """Return the facts of what is stored, if the refused write was applied after all.

        None if nothing is there, or it cannot be read. Raises the refusal for other content.
        """
        try:
            stored = await self.get(name)
        except ObjectStoreError:
            return None
        if stored.data != data:
            raise refusal
        return stored.info

    async def _call(
        self, verb: str, name: str, request: Callable[[], Awaitable[T]], *, is_once: bool = False
    ) -> T:
        """Await a request, and raise its failure as an `ObjectStoreError`; repeat it unless it `is_once`.

        obstore itself repeats every request after 408, 429, 5xx and a connection that ends before the reply
        begins, and reads on where the content of an object is cut off. All other replies that are cut off it
        takes as errors: these are repeated here. Reading and listing change nothing, what is gone counts as
        deleted, and the same bytes go under the same name; of a conditional write, which may have arrived,
        what is stored is compared instead.

        The error is made within the handler and raised after it, so that no context keeps obstore's text.
        """
        for number in count():
            try:
                return await request()
            except ObjectStoreError:
                raise
            except (self._obstore.exceptions.BaseError, OSError, ValueError, NotImplementedError) as error:
                failure = store_error(error, verb, self._target(name))
            if is_once or not failure.is_passing or number >= self._limits.retries:
                break
            await asyncio.sleep(self._limits.wait(number))
        raise failure

    @property
    def _tag_key(self) -> str:
        """The member of obstore's results that a conditional write compares; for `gs`, the version."""
        return "version" if self._address.scheme == "gs" else "e_tag"

    def _info(self, name: str, meta: Any) -> ObjectInfo:
        return ObjectInfo(name, meta["size"], meta[self._tag_key])

    def _target(self, name: str) -> str:
        return f"{self._address}/{name}"
