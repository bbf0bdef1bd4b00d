"""Exports on a Dask cluster of processes: workers that are killed, a scheduler that goes away, and secrets."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from distributed import Client, LocalCluster

from chatrest import AsyncSession
from chatrest.distributed import ClusterError
from chatrest.distributed.cluster import connect
from chatrest.distributed.credentials import Credentials
from chatrest.distributed.shard import Budget
from chatrest.distributed.start import export_with
from chatrest.emulator import Emulator
from chatrest.export import Plan, Progress, verify
from tests.exporting import assert_whole, on_one_line

USERS, MESSAGES = 40, 6_000
SMALL = Budget(requests=10, seconds=20.0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two worker processes, whose environment has no credentials."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@asynccontextmanager
async def client_of(cluster: LocalCluster) -> AsyncIterator[Client]:
    async with connect(cluster.scheduler_address) as client:
        yield client


def pids(cluster: LocalCluster) -> list[int]:
    """Return the processes of the workers that run now."""
    nannies = list(cluster.workers.values())
    return [nanny.process.pid for nanny in nannies if nanny.process is not None and nanny.process.pid]


def assert_all_of(emulator: Emulator, out: Path) -> None:
    assert_whole(out, map(on_one_line, emulator.store.records(emulator.store.ids())))
    assert verify(out).ok


def everything_of(cluster: LocalCluster) -> bytes:
    """Return whatever the scheduler keeps: tasks, events, logs, plugins, and the pickles among these."""
    scheduler = cluster.scheduler
    kept = [
        repr(scheduler.tasks), repr([task.run_spec for task in scheduler.tasks.values()]),
        repr(scheduler.get_logs()), repr(scheduler.get_events()), repr(scheduler.transition_log),
        repr([vars(plugin) for plugin in scheduler.plugins.values()]),
    ]  # fmt: skip
    pickles = [*scheduler.worker_plugins.values(), *scheduler.nanny_plugins.values()]
    return "".join(kept).encode() + b"".join(map(bytes, pickles))


async def test_workers_killed_in_a_loop_and_what_the_scheduler_keeps(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    dice, out, plan = Random(), tmp_path / "out", Plan(all_users=True)
    kept: list[bytes] = []
    async with Emulator(users=USERS, messages=MESSAGES, groups=2, seed=3) as emulator:
        async with AsyncSession(emulator.app) as session, client_of(cluster) as client:
            progress = Progress()

            async def kill() -> None:
                for _ in range(3):
                    before = progress.received
                    while progress.received == before:  # noqa: ASYNC110
                        await asyncio.sleep(0.01)  # other processes are waited for
                    kept.append(everything_of(cluster))
                    if running := pids(cluster):
                        os.kill(dice.choice(running), signal.SIGKILL)

            killer = asyncio.create_task(kill())
            report = await export_with(
                client, session, Credentials(emulator.app, {"X-Tenant": "t3nant-s3cret"}), out, plan,
                budget=SMALL, progress=progress,
            )  # fmt: skip
            killer.cancel()
            await asyncio.gather(killer, return_exceptions=True)
            kept.append(everything_of(cluster))
            logs = repr([await client.get_worker_logs(), await client.get_scheduler_logs()]).encode()
        assert report.complete
        assert report.requests > 30
        assert progress.requests > 30
        assert_all_of(emulator, out)
        kept = b"".join([*kept, logs])
        assert b"messages.list_user" in kept
        for secret in (emulator.app.api_key, "t3nant-s3cret", *emulator.store.people.uids()):
            assert secret.encode() not in kept


async def test_a_scheduler_that_goes_away_is_an_error_and_the_next_run_goes_on(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    plan, out, progress = Plan(all_users=True, format="parquet"), tmp_path / "out", Progress()
    async with Emulator(users=USERS, messages=MESSAGES, groups=2, seed=3) as emulator:
        async with AsyncSession(emulator.app) as session:
            credentials = Credentials(emulator.app, {})
            async with LocalCluster(
                n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", asynchronous=True,
                silence_logs=logging.CRITICAL, protocol="tcp",
            ) as other:  # fmt: skip
                async with connect(other.scheduler_address) as client:
                    work = export_with(
                        client, session, credentials, out, plan, budget=SMALL, progress=progress
                    )
                    run = asyncio.create_task(work)
                    while not progress.written:  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                    await other.close()
                    with pytest.raises(ClusterError, match=r"^the scheduler at tcp://127\S+ is gone"):
                        await run
            written = progress.written
            assert 0 < written < MESSAGES
            async with client_of(cluster) as client:
                report = await export_with(client, session, credentials, out)
            assert report.written == MESSAGES - written
        assert_all_of(emulator, out)
