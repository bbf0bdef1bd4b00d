"""An export of parts in an object store, by the workers of a Dask cluster."""

import asyncio
from pathlib import Path

import pytest

from chatrest._cloud.store import ObjectStore
from chatrest.distributed import export
from chatrest.emulator import Emulator
from chatrest.export import Plan, read
from tests.distributed.clusters import FAST, near_cluster


@pytest.mark.usefixtures("tidy", "fast_ramp")
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
            report = await export(client, app, out, Plan(all_users=True), parts=2, pace=FAST)
            assert report.complete, report
            assert report.written == (0 if number else 200)
        assert sorted(await asyncio.to_thread(lambda: [int(message.id) for message in read(out)])) == [
            *range(1, 201)
        ]
