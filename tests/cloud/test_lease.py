"""One writer at a time: taking, keeping, losing and taking over a lease."""

import asyncio
from functools import partial
from typing import Any

import pytest

from chatrest._cloud.lease import DAMAGED, LEASE, Lease, LeaseRecord, decode_lease
from chatrest._cloud.store_errors import ConditionUnsupportedError, LeaseHeldError, LeaseLostError
from chatrest.errors import RequestInvalidError
from tests.cloud.store_double import StoreDouble, WriterTime
from tests.support.buckets import write_over
from tests.support.cases import loop_over


def lease_of(store: Any, time: WriterTime, *, seconds: float = 60.0) -> Lease:
    return Lease(store, seconds=seconds, clock=time.clock, sleep=time.sleep, dice=lambda: 0.5)


async def record_in(store: StoreDouble) -> LeaseRecord:
    return decode_lease((await store.get(LEASE)).data)


async def crash(lease: Lease) -> None:
    """End the renewals as a crash does, without giving the lease back."""
    [task] = [task for task in asyncio.all_tasks() if task.get_name() == "chatrest lease"]
    task.cancel()
    await asyncio.wait({task})


@loop_over(
    "data",
    [b"", b"\xff", b"{}", LeaseRecord("x", 1, 0, 1e9).encoded(), LeaseRecord("x", 0, 0, 60.0).encoded()],
)
def test_a_damaged_lease_counts_as_not_renewed(data: bytes) -> None:
    assert decode_lease(data) == DAMAGED


async def test_a_lease_is_taken_and_given_back() -> None:
    store = StoreDouble()
    async with lease_of(store, WriterTime()) as lease:
        lease.check()
        record = await record_in(store)
        assert (record.generation, record.released) == (1, False)
    assert (await record_in(store)).released
    assert [info.name async for info in store.list()] == [LEASE]
    with pytest.raises(LeaseLostError, match="was given back"):
        lease.check()


async def test_a_second_writer_is_refused_while_the_first_renews() -> None:
    store, waits = StoreDouble(), list[float]()
    async with lease_of(store, WriterTime()) as first:

        async def renew(seconds: float) -> None:
            waits.append(seconds)
            await first.confirm()

        with pytest.raises(
            LeaseHeldError, match=r"at work: it holds the lease s3://bucket/chat/writer\.json"
        ):
            await Lease(StoreDouble(store), sleep=renew).__aenter__()
        await first.confirm()
    assert waits == [60.0]


async def test_a_lease_released_while_watched_is_acquired() -> None:
    store = StoreDouble()
    first = await lease_of(store, WriterTime()).__aenter__()

    async def end(_: float) -> None:
        if not (await record_in(store)).released:
            await first.__aexit__(None, None, None)
        else:
            await asyncio.Event().wait()

    async with Lease(StoreDouble(store), sleep=end):
        assert (await record_in(store)).generation == 2


async def test_of_writers_that_start_together_one_gets_the_lease() -> None:
    store, all_have_read = StoreDouble(), asyncio.Barrier(6)

    def writer() -> Lease:
        own = StoreDouble(store)
        get = own.get

        async def read(name: str) -> Any:
            try:
                return await get(name)
            finally:
                await all_have_read.wait()

        own.get = read
        return lease_of(own, WriterTime())

    leases = [writer() for _ in range(6)]
    outcomes = await asyncio.gather(*(lease.__aenter__() for lease in leases), return_exceptions=True)
    [winner] = [outcome for outcome in outcomes if isinstance(outcome, Lease)]
    assert sum(isinstance(outcome, LeaseHeldError) for outcome in outcomes) == 5
    await winner.__aexit__(None, None, None)


async def test_an_active_lease_is_renewed() -> None:
    store, time = StoreDouble(), WriterTime()
    async with lease_of(store, time) as lease:
        for renewal in range(2, 12):
            await time.advance(19)
            assert (await record_in(store)).renewal == renewal
        lease.check()


