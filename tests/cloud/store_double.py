"""A store in memory, each of whose operations can be the last one of its process, or lose its reply."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, final

from msgspec import structs

from chatrest._cloud.address import parse_address
from chatrest._cloud.lease import LEASE, decode_lease
from chatrest._cloud.store import ObjectInfo, ObjectStore, StoredObject
from chatrest._cloud.store_errors import (
    ObjectChangedError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectStoreError,
)
from chatrest._cloud.transfer import download
from tests.buckets import ADDRESS

T = TypeVar("T")


class CrashError(Exception):
    """The end of the process at an operation."""


class _Object(NamedTuple):
    data: bytes
    etag: str


@final
class StoreDouble(ObjectStore):
    """Operations on a store in memory, which are counted; others can run between two of them.

    At the operation number `crash_at` (from 1) a `CrashError` is raised, after the store has applied it if
    `crash_is_late`; or the reply of this one is lost, if `crash_is_lost`. A double made from another is
    another process at the same store. `names` has the operations that were begun, `applied` those that the
    store has applied.
    """

    def __init__(
        self,
        other: "StoreDouble | None" = None,
        *,
        crash_at: int = 0,
        crash_is_late: bool = False,
        crash_is_lost: bool = False,
    ) -> None:
        super().__init__(None, parse_address(ADDRESS))  # type: ignore[arg-type]
        self.objects: dict[str, _Object] = {} if other is None else other.objects
        self._etags: count[int] = count(1) if other is None else other._etags
        self.names: list[str] = []
        self.applied: list[str] = []
        self._crash_at, self._crash_is_late, self._crash_is_lost = crash_at, crash_is_late, crash_is_lost

    def end_lease(self) -> None:
        """Let the time of a writer's lease be over."""
        if LEASE in self.objects:
            record = decode_lease(self.objects[LEASE].data)
            self._write(LEASE, structs.replace(record, released=True).encoded())

    async def put(self, name: str, data: bytes) -> str | None:
        return await self._apply("put", name, lambda: self._write(name, data))

    async def put_new(self, name: str, data: bytes) -> str | None:
        def effect() -> str:
            stored = self.objects.get(name)
            if stored is not None and stored.data != data:
                raise ObjectExistsError(f"could not write {name}: it exists already")
            return stored.etag if stored is not None else self._write(name, data)

        return await self._apply("put_new", name, effect)

    async def replace(self, name: str, data: bytes, etag: str) -> str | None:
        def effect() -> str:
            stored = self.objects.get(name)
            if stored is None or (stored.etag != etag and stored.data != data):
                raise ObjectChangedError(f"could not replace {name}: it has changed")
            return stored.etag if stored.etag != etag else self._write(name, data)

        return await self._apply("replace", name, effect)

    async def put_file(self, name: str, path: Path, *, sha256: str | None = None) -> ObjectInfo:
        def effect() -> ObjectInfo:
            try:
                data = path.read_bytes()
            except OSError as error:
                raise ObjectStoreError(f"could not read the file {path}: {error.strerror}") from None
            if sha256 not in (None, hashlib.sha256(data).hexdigest()):
                raise ObjectStoreError(f"the file {path} changed while it was sent")
            self._write(name, data)
            return self._facts(name)

        return await self._apply("put_file", name, effect)

    async def get(self, name: str) -> StoredObject:
        return await self._apply(
            "get", name, lambda: StoredObject(self._facts(name), self.objects[name].data)
        )

    async def download(self, name: str, path: Path, **options: Any) -> None:
        async def parts() -> AsyncIterator[bytes]:
            yield data

        data = (await self._apply("download", name, lambda: self._content(name))).data
        await download(parts(), name, path, options.get("sha256"), is_durable=options.get("is_durable", True))

    async def head(self, name: str) -> ObjectInfo:
        return await self._apply("head", name, lambda: self._facts(name))

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        await asyncio.sleep(0)
        for name in sorted(self.objects):
            if not prefix or name.startswith(f"{prefix.rstrip('/')}/"):
                yield self._facts(name)

    async def entries(self) -> tuple[frozenset[str], frozenset[str]]:
        names = [name.partition("/") for name in self.objects]
        folders = frozenset(first for first, slash, _ in names if slash)
        return frozenset(first for first, slash, _ in names if not slash), folders

    async def delete(self, name: str) -> None:
        await self._apply("delete", name, lambda: self.objects.pop(name, None))

    def _write(self, name: str, data: bytes) -> str:
        self.objects[name] = _Object(data, f'"{next(self._etags)}"')
        return self.objects[name].etag

    def _content(self, name: str) -> StoredObject:
        return StoredObject(self._facts(name), self.objects[name].data)

    def _facts(self, name: str) -> ObjectInfo:
        if (stored := self.objects.get(name)) is None:
            raise ObjectNotFoundError(f"could not read {self.address}/{name}: it does not exist")
        return ObjectInfo(name, len(stored.data), stored.etag)

    async def _apply(self, operation: str, name: str, effect: Callable[[], T]) -> T:
        self.names.append(f"{operation} {name}")
        is_crash = len(self.names) == self._crash_at
        await asyncio.sleep(0)
        if is_crash and not (self._crash_is_late or self._crash_is_lost):
            raise CrashError
        result = effect()
        self.applied.append(f"{operation} {name}")
        if is_crash:
            raise (
                ObjectStoreError(f"could not {operation} {name}: no reply")
                if self._crash_is_lost
                else CrashError
            )
        return result


@final
class WriterTime:
    """The clock of a writer, whose sleeps end when the test lets time pass."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._sleeper: asyncio.Task[object] | None = None
        self._wakening = asyncio.Event()
        self._is_asleep = asyncio.Event()
        self._until = 0.0

    def clock(self) -> float:
        """Return the time in seconds."""
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        """Sleep until the test has let so much time pass."""
        self._sleeper, self._until = asyncio.current_task(), self.seconds + seconds
        self._wakening.clear()
        self._is_asleep.set()
        await self._wakening.wait()

    async def advance(self, seconds: float) -> None:
        """Let time pass; return when the sleeper sleeps again or has ended."""
        await self._is_asleep.wait()
        self.seconds += seconds
        if self._until > self.seconds:
            return
        self._is_asleep.clear()
        self._wakening.set()
        assert self._sleeper is not None
        asleep = asyncio.create_task(self._is_asleep.wait())
        await asyncio.wait({asleep, self._sleeper}, return_when=asyncio.FIRST_COMPLETED)
        asleep.cancel()
