"""The function of the guide that Dask maps over batches of items."""

import asyncio
from typing import Any

import pytest

from chatrest.emulator import Emulator
from tests.pages import blocks

distributed = pytest.importorskip("distributed")


async def test_dask_maps_the_guides_function_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = [code for path, code in blocks("python") if "client.map(count_unread" in code]
    names: dict[str, Any] = {}
    exec(code, names)
    uids = [f"user-{number:03}" for number in range(1, 5)]
    async with Emulator(users=4, messages=40) as emulator:
        for name, value in (("APP_ID", emulator.app.app_id), ("BASE_URL", emulator.base_url)):
            monkeypatch.setenv(f"CHATREST_{name}", value)
        monkeypatch.setenv("CHATREST_API_KEY", emulator.app.api_key)
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, asynchronous=True, dashboard_address=":0",
            memory_limit=0, silence_logs=50,
        )  # fmt: skip
        async with (
            asyncio.timeout(60), cluster, distributed.Client(cluster, asynchronous=True) as client,
        ):  # fmt: skip
            counts = await client.gather(client.map(names["count_unread"], [uids[:2], uids[2:]]))
    assert sorted(uid for each in counts for uid in each) == uids
