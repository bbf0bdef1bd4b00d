"""A store in memory whose clock a test sets, and whose process dies at a chosen operation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, final

from msgspec import structs

from chatrest.cloud.store import ObjectInfo, ObjectStore, StoredObject

T = TypeVar("T")


class CrashError(Exception):
    """The end of the process at an operation."""


@final
class StoreClock:
    """The clock of a store."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0
        self.writes: dict[str, float] = {}

    def info(self, info: ObjectInfo) -> ObjectInfo:
        """Return the facts of an object with the time of its write by this clock."""
        seconds = self.writes.get(info.name, self.seconds)  # a write that has not returned yet is new
        return structs.replace(info, modified=datetime.fromtimestamp(seconds, UTC))


@final
class StoreDouble(ObjectStore):
    """Operations on a store in memory, which are counted.

    At the operation number `crash_at` (from 1) a `CrashError` is raised, after the store has applied it if
    `crash_is_late`. A double made from another is another process at the same store. `names` has the
    operations that were begun, `applied` those that the store has applied.
    """

    def __init__(self, other: "StoreDouble | None" = None, *, crash_at: int = 0, crash_is_late: bool = False):
        self.inner = ObjectStore.in_memory() if other is None else other.inner
        super().__init__(self.inner._client, None)
        self.clock = StoreClock() if other is None else other.clock
        self.names: list[str] = []
        self.applied: list[str] = []
        self._crash_at = crash_at
        self._crash_is_late = crash_is_late

    async def put(self, name: str, data: bytes) -> str | None:
        return await self._write("put", name, self.inner.put(name, data))

    async def put_new(self, name: str, data: bytes) -> str | None:
        return await self._write("put_new", name, self.inner.put_new(name, data))

    async def replace(self, name: str, data: bytes, etag: str) -> str | None:
        return await self._write("replace", name, self.inner.replace(name, data, etag))

    async def put_file(self, name: str, path: Path, *, sha256: str | None = None) -> ObjectInfo:
        effect = self.inner.put_file(name, path, sha256=sha256)
        return self.clock.info(await self._write("put_file", name, effect))

    async def get(self, name: str) -> StoredObject:
        stored = await self._apply("get", name, self.inner.get(name))
        return structs.replace(stored, info=self.clock.info(stored.info))

    async def download(self, name: str, path: Path, **options: Any) -> None:
        await self._apply("download", name, self.inner.download(name, path, **options))

    async def head(self, name: str) -> ObjectInfo:
        return self.clock.info(await self._apply("head", name, self.inner.head(name)))

    async def stored_sha256(self, name: str) -> str:
        return await self._apply("stored_sha256", name, self.inner.stored_sha256(name))

    def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        return self.inner.list(prefix)

    async def delete(self, name: str) -> None:
        await self._apply("delete", name, self.inner.delete(name))

    async def _write(self, operation: str, name: str, effect: Awaitable[T]) -> T:
        result = await self._apply(operation, name, effect)
        self.clock.writes[name] = self.clock.seconds
        return result

    async def _apply(self, operation: str, name: str, effect: Awaitable[T]) -> T:
        self.names.append(f"{operation} {name}")
        is_crash = len(self.names) == self._crash_at
        if is_crash and not self._crash_is_late:
            effect.close()  # type: ignore[attr-defined]
            raise CrashError
        result = await effect
        self.applied.append(f"{operation} {name}")
        if is_crash:
            self.clock.writes.setdefault(name, self.clock.seconds)
            raise CrashError
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
