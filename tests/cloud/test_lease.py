"""One writer at a time: taking, keeping, losing and taking over a lease."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from chatrest.cloud.lease import DAMAGED, LEASE, Lease, LeaseRecord, decode_lease
from chatrest.cloud.store import ObjectInfo, ObjectStore
from chatrest.cloud.store_errors import (
    ConditionUnsupportedError,
    LeaseHeldError,
    LeaseLostError,
    ObjectStoreError,
)
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over
from tests.cloud.store_double import StoreDouble, WriterTime

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def lease_of(store: ObjectStore, time: WriterTime, *, seconds: float = 60.0) -> Lease:
    return Lease(store, seconds=seconds, clock=time.clock, sleep=time.sleep, dice=lambda: 0.5)


async def record_in(store: StoreDouble) -> LeaseRecord:
    return decode_lease((await store.get(LEASE)).data)


async def crash(lease: Lease) -> None:
    """End the renewals as a crash does, without giving the lease back."""
    [task] = [task for task in asyncio.all_tasks() if task.get_name() == "chatrest lease"]
    task.cancel()
    await asyncio.wait({task})


# ── the record ──


@loop_over(
    ("age", "released", "left"),
    [(0, False, 61), (60, False, 1), (61, False, 0), (1000, False, 0), (0, True, 0)],
)
def test_a_lease_ends_some_seconds_after_its_last_renewal(age: float, released: bool, left: float) -> None:
    record = LeaseRecord("owner", 1, 0, 60.0, released)
    assert record.seconds_left(NOW - timedelta(seconds=age), NOW) == left


@loop_over(
    "data",
    [b"", b"\xff", b"{}", LeaseRecord("x", 1, 0, 1e9).encoded(), LeaseRecord("x", 0, 0, 60.0).encoded()],
)
def test_a_damaged_record_is_one_of_the_longest_lease(data: bytes) -> None:
    assert decode_lease(data) == DAMAGED
    assert DAMAGED.seconds_left(NOW, NOW) > 3600


@loop_over("seconds", [0, 4.9, 3601, float("nan")])
def test_a_wrong_length_is_refused(seconds: float) -> None:
    with pytest.raises(RequestInvalidError, match="seconds = "):
        Lease(StoreDouble(), seconds=seconds)


# ── taking it ──


async def test_a_lease_is_taken_and_given_back() -> None:
    store = StoreDouble()
    async with lease_of(store, WriterTime()) as lease:
        lease.check()
        assert (lease.is_exclusive, lease.warning, lease.generation) == (True, "", 1)
        assert not (await record_in(store)).released
    assert (await record_in(store)).released
    assert [info.name async for info in store.list()] == [LEASE]
    with pytest.raises(LeaseLostError, match="was given back"):
        lease.check()


async def test_a_writer_whose_connection_fails_at_its_start_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = StoreDouble()

    async def fail(name: str) -> ObjectInfo:
        raise ObjectStoreError(f"could not read {name}: the connection ended before the reply")

    monkeypatch.setattr(store, "head", fail)
    with pytest.raises(ObjectStoreError, match="connection ended"):
        await lease_of(store, WriterTime()).__aenter__()
    assert [info.name async for info in store.list()] == []


async def test_a_second_writer_is_refused_with_the_time_that_is_left() -> None:
    store = StoreDouble()
    async with lease_of(store, WriterTime()) as first:
        store.clock.seconds += 18
        with pytest.raises(
            LeaseHeldError, match=r"writer\.json; it ends in 43 s unless it is renewed"
        ) as caught:
            await lease_of(StoreDouble(store), WriterTime()).__aenter__()
        assert caught.value.seconds == 43
        await first.confirm()


async def test_of_writers_that_start_together_one_gets_the_lease() -> None:
    store = StoreDouble()
    leases = [lease_of(StoreDouble(store), WriterTime()) for _ in range(6)]
    outcomes = await asyncio.gather(*(lease.__aenter__() for lease in leases), return_exceptions=True)
    [winner] = [outcome for outcome in outcomes if isinstance(outcome, Lease)]
    assert sum(isinstance(outcome, LeaseHeldError) for outcome in outcomes) == 5
    await winner.__aexit__(None, None, None)


# ── keeping it ──


async def test_a_lease_is_renewed_while_it_is_held() -> None:
    store, time = StoreDouble(), WriterTime()
    async with lease_of(store, time) as lease:
        for renewal in range(1, 11):
            store.clock.seconds += 19
            await time.advance(19)
            assert (await record_in(store)).renewal == renewal
        lease.check()
        with pytest.raises(LeaseHeldError):
            await lease_of(StoreDouble(store), WriterTime()).__aenter__()


async def test_a_lease_that_cannot_be_renewed_runs_out_before_it_can_be_taken_over() -> None:
    store, time = UnreachableStore(StoreDouble()), WriterTime()
    async with lease_of(store, time) as lease:
        store.is_down = True
        await time.advance(59)
        lease.check()
        await time.advance(1)
        with pytest.raises(LeaseLostError, match="has run out, as it could not be renewed for 60 s"):
            lease.check()
        store.is_down = False
        await lease.confirm()  # nobody has taken it over
        lease.check()


async def test_a_passing_failure_of_a_renewal_loses_nothing() -> None:
    store, time = UnreachableStore(StoreDouble()), WriterTime()
    async with lease_of(store, time) as lease:
        store.is_down = True
        await time.advance(30)
        store.is_down = False
        for _ in range(4):
            await time.advance(19)
        lease.check()
        await lease.confirm()


async def test_a_renewal_whose_reply_was_lost_is_recognised_as_our_own() -> None:
    store, time = StoreDouble(), WriterTime()
    async with lease_of(store, time) as lease:
        record = await record_in(store)
        await store.put(LEASE, LeaseRecord(record.owner, record.generation, 99, 60.0).encoded())
        await lease.confirm()
        lease.check()


@pytest.fixture
async def abandoned() -> StoreDouble:
    """A store whose writer `killed` holds the lease, and renews it no more."""
    store = StoreDouble()
    await store.put(LEASE, LeaseRecord("killed", 1, 0, 60.0).encoded())
    return store


async def test_the_lease_of_a_writer_that_was_killed_is_waited_for(abandoned: StoreDouble) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        if waits != [seconds]:
            await asyncio.Event().wait()  # the time until the next renewal
        abandoned.clock.seconds += seconds

    async with Lease(StoreDouble(abandoned), on_wait=waits.append, sleep=sleep) as lease:
        assert lease.generation == 2
    assert waits == [61.0]


async def test_a_writer_takes_the_lease_that_it_left_behind_itself_at_once(abandoned: StoreDouble) -> None:
    async with Lease(StoreDouble(abandoned), owner="killed", sleep=WriterTime().sleep) as lease:
        assert lease.generation == 2


# ── losing it ──


async def test_a_successor_takes_over_after_a_crash_and_the_old_writer_notices() -> None:
    store = StoreDouble()
    old = lease_of(StoreDouble(store), WriterTime())
    await old.__aenter__()
    await crash(old)
    store.clock.seconds += 60
    with pytest.raises(LeaseHeldError):
        await lease_of(StoreDouble(store), WriterTime()).__aenter__()
    store.clock.seconds += 1
    async with lease_of(StoreDouble(store), WriterTime()) as successor:
        assert successor.generation == 2
        with pytest.raises(LeaseLostError, match="has passed to another writer"):
            await old.confirm()
        with pytest.raises(LeaseLostError):
            old.check()
        await old.__aexit__(None, None, None)
        await successor.confirm()
    assert (await record_in(store)).generation == 2


async def test_the_renewals_notice_a_successor_and_stop() -> None:
    store, time = StoreDouble(), WriterTime()
    async with lease_of(StoreDouble(store), time) as old:
        store.clock.seconds += 100
        async with lease_of(StoreDouble(store), WriterTime()):
            await time.advance(19)
            with pytest.raises(LeaseLostError, match="has passed to another writer"):
                old.check()
        assert (await record_in(store)).generation == 2


async def test_a_lease_that_was_deleted_is_lost() -> None:
    store = StoreDouble()
    async with lease_of(store, WriterTime()) as lease:
        await store.delete(LEASE)
        with pytest.raises(LeaseLostError):
            await lease.confirm()


# ── stores without conditions ──


@pytest.mark.parametrize(
    ("refuses", "words"),
    [(True, "refuses conditional writes"), (False, "ignores the conditions of writes")],
)
async def test_a_store_without_conditions_is_used_with_a_warning(refuses: bool, words: str) -> None:
    inner = StoreDouble()
    store, time = UnconditionalStore(inner, refuses), WriterTime()
    async with lease_of(store, time) as lease:
        assert not lease.is_exclusive
        assert lease.warning == (
            f"memory:// {words}: it cannot be promised that only one writer is at work, so start no second "
            "one"
        )
        await time.advance(19)
        lease.check()
        with pytest.raises(LeaseHeldError):
            await lease_of(store, WriterTime()).__aenter__()
        await inner.put(LEASE, LeaseRecord("another", 2, 0, 60.0).encoded())
        with pytest.raises(LeaseLostError):
            await lease.confirm()
    assert [info.name async for info in inner.list()] == [LEASE]


async def test_a_store_that_cannot_be_written_is_an_error() -> None:
    store = UnreachableStore(StoreDouble())
    store.is_down = True
    with pytest.raises(ObjectStoreError, match="the store is down"):
        await lease_of(store, WriterTime()).__aenter__()


class UnreachableStore:
    """A store that fails while it `is_down`."""

    address = StoreDouble.address

    def __init__(self, store: StoreDouble) -> None:
        self.is_down = False
        self._store = store

    def __getattr__(self, name: str) -> object:
        if self.is_down:
            return self._fail
        return getattr(self._store, name)

    async def _fail(self, *_: object) -> None:
        raise ObjectStoreError("the store is down")


class UnconditionalStore:
    """A store that refuses or ignores the conditions of writes."""

    def __init__(self, store: StoreDouble, refuses: bool) -> None:
        self._store = store
        self._refuses = refuses

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def put_new(self, name: str, data: bytes) -> str | None:
        if self._refuses:
            raise ConditionUnsupportedError("no conditions")
        return await self._store.put(name, data)

    async def replace(self, name: str, data: bytes, etag: str) -> str | None:
        return await self.put_new(name, data)
