"""One writer at a time in a store: a lease that is renewed while it is held, and taken over after its end.

It only saves double work: what readers see is safe by the one conditional write of the manifest. Its rules:
- The lease is the object `writer.json`. It is created and replaced by conditional writes only, so that of two
  writers that try, one succeeds. A store that does not keep their conditions is refused: it is found out on
  the lease itself, by two writes that must fail.
- It ends `seconds` after its last renewal. No clocks are compared: a successor takes it over when it has
  itself seen the same record for so long.
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
from secrets import token_hex
from typing import Final, Self, TypeAlias

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
_RENEWALS: Final = 3
_SECONDS: Final = 30.0
_MAX: Final = 3600.0
_REFUSALS: Final = (ObjectChangedError, ObjectExistsError)


class LeaseRecord(Struct, frozen=True):
    """The writer that holds a lease: the content of its object."""

    owner: str
    generation: int
    renewal: int
    """Increases with each renewal, so that the e-tag differs."""
    seconds: float
    released: bool = False

    def encoded(self) -> bytes:
        return msgspec.json.encode(self)


DAMAGED: Final = LeaseRecord(owner="", generation=1, renewal=0, seconds=_SECONDS)


def decode_lease(data: bytes) -> LeaseRecord:
    try:
        record = msgspec.json.decode(data, type=LeaseRecord)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return DAMAGED
    return record if 0 < record.seconds <= _MAX and record.generation >= 1 else DAMAGED


class Lease:
    """The right to write to a store, held in `async with Lease(store) as lease:`.

    Entering waits until a lease that is not renewed has ended. It raises `LeaseHeldError` where another
    writer is at work, and `RequestInvalidError` for a store without conditional writes. Leaving gives it
    back. Meanwhile a task renews it. Call `check()` before each write, and `confirm()` before one that
    counts.
    """

    def __init__(
        self,
        store: ObjectStore,
        *,
        seconds: float = _SECONDS,
        owner: str | None = None,
        on_wait: Callable[[float], object] = lambda _: None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        dice: Clock = random.random,
    ) -> None:
        """`seconds` is the time after which a crashed writer's lease can be taken over.

        `owner` is an id that no other living writer has, else a random one: a lease that this owner has left
        behind is taken over at once. `on_wait` is called with the seconds before another writer's lease is
        watched. `dice` spreads the renewals.
        """
        self._store = store
        self._record = LeaseRecord(owner or token_hex(16), 1, 0, seconds)
        """The one that this writer wrote last, with its e-tag."""
        self._etag: str | None = None
        self._clock, self._sleep, self._dice = clock, sleep, dice
        self._confirmed = clock()
        self._on_wait = on_wait
        self._loss = ""
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._acquire()
            deviation = await self._deviation()
        except ConditionUnsupportedError:
            deviation = "refuses conditional writes"
        if deviation:
            with suppress(ObjectStoreError):
                await self._store.delete(LEASE)  # nobody can hold one here
            raise RequestInvalidError(
                f"{self._store.address} {deviation}, so that two writers could destroy each other's files: "
                "expected a store with conditional writes (If-Match and If-None-Match), as S3, GCS, "
                "Azure, MinIO and R2 have them"
            )
        self._task = asyncio.create_task(self._renew_regularly(), name="chatrest lease")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        if not self._loss:
            with suppress(ObjectStoreError):
                await self._write_own(released=True)
            self._loss = "was given back"

    def check(self) -> None:
        """Raise `LeaseLostError` if the lease has passed to another writer, or has run out. Sends nothing."""
        held = self._clock() - self._confirmed
        if self._loss:
            raise self._lost_error()
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
                raise self._lost_error()
            sent = self._clock()
            await self._write_own()
            self._confirmed = sent

    async def _acquire(self) -> None:
        current, etag = await self._read()
        if not (current is None or current.released or current.owner == self._record.owner):
            self._on_wait(current.seconds)
            await self._sleep(current.seconds)
            watched, (current, etag) = etag, await self._read()
            if current is not None and not current.released and etag != watched:
                raise self._held_error("it was renewed meanwhile")
        record = self._record
        if current is not None:
            record = structs.replace(record, generation=current.generation + 1)
        self._etag, sent = etag, self._clock()
        try:
            await self._write(record)
        except _REFUSALS:
            raise self._held_error("it was taken at the same moment") from None
        self._confirmed = sent

    async def _deviation(self) -> str:
        """Write again, then against the conditions; return what the store does if it allows that.

        The record stays our own, whatever the store does.
        """
        first = self._etag
        if first is None:
            return "gives no e-tags"
        await self.confirm()
        late = structs.replace(self._record, renewal=self._record.renewal + 1).encoded()
        with suppress(*_REFUSALS):
            await self._store.put_new(LEASE, late)
            return "ignores the conditions of writes"
        with suppress(*_REFUSALS):
            await self._store.replace(LEASE, late, first)
            return "ignores the conditions of writes"
        return ""

    async def _read(self) -> tuple[LeaseRecord | None, str | None]:
        try:
            stored = await self._store.get(LEASE)
        except ObjectNotFoundError:
            return None, None
        return decode_lease(stored.data), stored.info.etag

    async def _renew_regularly(self) -> None:
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
            with suppress(*_REFUSALS):
                return await self._write(record)
            current, etag = await self._read()  # the refused record may be our own, whose reply was lost
            if current is None or (current.owner, current.generation) != (record.owner, record.generation):
                break
            self._record, self._etag = record, etag
        raise self._lost_error()

    async def _write(self, record: LeaseRecord) -> None:
        """Write a record on the condition that the last one is still there."""
        data = record.encoded()
        if self._etag is None:
            etag = await self._store.put_new(LEASE, data)
        else:
            etag = await self._store.replace(LEASE, data, self._etag)
        self._record, self._etag = record, etag

    def _held_error(self, reason: str) -> LeaseHeldError:
        return LeaseHeldError(f"another writer is at work: it holds the lease {self._target}; {reason}")

    def _lost_error(self) -> LeaseLostError:
        self._loss = self._loss or "has passed to another writer"
        return LeaseLostError(f"the lease {self._target} {self._loss}")

    @property
    def _target(self) -> str:
        return f"{self._store.address}/{LEASE}"
