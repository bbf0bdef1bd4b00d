"""The guard of an export in a store: a coordinator that has slept for long finds that it is not its own."""

import asyncio

import pytest

from chatrest.cloud.lease import LEASE, LeaseRecord
from chatrest.cloud.store import ObjectStore
from chatrest.cloud.store_errors import LeaseLostError, ObjectStoreError
from chatrest.distributed.attempt_place import AttemptStore
from chatrest.distributed.coordinator import ClusterError
from chatrest.distributed.shard import write_job
from chatrest.distributed.start import StoreGuard
from chatrest.export import Plan

LOST = r"writer\.json has passed to another writer$"


def hold(store: ObjectStore, owner: str, generation: int) -> None:
    record = LeaseRecord(owner * 16, generation, 0, 30.0)
    asyncio.run(store.put(LEASE, record.encoded()))


class Guarded:
    """A guard, and the store where its lease is."""

    def __init__(self) -> None:
        self.store = ObjectStore.in_memory()
        hold(self.store, "ab", 4)
        self.attempts = AttemptStore(self.store)
        write_job(self.attempts, "job-killed", "app", Plan(), [])
        self.naps = 0
        self.has_napped = asyncio.Event()
        self.guard = StoreGuard(self.attempts, self.attempts.names(), self.nap)

    async def nap(self, seconds: float) -> None:
        self.naps += 1
        if self.naps > 3:
            self.has_napped.set()
        await asyncio.sleep(0)

    @classmethod
    async def begin(cls) -> "Guarded":
        made = await asyncio.to_thread(cls)
        await made.guard.begin()
        return made

    async def pass_on(self) -> None:
        """Let another run take the lease, with a job of its own."""
        await asyncio.to_thread(hold, self.store, "cd", 5)
        await asyncio.to_thread(write_job, self.attempts, "job-successor", "app", Plan(), [])

    async def names(self) -> list[str]:
        return await asyncio.to_thread(self.attempts.names)


async def test_what_was_left_before_is_removed_and_nothing_of_a_successor() -> None:
    made = await Guarded.begin()
    await made.guard.clear()
    assert await made.names() == []
    made = await Guarded.begin()
    await made.pass_on()
    with pytest.raises(LeaseLostError, match=LOST):
        await made.guard.clear()
    assert sorted(await made.names()) == ["attempts/job-killed", "attempts/job-successor"]


async def test_work_ends_when_the_lease_has_passed_on() -> None:
    made = await Guarded.begin()
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = asyncio.create_task(made.guard.run(work()))
    await made.has_napped.wait()
    await made.pass_on()
    with pytest.raises(LeaseLostError, match=LOST):
        await running
    assert ended.is_set()


@pytest.mark.parametrize("is_lost", [True, False])
async def test_an_error_of_the_work_is_that_of_the_lease_where_it_was_lost(is_lost: bool) -> None:
    made = await Guarded.begin()

    async def work() -> None:
        if is_lost:
            await made.pass_on()
        raise ClusterError("11 shards in a row were lost")

    with pytest.raises((ClusterError, LeaseLostError)) as caught:
        await made.guard.run(work())
    assert isinstance(caught.value, LeaseLostError) is is_lost


async def test_a_store_that_does_not_answer_now_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = await Guarded.begin()

    def fail() -> None:
        raise ObjectStoreError("503")

    monkeypatch.setattr(made.attempts, "holder", fail)

    async def work() -> None:
        await made.has_napped.wait()

    await made.guard.run(work())
