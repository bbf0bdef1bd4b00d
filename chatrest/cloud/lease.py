"""One writer at a time in a store: a lease that is renewed while it is held, and taken over after its end.

Its rules:
- The lease is the object `writer.json`. It is created and replaced by conditional writes only, so that of two
  writers that try, one succeeds. A store that does not keep their conditions is noticed by a test of it.
- It ends `seconds` after its last renewal, by the store's clock: those of the writers' machines do not
  matter. A successor reads that clock from an object that it has just written itself.
- The holder counts from the moment before it sent its last successful renewal, by its own steady clock: it
  stops before the lease can pass on, even if it cannot reach the store.
- A holder whose conditional write is refused, because the record is another writer's, has lost the lease.
  One that could not renew it in time may not write until `confirm()` succeeds: no one has taken it over then.
- It is given back by a record that says so. Nothing is deleted, as a deletion has no condition.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from secrets import token_hex
from types import TracebackType
from typing import Final, Self, TypeAlias, final

import msgspec
from msgspec import Struct, structs

from ..errors import RequestInvalidError
from .store import ObjectStore
from .store_errors import (
    ConditionUnsupportedError,
    LeaseHeldError,
    LeaseLostError,
    ObjectChangedError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectStoreError,
)

Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[object]]

LEASE: Final = "writer.json"
"""The name of the object."""
_RENEWALS: Final = 3
"""Renewals that are tried in the time of a lease."""
_SHORTEST: Final = 5.0
_LONGEST: Final = 3600.0
"""Seconds; a damaged record counts as one of this length."""
_GRANULARITY: Final = 1.0
"""Seconds: stores give the time of a write in whole seconds."""
_CONTENDERS: Final = 3
"""Attempts while other writers take or give back the lease at the same moment."""


@final
class LeaseRecord(Struct, frozen=True):
    """The writer that holds a lease: the content of its object."""

    owner: str
    """A random id."""
    generation: int
    """Increases with each writer."""
    renewal: int
    """Increases with each renewal, so that the e-tag differs."""
    seconds: float
    released: bool = False

    def encoded(self) -> bytes:
        return msgspec.json.encode(self)

    def seconds_left(self, modified: datetime, now: datetime) -> float:
        """Return the seconds until the lease may be taken over, 0 if it may be now.

        `modified` is the time of its last write and `now` the present, both by the store's clock.
        """
        if self.released:
            return 0.0
        return max(0.0, self.seconds + _GRANULARITY - (now - modified).total_seconds())


DAMAGED: Final = LeaseRecord(owner="", generation=1, renewal=0, seconds=_LONGEST)


def decode_lease(data: bytes) -> LeaseRecord:
    """Return the record in an object's content; `DAMAGED` if it has none."""
    try:
        record = msgspec.json.decode(data, type=LeaseRecord)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return DAMAGED
    return record if 0 < record.seconds <= _LONGEST and record.generation >= 1 else DAMAGED


