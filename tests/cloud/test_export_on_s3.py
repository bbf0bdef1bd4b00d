"""Exports on an S3 server, over a bad connection, and read there by other programs."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import structs

from chatrest import AsyncSession
from chatrest._cloud.lease import Lease
from chatrest._cloud.store import ObjectStore
from chatrest.distributed import export as export_on_cluster
from chatrest.emulator import Emulator
from chatrest.errors import RequestInvalidError
from chatrest.export import Plan, export, read, verify
from chatrest.export.run.run_parts import export_parts
from tests.cloud.fault_proxy import KEY_ID, SECRET
from tests.distributed.clusters import FAST, near_cluster
from tests.export.remote.stores import ids_in_bucket
from tests.support.export_runs import served
from tests.support.part_service import ChangingService
from tests.support.simulated_crashes import DyingDisk, Fate, ProcessDeath

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("fast_ramp")]


async def test_other_programs_read_the_dataset_without_conversion(
    s3_server: str, bucket: str, s3_environment: Callable[[str], None], tmp_path: Path
) -> None:
    from pyarrow import dataset, fs  # take long to load

    s3_environment(s3_server)
    address = f"s3://{bucket}/chat"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, address, Plan(format="parquet"), journal=tmp_path / "a")
        emulator.store.add_message("user-001", "user-002", "new")
        assert (await export(session, address, journal=tmp_path / "b")).written == 1
    names = [info.name async for info in ObjectStore.open(address).list("messages")]
    pattern = r"messages/month=\d{4}-\d\d/messages-\d{5}-[0-9a-f]{8}\.parquet"
    assert all(re.fullmatch(pattern, name) for name in names)
    assert verify(address).ok
    files = fs.S3FileSystem(
        endpoint_override=s3_server, access_key=KEY_ID, secret_key=SECRET, region="us-east-1"
    )
    table = dataset.dataset(
        f"{bucket}/chat/messages", filesystem=files, format="parquet", partitioning="hive"
    )
    assert {"id", "raw", "month"} <= {*table.schema.names}
    ids = table.to_table(columns=["id"]).column("id").to_pylist()
    assert sorted(map(str, ids)) == sorted(message.id for message in read(address))
    assert len(ids) == 41


COUNT = 3


async def stored_ids(address: str) -> list[int]:
    """Return the ids of all records in the bucket, with duplicates."""
    ids = list[int]()
    for number in range(COUNT):
        ids += map(int, await ids_in_bucket(ObjectStore.open(f"{address}/part={number:02}")))
    return sorted(ids)


async def test_machines_claim_the_parts_of_a_bucket(
    s3_server: str, bucket: str, s3_environment: Callable[[str], None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    s3_environment(s3_server)
    monkeypatch.setattr("chatrest.export.run.night.PAUSE", 0.0)
    address, dice = f"s3://{bucket}/chat", Random(7)
    async with served(fill_in=lambda _: None) as service:
        world = ChangingService(service.store, dice)
        for night in range(2):
            world.pass_day(120)

            async def claim(machine: str) -> None:
                dice = {"a": 0.1, "b": 0.5}[machine[-1]]  # each begins with another part
                async with AsyncSession(service.emulator.app, dice=lambda: dice) as session:
                    await export(session, address, parts=COUNT, claim=True, journal=tmp_path / machine)

            await asyncio.gather(*(claim(f"{night}-{machine}") for machine in "ab"))
            ids = await stored_ids(address)
            assert len(ids) == len(set(ids))
            assert world.visible(with_groups=False) <= set(ids)
        assert all(verify(f"{address}/part={number:02}").ok for number in range(COUNT))
        assert Counter(int(message.id) for message in read(address)) == Counter(ids)
        for options in ({"parts": 4}, {"plan": Plan(users=["u1"])}, {"part": 3}):
            with pytest.raises(RequestInvalidError):
                await export(service.session, address, **options)
        await export(service.session, f"s3://{bucket}/one", journal=tmp_path / "one")
        with pytest.raises(RequestInvalidError, match="not of parts"):
            await export(service.session, f"s3://{bucket}/one", parts=2, journal=tmp_path / "two")


async def test_the_part_of_a_lost_machine_is_taken_over_by_the_next(
    s3_server: str, bucket: str, s3_environment: Callable[[str], None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    s3_environment(s3_server)
    monkeypatch.setattr("chatrest.export.run.night.PAUSE", 0.05)
    monkeypatch.setitem(Lease.__init__.__kwdefaults__, "seconds", 1.0)  # type: ignore[attr-defined]
    address, dice = f"s3://{bucket}/chat", Random(3)
    async with served(fill_in=lambda _: None) as service:
        world = ChangingService(service.store, dice)
        died = 0
        for _ in range(3):
            world.pass_day(60)
            fate = Fate(tmp_path / "a", dice.randrange(2, 16))
            options: dict[str, Any] = {"parts": COUNT, "claim": True}
            with monkeypatch.context() as patched, suppress(ProcessDeath):
                patched.setattr(Lease, "_write_own", _unreachable)  # nothing is given back
                await export_parts(
                    service.session, address, journal=fate.out, disk=DyingDisk(fate), **options
                )
            died += fate.dead
            if fate.dead:
                fate.rise()
            world.pass_day(20)
            await export(service.session, address, journal=tmp_path / "b", **options)
            ids = await stored_ids(address)
            assert len(ids) == len(set(ids))
        assert died
        for machine in "ab":
            assert (await export(service.session, address, journal=tmp_path / machine)).complete
        ids = await stored_ids(address)
        assert len(ids) == len(set(ids))
        assert world.visible(with_groups=False) <= set(ids)
        assert verify(address).ok


async def _unreachable(self: Lease, *, released: bool = False) -> None:
    """Renew a lease as it is, but give it back never, as the lease of a machine that is lost."""
    if not released:
        await Lease._write(self, structs.replace(self._record, renewal=self._record.renewal + 1))


@pytest.mark.usefixtures("tidy")
async def test_workers_run_parts_in_a_store(
    s3_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # for the workers' copies
    out = s3_store.address
    async with (
        Emulator(users=8, messages=200, groups=0, seed=3) as emulator,
        near_cluster(threads_per_worker=2) as (_, client),
    ):
        app = emulator.app
        for name, value in (("APP_ID", app.app_id), ("API_KEY", app.api_key), ("BASE_URL", app.chat_url)):
            monkeypatch.setenv(f"CHATREST_{name}", value)
        for number in range(2):
            report = await export_on_cluster(client, app, out, Plan(all_users=True), parts=2, pace=FAST)
            assert report.complete, report
            assert report.written == (0 if number else 200)
        assert sorted(await asyncio.to_thread(lambda: [int(message.id) for message in read(out)])) == [
            *range(1, 201)
        ]