async def test_a_lease_expires_for_the_writer_before_a_takeover_is_possible() -> None:
    store, time = StoreDouble(), WriterTime()
    async with lease_of(store, time) as lease:
        store.is_down = True
        await time.advance(59)
        lease.check()
        await time.advance(1)
        with pytest.raises(LeaseLostError, match="has run out, as it could not be renewed for 60 s"):
            lease.check()
        store.is_down = False
        await lease.confirm()  # nobody has taken it over
        for _ in range(4):  # and it is renewed as before
            await time.advance(19)
        lease.check()


async def test_a_renewal_with_a_lost_reply_is_recognised_as_ours() -> None:
    store, time = StoreDouble(), WriterTime()
    async with lease_of(store, time) as lease:
        record = await record_in(store)
        await write_over(store, LEASE, LeaseRecord(record.owner, record.generation, 99, 60.0).encoded())
        await lease.confirm()
        lease.check()


@loop_over("record", [LeaseRecord("killed", 1, 0, 60.0).encoded(), b"damaged"])
async def test_a_lease_that_is_not_renewed_is_taken_over_after_it_expires(record: bytes) -> None:
    store, waits = StoreDouble(), list[float]()
    await write_over(store, LEASE, record)

    async def sleep(seconds: float) -> None:
        if len(waits) > 1:
            await asyncio.Event().wait()  # the time until the next renewal
        waits.append(seconds)

    async with Lease(StoreDouble(store), on_wait=waits.append, sleep=sleep):
        assert (await record_in(store)).generation == 2
    assert waits in ([60.0, 60.0], [30.0, 30.0])


async def test_a_writer_takes_the_lease_of_an_earlier_own_run_at_once() -> None:
    store = StoreDouble()
    await write_over(store, LEASE, LeaseRecord("killed", 1, 0, 60.0).encoded())
    async with Lease(store, owner="killed", sleep=WriterTime().sleep):
        assert (await record_in(store)).generation == 2


async def test_a_successor_takes_over_after_a_crash_and_the_old_writer_notices() -> None:
    store = StoreDouble()
    old = lease_of(StoreDouble(store), WriterTime())
    await old.__aenter__()
    await crash(old)
    store.end_lease()
    async with lease_of(StoreDouble(store), WriterTime()) as successor:
        assert (await record_in(store)).generation == 2
        with pytest.raises(LeaseLostError, match="has passed to another writer"):
            await old.confirm()
        with pytest.raises(LeaseLostError):
            old.check()
        await old.__aexit__(None, None, None)
        await successor.confirm()
    assert (await record_in(store)).generation == 2


async def test_a_lease_that_was_deleted_is_lost() -> None:
    store = StoreDouble()
    async with lease_of(store, WriterTime()) as lease:
        await store.delete(LEASE)
        with pytest.raises(LeaseLostError):
            await lease.confirm()


async def _ignored(self: StoreDouble, name: str, data: bytes, *_: object) -> str | None:
    return await write_over(self, name, data)


async def _refused(*_: object) -> str | None:
    raise ConditionUnsupportedError("no conditions")


@loop_over(
    ("conditions", "words"),
    [
        ({"put_new": _refused, "replace": _refused}, "refuses conditional writes"),
        ({"put_new": _ignored, "replace": _refused}, "refuses conditional writes"),
        ({"put_new": _ignored, "replace": _ignored}, "ignores the conditions of writes"),
        ({"replace": _ignored}, "ignores the conditions of writes"),
    ],
)
async def test_a_store_without_conditional_writes_is_refused(conditions: dict[str, Any], words: str) -> None:
    store = StoreDouble()
    await write_over(store, "a", b"a stranger's")
    for operation, function in conditions.items():
        setattr(store, operation, partial(function, store))
    with pytest.raises(RequestInvalidError, match=rf"^s3://bucket/chat {words}, .* expected a store with"):
        await lease_of(store, WriterTime()).__aenter__()
    assert list(store.objects) == ["a"]
