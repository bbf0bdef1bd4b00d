"""The guard of an export in a store, whose lease another run may have taken; many apps on one cluster."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from chatrest import RequestInvalidError
from chatrest._cloud.lease import LEASE, LeaseRecord
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import LeaseLostError, ObjectStoreError
from chatrest.distributed.attempt_place import AttemptStore
from chatrest.distributed.coordinator import ClusterError
from chatrest.distributed.job import connect
from chatrest.distributed.shard import write_job
from chatrest.distributed.start import StoreGuard, export_apps
from chatrest.emulator import Emulator, HalfOpen
from chatrest.export import AppExport, Plan
from tests.buckets import memory_store
from tests.distributed.test_job import IN_THIS_PROCESS, OPTIONS
from tests.exporting import raws_of

LOST = r"writer\.json has passed to another writer$"


def hold(store: ObjectStore, owner: str, generation: int) -> None:
    record = LeaseRecord(owner * 16, generation, 0, 30.0)
    asyncio.run(store.put(LEASE, record.encoded()))


class Guarded:
    """A guard, and the store where its lease is."""

    def __init__(self) -> None:
        self.store = memory_store()
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


# ── many apps ──


@asynccontextmanager
async def apps_on_a_cluster(*emulators: Emulator) -> AsyncIterator[tuple[Client, list[AppExport]]]:
    """A cluster of one thread, and running services, whose keys have the names `KEY_0`, `KEY_1` …"""
    async with AsyncExitStack() as stack:
        for each in emulators:
            await stack.enter_async_context(each)
        cluster = await stack.enter_async_context(LocalCluster(**(OPTIONS | IN_THIS_PROCESS)))
        client = await stack.enter_async_context(connect(cluster.scheduler_address))
        yield client, [AppExport(each.app, key_env=f"KEY_{n}") for n, each in enumerate(emulators)]


def service(number: int) -> Emulator:
    return Emulator(app_id=f"app-{number}", users=3, messages=20 + number, seed=number)


async def test_an_app_whose_key_a_worker_lacks_fails_and_the_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(all_users=True)
    async with apps_on_a_cluster(service(0), service(1), service(2)) as (client, apps):
        with pytest.raises(ClusterError, match=r"^the worker tcp://\S+ lacks KEY_0, KEY_1, KEY_2: start"):
            await export_apps(client, apps, tmp_path, plan)
        assert not (tmp_path / "app-0").exists()
        monkeypatch.setenv("KEY_0", apps[0].app.api_key)
        monkeypatch.setenv("KEY_2", "wr0ng-k3y")
        results = await export_apps(client, apps, tmp_path, plan)
        assert [result.report is not None and result.report.complete for result in results] == [
            True,
            False,
            False,
        ]
        assert re.match(r"the worker tcp://\S+ lacks KEY_1: start the", str(results[1].error))
        assert re.match(r"the service refuses the key of the worker tcp://", str(results[2].error))
        monkeypatch.setenv("KEY_1", apps[1].app.api_key)
        (tmp_path / "key").write_text(apps[2].app.api_key)
        apps[2] = AppExport(apps[2].app, key_file=str(tmp_path / "key"))
        for result in await export_apps(client, apps, tmp_path, plan):
            result.check()
    assert [len(raws_of(tmp_path / f"app-{number}")) for number in range(3)] == [20, 21, 22]
    with pytest.raises(ClusterError, match=r"^the scheduler at its address is gone$"):
        await export_apps(client, apps, tmp_path, plan)


async def test_a_service_that_hangs_keeps_no_thread_from_another_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, slow = Plan(all_users=True), service(0)
    slow.weather.add(HalfOpen(route="messages.list_user"))
    async with apps_on_a_cluster(slow, service(1)) as (client, apps):
        for each in apps:
            monkeypatch.setenv(each.key_env or "", each.app.api_key)
        hanging = asyncio.create_task(export_apps(client, apps[:1], tmp_path, plan))
        while not any(each.fault for each in slow.requests):  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # the worker's thread is waited for
        [other] = await export_apps(client, apps[1:], tmp_path, plan)
        other.check()
        assert not hanging.done()
        slow.weather.clear()
        slow.weather.release()
        [result] = await hanging
        result.check()
    asked = [(each.path, each.query) for each in slow.requests if "/users/" in each.path]
    assert len(asked) == len(set(asked)), "no shard of it has come to the end of its time meanwhile"


async def test_an_app_whose_key_no_worker_can_have_is_refused(tmp_path: Path) -> None:
    async with apps_on_a_cluster(service(0)) as (client, [app]):
        with pytest.raises(RequestInvalidError, match=r"app app-0: .*: expected key_env or key_file"):
            await export_apps(client, [AppExport(app.app)], tmp_path)
