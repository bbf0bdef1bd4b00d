"""An export to an object store by the workers of a Dask cluster."""

from pathlib import Path

import pytest
from distributed import LocalCluster

from chatrest import AsyncSession
from chatrest.cloud.store import ObjectStore
from chatrest.distributed.job import connect
from chatrest.distributed.start import export_with
from chatrest.emulator import Emulator
from chatrest.export import Phase, Plan, Progress, read, verify
from tests.distributed.test_job import FAST, IN_THIS_PROCESS, OPTIONS, SMALL


@pytest.mark.usefixtures("tidy")
async def test_workers_write_to_a_store(
    s3_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, journal, progress = s3_store.address, tmp_path / "journal", Progress()
    await s3_store.put("attempts/attempt-7-of-a-killed-run", b"rest")
    async with (
        Emulator(users=8, messages=400, groups=0, seed=3) as emulator,
        AsyncSession(emulator.app) as session,
        LocalCluster(**(OPTIONS | IN_THIS_PROCESS)) as cluster,
        connect(cluster.scheduler_address) as client,
    ):
        app, plan = emulator.app, Plan(all_users=True, partition="month")
        for name, value in (("APP_ID", app.app_id), ("API_KEY", app.api_key), ("BASE_URL", app.chat_url)):
            monkeypatch.setenv(f"CHATREST_{name}", value)
        for _ in range(2):
            report = await export_with(
                client, session, out, plan, budget=SMALL, pace=FAST, journal=journal,
                progress=progress,
            )  # fmt: skip
            assert report.complete, report
    assert progress.phase is Phase.DONE
    assert verify(out).ok
    assert sorted(int(message.id) for message in read(out)) == list(range(1, 401))
    assert [info.name async for info in s3_store.list("attempts")] == []