@final
class Lease:
    """The right to write to a store, held in `async with Lease(store) as lease:`.

    Entering raises `LeaseHeldError` if another writer holds it; leaving gives it back. Meanwhile a task
    renews it. Call `check()` before each write, and `confirm()` before one that counts.
    """

    def __init__(
        self,
        store: ObjectStore,
        *,
        seconds: float = 30.0,
        owner: str | None = None,
        on_wait: Callable[[float], object] | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        dice: Clock = random.random,
    ) -> None:
        """`seconds` (5 to 3600) is the time after which a crashed writer's lease can be taken over.

        `owner` is an id that no other living writer has, else a random one: a lease that this owner has left
        behind is taken over at once. With `on_wait`, which is called with the seconds, another writer's lease
        is waited for once: it ends if that writer was killed. `dice` spreads the renewals.
        """
        if not _SHORTEST <= seconds <= _LONGEST:
            raise RequestInvalidError(f"seconds = {seconds!r}: allowed is {_SHORTEST} to {_LONGEST}")
        self._store = store
        self._record = LeaseRecord(owner or token_hex(16), 1, 0, seconds)
        """The one that this writer wrote last, with its e-tag."""
        self._etag: str | None = None
        self._deviation = "was not asked yet"
        """The store's behaviour that makes conditional writes useless; empty if they work."""
        self._clock, self._sleep, self._dice = clock, sleep, dice
        self._confirmed = clock()
        self._on_wait = on_wait
        self._loss = ""
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._acquire()
        except LeaseHeldError as error:
            if self._on_wait is None:
                raise
            self._on_wait(error.seconds)
            await self._sleep(error.seconds)
            await self._acquire()
        self._task = asyncio.create_task(self._keep(), name="chatrest lease")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        if not self._loss:
            with suppress(ObjectStoreError):
                await self._write_own(released=True)
            self._loss = "was given back"

    @property
    def is_exclusive(self) -> bool:
        """False if the store does not keep the conditions of writes: two writers may then both hold it."""
        return not self._deviation

    @property
    def warning(self) -> str:
        """One sentence that says what cannot be promised; empty if the lease is exclusive."""
        if not self._deviation:
            return ""
        return (
            f"{self._store.address} {self._deviation}: it cannot be promised that only one writer is at "
            "work, so start no second one"
        )

    @property
    def generation(self) -> int:
        """The number of this holder; that of each successor is higher."""
        return self._record.generation

    @property
    def is_lost(self) -> bool:
        """True if the lease has passed to another writer, or was given back."""
        return bool(self._loss)

    def check(self) -> None:
        """Raise `LeaseLostError` if the lease has passed to another writer, or has run out. Sends nothing."""
        held = self._clock() - self._confirmed
        if self._loss:
            raise self._lost()
        if held >= self._record.seconds:
            raise LeaseLostError(
                f"the lease {self._target} has run out, as it could not be renewed for {held:.0f} s"
            )

    async def confirm(self) -> None:
        """Renew the lease now, also one that has run out and that no one has taken over.

        Raises `LeaseLostError` if it is another writer's, and `ObjectStoreError` if the store fails, in which
        case the lease is held as long as `check()` says so.
        """
        async with self._lock:
            if self._loss:
                raise self._lost()
            sent = self._clock()
            await self._write_own()
            self._confirmed = sent

    # ── taking it ──

    async def _acquire(self) -> None:
        self._deviation, now = await _probe(self._store, f"writer-probe-{self._record.owner}")
        for _ in range(_CONTENDERS):
            with suppress(ObjectChangedError, ObjectExistsError):
                return await self._take(now)
        raise LeaseHeldError(f"other writers took the lease {self._target} at the same moment")

    async def _take(self, now: datetime) -> None:
        sent, record, self._etag = self._clock(), self._record, None
        with suppress(ObjectNotFoundError):
            stored = await self._store.get(LEASE)
            current = decode_lease(stored.data)
            left = current.seconds_left(stored.info.modified, now)
            if left and current.owner != record.owner:
                error = LeaseHeldError(
                    f"another writer holds the lease {self._target}; it ends in {left:.0f} s unless it is "
                    "renewed"
                )
                error.seconds = left
                raise error
            self._etag = stored.info.etag
            record = structs.replace(record, generation=current.generation + 1)
        await self._write(record)
        self._confirmed = sent

    # ── keeping it ──

    async def _keep(self) -> None:
        interval = self._record.seconds / _RENEWALS
        while not self._loss:
            await self._sleep(interval * (0.8 + 0.2 * self._dice()))
            with suppress(ObjectStoreError, TimeoutError):  # check() counts the time since the last success
                async with asyncio.timeout(interval):  # a request that hangs is not waited for
                    await self.confirm()

    async def _write_own(self, *, released: bool = False) -> None:
        """Write the next record in the place of our own last one; `LeaseLostError` if that is not there."""
        for _ in range(2):
            record = structs.replace(self._record, renewal=self._record.renewal + 1, released=released)
            try:
                return await self._write(record)
            except (ObjectChangedError, ObjectExistsError):
                pass
            try:  # the refused record may be our own, whose reply was lost
                stored = await self._store.get(LEASE)
            except ObjectNotFoundError:
                break
            current = decode_lease(stored.data)
            if (current.owner, current.generation) != (record.owner, record.generation):
                break
            self._record, self._etag = record, stored.info.etag
        raise self._lost()

    async def _write(self, record: LeaseRecord) -> None:
        """Write a record on the condition that the last one is still there, if the store keeps conditions."""
        data = record.encoded()
        if self._deviation:
            await self._refuse_other_owner(record)
            etag = await self._store.put(LEASE, data)
        elif self._etag is None:
            etag = await self._store.put_new(LEASE, data)
        else:
            etag = await self._store.replace(LEASE, data, self._etag)
        self._record, self._etag = record, etag

    async def _refuse_other_owner(self, record: LeaseRecord) -> None:
        with suppress(ObjectNotFoundError):
            current = decode_lease((await self._store.get(LEASE)).data)
            if current.owner != record.owner and current.generation >= record.generation:
                raise ObjectChangedError(f"the lease {self._target} is another writer's")

    def _lost(self) -> LeaseLostError:
        self._loss = self._loss or "has passed to another writer"
        return LeaseLostError(f"the lease {self._target} {self._loss}")

    @property
    def _target(self) -> str:
        return f"{self._store.address.rstrip('/')}/{LEASE}"


# ── the test of a store ──


async def _probe(store: ObjectStore, name: str) -> tuple[str, datetime]:
    """Create an object of one's own twice, and replace it twice with the same e-tag.

    Both second attempts must be refused. Returns what the store does instead, empty if nothing, and the time
    by its clock. Leaves nothing. Raises `ObjectStoreError` if the store cannot be written at all.
    """
    try:
        try:
            deviation, etag = "", await _create(store, name)
        except ConditionUnsupportedError:
            deviation, etag = "refuses conditional writes", await store.put(name, b"1")
        now = (await store.head(name)).modified
        deviation = deviation or await _deviation(store, name, etag)
    except ObjectStoreError as error:
        if error.status is None:  # without a reply, the object may be there
            with suppress(ObjectStoreError):
                await store.delete(name)
        raise
    await store.delete(name)
    return deviation, now


async def _create(store: ObjectStore, name: str) -> str | None:
    try:
        return await store.put_new(name, b"1")
    except ObjectExistsError:  # the same owner was killed here before
        await store.delete(name)
    return await store.put_new(name, b"1")


async def _deviation(store: ObjectStore, name: str, etag: str | None) -> str:
    if etag is None:
        return "gives no e-tags"
    try:
        await store.put_new(name, b"2")
    except ObjectExistsError:
        try:
            await store.replace(name, b"3", etag)
            await store.replace(name, b"4", etag)
        except ObjectChangedError:
            return ""
        except ConditionUnsupportedError:
            return "refuses conditional writes"
    return "ignores the conditions of writes"
