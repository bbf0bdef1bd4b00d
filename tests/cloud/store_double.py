"""A store in memory, each of whose operations can be the last one of its process, or lose its reply."""

import asyncio
from typing import Any, NamedTuple

import obstore
from msgspec import structs

from chatrest._cloud.lease import LEASE, decode_lease
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import ObjectStoreError
from tests.support.buckets import memory_store


class CrashError(Exception):
    """The end of the process at an operation."""


class StoredData(NamedTuple):
    data: bytes
    etag: str


def _counted(operation: str) -> Any:
    async def counted(self: "StoreDouble", name: str, *args: Any, **options: Any) -> Any:
        self.names.append(f"{operation} {name}")
        is_crash = len(self.names) == self.crash_at
        await asyncio.sleep(0)
        if self.is_down:
            raise ObjectStoreError("the store is down")
        if is_crash and not (self.crash_is_late or self.crash_is_lost):
            raise CrashError
        result = await getattr(self.inner, operation)(name, *args, **options)
        self.applied.append(f"{operation} {name}")
        if is_crash and self.crash_is_lost:
            raise ObjectStoreError(f"could not {operation} {name}: no reply")
        if is_crash:
            raise CrashError
        return result

    return counted


class StoreDouble(ObjectStore):
    """Operations on a store in memory, which are counted; others can run between two of them.

    At the operation number `crash_at` (from 1) a `CrashError` is raised, after the store has applied it if
    `crash_is_late`; or the reply of this one is lost, if `crash_is_lost`. A double made from another is
    another process at the same store. `names` has the operations that were begun, `applied` those that the
    store has applied. While it `is_down` every operation fails.
    """

    is_down = False

    put_new, replace, put_file, get, head, download, delete = map(
        _counted, ("put_new", "replace", "put_file", "get", "head", "download", "delete")
    )

    def __init__(
        self,
        other: "StoreDouble | None" = None,
        *,
        crash_at: int = 0,
        crash_is_late: bool = False,
        crash_is_lost: bool = False,
    ) -> None:
        self.inner = memory_store() if other is None else other.inner
        super().__init__(self.inner._client, self.inner._address)
        self.names: list[str] = []
        self.applied: list[str] = []
        self.crash_at, self.crash_is_late, self.crash_is_lost = crash_at, crash_is_late, crash_is_lost

    @property
    def objects(self) -> dict[str, StoredData]:
        listed: list[Any] = obstore.list(self._client).collect()  # type: ignore[assignment]
        return {
            each["path"]: StoredData(bytes(obstore.get(self._client, each["path"]).bytes()), each["e_tag"])
            for each in sorted(listed, key=lambda each: str(each["path"]))
        }

    def end_lease(self) -> None:
        if (stored := self.objects.get(LEASE)) is not None:
            record = structs.replace(decode_lease(stored.data), released=True)
            obstore.put(self._client, LEASE, record.encoded())


class WriterTime:
    """The clock of a writer, whose sleeps end when the test lets time pass."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._sleeper: asyncio.Task[object] | None = None
        self._wakening = asyncio.Event()
        self._is_asleep = asyncio.Event()
        self._until = 0.0

    def clock(self) -> float:
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
