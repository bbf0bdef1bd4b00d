"""One rate over a real Dask cluster: sessions of workers and of the coordinator follow it."""

import time
from typing import Any

import pytest

from chatrest import App, Pace, RequestInvalidError
from chatrest.distributed.rate_coordinator import RateCoordinator
from chatrest.distributed.rate_session import open_session
from chatrest.emulator import Emulator

distributed = pytest.importorskip("distributed")

RATE = 200


async def read_users(app: App, job_id: str, count: int) -> list[float]:
    """Return the times at which so many requests were answered."""
    times = []
    async with open_session(app, job_id, priority="bulk") as session:
        for _ in range(count):
            await session.request("GET", "/users/user-01")
            times.append(time.monotonic())
    return times


def local_cluster() -> Any:
    """Return a cluster of two workers in this process."""
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, asynchronous=True, dashboard_address=":0"
    )


async def test_workers_and_the_coordinator_share_one_rate() -> None:
    async with (
        Emulator(users=2, messages=0) as emulator,
        local_cluster() as cluster,
        distributed.Client(cluster, asynchronous=True) as client,
        RateCoordinator(client, emulator.app.app_id, Pace(rate=RATE, window=1), "job-1") as coordinator,
    ):
        tasks = [
            client.submit(read_users, emulator.app, "job-1", 40, workers=[worker.address], pure=False)
            for worker in cluster.workers.values()
        ]
        by_process = [await read_users(emulator.app, "job-1", 20), *await client.gather(tasks)]
        times = sorted(time for times in by_process for time in times)
        assert [len(times) for times in by_process] == [20, 40, 40]
        assert (times[-1] - times[0]) * RATE >= 0.9 * 99 - 3  # three processes may each run ahead by one slot
        assert coordinator.rate == RATE


async def test_a_session_without_a_coordinator_is_refused() -> None:
    with pytest.raises(RequestInvalidError, match="'job-2': allowed is the job of a RateCoordinator"):
        open_session(App("app-1", "k3y", "eu", base_url="https://example.com"), "job-2")
