"""One writer at a time in a store: a lease that is renewed while it is held, and taken over after its end.

Its rules:
- The lease is the object `writer.json`. It is created and replaced by conditional writes only, so that of two
  writers that try, one succeeds.
- It ends `seconds` after its last renewal, by the store's clock. A successor reads that clock from an object
  that it has just written itself.
- The holder counts from the moment before it sent its last successful renewal, by its own steady clock: it
  stops before the lease can pass on, even if it cannot reach the store.
- A holder whose conditional write is refused, because the record is another writer's, has lost the lease.
  One that could not renew it in time may not write until `confirm()` succeeds: nobody has taken it over then.
- It is given back by a record that says so. Nothing is deleted, as a deletion has no condition.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from secrets import token_hex
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeAlias, final

from msgspec import structs

from ..errors import RequestInvalidError
from .lease_record import LONGEST, LeaseRecord, decode_lease, seconds_left
from .operations import Operations
from .store_errors import (
    LeaseHeldError,
    LeaseLostError,
    ObjectChangedError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectStoreError,
)
from .write_conditions import WriteConditions, probe_conditions

Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Dice: TypeAlias = Callable[[], float]

LEASE: Final = "writer.json"
"""The name of the object."""
_RENEWALS: Final = 3
"""Renewals that are tried in the time of a lease."""
_SHORTEST: Final = 5.0
_CONTENDERS: Final = 3
"""Attempts while other writers take or give back the lease at the same moment."""


class _Timing(NamedTuple):
    """The time of a writer, and the chance that spreads its renewals."""

    clock: Clock
    sleep: Sleep
    dice: Dice


class _CurrentRecord(NamedTuple):
    """The record that this writer wrote last, and its e-tag; None before the first."""

    record: LeaseRecord
    etag: str | None


@final
class Lease:
    """The right to write to a store, held in `async with Lease(store) as lease:`.

    Entering raises `LeaseHeldError` if another writer holds it; leaving gives it back. Meanwhile a task
    renews it. Call `check()` before each write, and `confirm()` before one that counts.
    """

    def __init__(
        self,
        store: Operations,
        *,
        seconds: float = 30.0,
        owner: str | None = None,
        on_wait: Callable[[float], object] | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        dice: Dice = random.random,
    ) -> None:
        """`seconds` (5 to 3600) is the time after which a crashed writer's lease can be taken over.

        `owner` is an id that no other living writer has, else a random one: a lease that this owner has left
        behind is taken over at once. With `on_wait`, which is called with the seconds, another writer's lease
        is waited for once: it ends if that writer was killed. `dice` spreads the renewals.
        """
        if not _SHORTEST <= seconds <= LONGEST:
            raise RequestInvalidError(f"seconds = {seconds!r}: allowed is {_SHORTEST} to {LONGEST}")
        self._store = store
        self._current = _CurrentRecord(LeaseRecord(owner or token_hex(16), 1, 0, seconds), None)
        self._timing = _Timing(clock, sleep, dice)
        self._conditions: WriteConditions | None = None
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
            await self._timing.sleep(error.seconds)
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
                await self._write_own(structs.replace(self._record, released=True))
            self._loss = "was given back"

    @property
    def is_exclusive(self) -> bool:
        """False if the store does not keep the conditions of writes: two writers may then both hold it."""
        return self._conditions is not None and self._conditions.are_kept

    @property
    def warning(self) -> str:
        """One sentence that says what cannot be promised; empty if the lease is exclusive."""
        if self._conditions is None or self._conditions.are_kept:
            return ""
        return (
            f"{self._store.address} {self._conditions.deviation}: it cannot be promised that only one writer "
            "is at work, so start no second one"
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
        held = self._timing.clock() - self._confirmed
        if self._loss:
            raise self._lost()
        if held >= self._record.seconds:
            raise LeaseLostError(
                f"the lease {self._target} has run out, as it could not be renewed for {held:.0f} s"
            )

    async def confirm(self) -> None:
        """Renew the lease now, also one that has run out and that nobody has taken over.

        Raises `LeaseLostError` if it is another writer's, and `ObjectStoreError` if the store fails, in which
        case the lease is held as long as `check()` says so.
        """
        async with self._lock:
            if self._loss:
                raise self._lost()
            sent = self._timing.clock()
            record = structs.replace(self._record, renewal=self._record.renewal + 1)
            await self._write_own(record)
            self._confirmed = sent

    # ── taking it ──

    async def _acquire(self) -> None:
        self._conditions = await probe_conditions(self._store, self._record.owner)
        for _ in range(_CONTENDERS):
            with suppress(ObjectChangedError, ObjectExistsError):
                return await self._take(self._conditions)
        raise LeaseHeldError(f"other writers took the lease {self._target} at the same moment")

    async def _take(self, conditions: WriteConditions) -> None:
        sent = self._timing.clock()
        record = self._record
        try:
            stored = await self._store.get(LEASE)
        except ObjectNotFoundError:
            etag = None
        else:
            current = decode_lease(stored.data)
            left = seconds_left(current, stored.info.modified, conditions.now)
            if left and current.owner != record.owner:
                raise self._held(left)
            etag = stored.info.etag
            record = structs.replace(record, generation=current.generation + 1)
        self._current = _CurrentRecord(record, etag)
        await self._write(record)
        self._confirmed = sent

    def _held(self, left: float) -> LeaseHeldError:
        error = LeaseHeldError(
            f"another writer holds the lease {self._target}; it ends in {left:.0f} s unless it is renewed"
        )
        error.seconds = left
        return error

    # ── keeping it ──

    async def _keep(self) -> None:
        interval = self._record.seconds / _RENEWALS
        while not self._loss:
            await self._timing.sleep(interval * (0.8 + 0.2 * self._timing.dice()))
            with suppress(ObjectStoreError, TimeoutError):  # check() counts the time since the last success
                async with asyncio.timeout(interval):  # a request that hangs is not waited for
                    await self.confirm()

    async def _write(self, record: LeaseRecord) -> None:
        """Write a record on the condition that the last one is still there, if the store keeps conditions."""
        data = record.encoded()
        if not self.is_exclusive:
            await self._refuse_other_owner()
            etag = await self._store.put(LEASE, data)
        elif self._current.etag is None:
            etag = await self._store.put_new(LEASE, data)
        else:
            etag = await self._store.replace(LEASE, data, self._current.etag)
        self._current = _CurrentRecord(record, etag)

    async def _refuse_other_owner(self) -> None:
        """Notice another writer as far as that is possible without conditions."""
        with suppress(ObjectNotFoundError):
            current = decode_lease((await self._store.get(LEASE)).data)
            if current.owner != self._record.owner and current.generation >= self._record.generation:
                raise ObjectChangedError(f"the lease {self._target} is another writer's")

    async def _adopt(self) -> None:
        """After a refusal, take the e-tag of our own record, whose reply may have been lost.

        Raises `LeaseLostError` if the record is another writer's.
        """
        try:
            stored = await self._store.get(LEASE)
        except ObjectNotFoundError:
            raise self._lost() from None
        current = decode_lease(stored.data)
        if (current.owner, current.generation) != (self._record.owner, self._record.generation):
            raise self._lost()
        self._current = _CurrentRecord(self._record, stored.info.etag)

    async def _write_own(self, record: LeaseRecord) -> None:
        """Write a record in the place of our own last one; `LeaseLostError` if that is not there."""
        try:
            return await self._write(record)
        except (ObjectChangedError, ObjectExistsError):
            await self._adopt()
        try:
            await self._write(structs.replace(record, renewal=record.renewal + 1))
        except (ObjectChangedError, ObjectExistsError):
            raise self._lost() from None

    def _lost(self, loss: str = "has passed to another writer") -> LeaseLostError:
        """Record that the lease is lost, and return the error for it."""
        self._loss = self._loss or loss
        return LeaseLostError(f"the lease {self._target} {self._loss}")

    @property
    def _record(self) -> LeaseRecord:
        return self._current.record

    @property
    def _target(self) -> str:
        return f"{self._store.address.rstrip('/')}/{LEASE}"
