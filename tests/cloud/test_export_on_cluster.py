"""An export to an object store by the workers of a Dask cluster."""

import asyncio
from pathlib import Path

import pytest
from distributed import LocalCluster

from chatrest import AsyncSession
from chatrest._cloud.lease import LEASE, LeaseRecord
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import LeaseLostError
from chatrest.distributed.job import connect
from chatrest.distributed.start import export_with
from chatrest.emulator import Emulator
from chatrest.export import Phase, Plan, Progress, Report, read, verify
from tests.distributed.test_job import FAST, IN_THIS_PROCESS, OPTIONS, SMALL
from tests.export.remote.bucket import assert_bucket

pytestmark = pytest.mark.nightly


@pytest.mark.usefixtures("tidy")
async def test_workers_write_to_a_store(
    s3_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, journal, progress = s3_store.address, tmp_path / "journal", Progress()
    async with (
        Emulator(users=8, messages=200, groups=0, seed=3) as emulator,
        AsyncSession(emulator.app) as session,
        LocalCluster(**(OPTIONS | IN_THIS_PROCESS)) as cluster,
        connect(cluster.scheduler_address) as client,
    ):
        app, plan = emulator.app, Plan(all_users=True, partition="month")
        for name, value in (("APP_ID", app.app_id), ("API_KEY", app.api_key), ("BASE_URL", app.chat_url)):
            monkeypatch.setenv(f"CHATREST_{name}", value)
        for number in range(2):
            if number:
                await s3_store.put("attempts/job-0123456789abcdef", b"of a killed run")
                await s3_store.put("messages/late/messages-00003-0123456789abcdef.ndjson", b'{"id":"1"}\n')
            report = await export_with(
                client, session, out, plan, budget=SMALL, pace=FAST, journal=journal,
                progress=progress,
            )  # fmt: skip
            assert report.complete, report
            await assert_bucket(s3_store, [str(each) for each in range(1, 201)])
    assert progress.phase is Phase.DONE
    assert verify(out).ok
    assert sorted(int(message.id) for message in read(out)) == list(range(1, 201))


@pytest.mark.usefixtures("tidy")
async def test_a_coordinator_that_was_deposed_harms_neither_its_successor_nor_the_store(
    s3_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its workers live, and read for it when the other one takes over on the same cluster."""
    monkeypatch.setattr("chatrest.distributed.start._WATCH_SECONDS", 0.05)
    async with (
        Emulator(users=12, messages=900, groups=0, seed=3) as emulator,
        AsyncSession(emulator.app) as session,
        LocalCluster(**(OPTIONS | IN_THIS_PROCESS)) as cluster,
        connect(cluster.scheduler_address) as client,
    ):
        app, plan, progress = emulator.app, Plan(all_users=True, partition="month"), Progress()
        for name, value in (("APP_ID", app.app_id), ("API_KEY", app.api_key), ("BASE_URL", app.chat_url)):
            monkeypatch.setenv(f"CHATREST_{name}", value)

        async def run(name: str) -> Report:
            return await export_with(
                client, session, s3_store.address, plan, budget=SMALL, pace=FAST, journal=tmp_path / name,
                progress=progress if name == "deposed" else None,
            )  # fmt: skip

        deposed = asyncio.create_task(run("deposed"))
        while not progress.written:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await s3_store.put(LEASE, LeaseRecord("ab" * 16, 50, 0, 30.0, released=True).encoded())
        successor = await run("successor")
        with pytest.raises(LeaseLostError, match="has passed to another writer"):
            await deposed
        assert successor.complete, successor
        [worker] = cluster.workers.values()
        assert not [name for name in worker.plugins if name.startswith("job-")]
    assert verify(s3_store.address).ok
    assert sorted(int(message.id) for message in read(s3_store.address)) == list(range(1, 901))
    await assert_bucket(s3_store, [str(each) for each in range(1, 901)])
