"""Exports on a Dask cluster: workers that are killed, a scheduler that goes away, and secrets."""

import asyncio
import itertools
import json
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

from chatrest import App, AsyncSession, Pace
from chatrest.cli.root import root
from chatrest.distributed import ClusterError
from chatrest.distributed.attempt_folder import AttemptFolder
from chatrest.distributed.cluster import connect
from chatrest.distributed.credentials import Credentials
from chatrest.distributed.dask_runner import DaskRunner
from chatrest.distributed.rate_coordinator import RateCoordinator
from chatrest.distributed.shard import Budget, Shard, ShardJob, encode
from chatrest.distributed.start import export_with
from chatrest.emulator import Emulator
from chatrest.export import Phase, Plan, Progress, verify
from tests.cli.conftest import EmulatorThread
from tests.exporting import assert_whole, on_one_line, raws_of

USERS, MESSAGES = 20, 2_000
SMALL = Budget(requests=10, seconds=20.0)
FAST = Pace(rate=60_000)
OPTIONS: dict[str, Any] = {
    "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0,
    "silence_logs": logging.CRITICAL,
}  # fmt: skip
IN_THIS_PROCESS: dict[str, Any] = {
    "n_workers": 1,
    "processes": False,
    "asynchronous": True,
    "protocol": "tcp",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two worker processes, whose environment has no credentials."""
    with LocalCluster(n_workers=2, **OPTIONS) as cluster:
        yield cluster


@asynccontextmanager
async def client_of(cluster: LocalCluster) -> AsyncIterator[Client]:
    async with connect(cluster.scheduler_address) as client:
        yield client


def pids(cluster: LocalCluster) -> list[int]:
    """Return the processes of the workers that the scheduler knows: one that still begins is not killed."""
    return [worker.pid for worker in list(cluster.scheduler.workers.values())]


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


async def test_a_worker_that_is_killed_and_what_the_scheduler_keeps(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    dice, out, plan = Random(), tmp_path / "out", Plan(all_users=True)
    kept: list[bytes] = []
    async with Emulator(users=USERS, messages=MESSAGES, groups=2, seed=3) as emulator:
        async with AsyncSession(emulator.app) as session, client_of(cluster) as client:
            progress = Progress()

            async def kill() -> None:
                while not progress.received:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)  # other processes are waited for
                kept.append(everything_of(cluster))
                os.kill(dice.choice(pids(cluster)), signal.SIGKILL)

            killer = asyncio.create_task(kill())
            report = await export_with(
                client, session, Credentials(emulator.app, {"X-Tenant": "t3nant-s3cret"}), out, plan,
                budget=SMALL, pace=FAST, progress=progress,
            )  # fmt: skip
            killer.cancel()
            await asyncio.gather(killer, return_exceptions=True)
            kept.append(everything_of(cluster))
            logs = repr([await client.get_worker_logs(), await client.get_scheduler_logs()]).encode()
        assert report.complete
        assert report.requests > USERS
        assert progress.requests > USERS
        assert (progress.done, progress.written) == (USERS, MESSAGES)
        assert progress.covered == progress.ids
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
            other = await LocalCluster(**(OPTIONS | IN_THIS_PROCESS))
            async with connect(other.scheduler_address) as client:
                work = export_with(
                    client, session, credentials, out, plan, budget=SMALL, pace=FAST, progress=progress
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
                report = await export_with(client, session, credentials, out, pace=FAST)
            assert report.written == MESSAGES - written
        assert_all_of(emulator, out)


def test_the_command_reads_with_a_cluster(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    args = ["export", str(out), "--dask", cluster.scheduler_address, "--partition", "month", "--json"]
    with EmulatorThread(users=5, messages=300, groups=2, seed=3) as thread:
        for name, value in thread.env.items():
            monkeypatch.setenv(name, value)
        result = CliRunner().invoke(root, args)
        assert result.exit_code == 0, result.output
        summary = json.loads(result.stdout)
        assert (summary["messages"], summary["complete"]) == (300, True)
        assert summary["requests"] > 5
    assert verify(out).ok
    assert len(raws_of(out)) == 300


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["--dask", "scheduler:8786"], 2, "dask = 'scheduler:8786': allowed is tcp://HOST:PORT"),
        (["--dask", "local:0"], 2, "dask = 'local:0': allowed is tcp://HOST:PORT"),
        (["--dask", "tcp://127.0.0.1:9"], 1, "no scheduler answers at tcp://127.0.0.1:9"),
        (["--dask", "local:2", "--dry-run"], 2, "--dask"),
    ],
)
def test_what_the_command_says_without_a_cluster(
    args: list[str], status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.distributed.cluster._CONNECT_SECONDS", 0.3)
    for name, value in (("APP_ID", "a"), ("API_KEY", "k3y"), ("BASE_URL", "http://127.0.0.1:9")):
        monkeypatch.setenv(f"CHATREST_{name}", value)
    result = CliRunner().invoke(root, ["export", str(tmp_path / "out"), *args])
    assert result.exit_code == status, result.output
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


async def test_a_worker_that_cannot_read_is_an_error_with_its_address(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Emulator(users=5, messages=50, groups=0) as emulator:
        app = emulator.app
        wrong = Credentials(App(app.app_id, "wr0ng-k3y", base_url=app.chat_url), {})
        async with AsyncSession(app) as session, client_of(cluster) as client:

            async def fails(credentials: Credentials, out: Path) -> str:
                with pytest.raises(ClusterError) as caught:
                    await export_with(client, session, credentials, out)
                assert "wr0ng-k3y" not in str(caught.value)
                return str(caught.value)

            text = await fails(wrong, tmp_path / "refused")
            assert re.match(r"the service refuses the key of the worker tcp://127\S+: ", text)
            job = encode(ShardJob(version="0.0", app_id=app.app_id, plan=Plan().encoded(), sources=[]))
            folder = AttemptFolder(tmp_path)
            folder.write_job("job-1", job)
            rate = RateCoordinator(client, app.app_id, None, "job-1")
            async with DaskRunner(client, Credentials(app, {}), str(tmp_path), rate, Progress()) as runner:
                for number, text in (
                    (1, "has chatrest .*, and not 0.0: all"),
                    (2, r"job-2\.new: OUT has to be a"),
                ):
                    with pytest.raises(ClusterError, match=rf"the worker tcp://127\S+ .*{text}"):
                        await runner.run(Shard(number, f"job-{number}", 9, [], SMALL, 1), "messages.list")
            monkeypatch.setattr("chatrest.distributed.dask_runner.is_private", lambda address: False)
            text = await fails(Credentials(app, {}), tmp_path / "open")
            assert text.startswith("the workers of tcp://127")
            assert "start the workers with CHATREST_APP_ID" in text


async def test_a_cluster_without_workers_is_an_error_after_a_minute(tmp_path: Path) -> None:
    class Empty:
        status = "running"
        scheduler = None

        async def nthreads(self) -> dict[str, int]:
            return {}

    client: Any = Empty()
    ticks = itertools.count(0, 30)
    app = App("a", "k3y", base_url="http://127.0.0.1:9")
    rate = RateCoordinator(client, "a", None, "job-1")
    phases: list[tuple[Phase, str]] = []

    class Noted(Progress):
        def enter(self, phase: Phase, detail: str = "") -> None:
            phases.append((phase, detail))
            super().enter(phase, detail)

    runner = DaskRunner(
        client, Credentials(app, {}), str(tmp_path), rate, Noted(), clock=lambda: next(ticks),
    )  # fmt: skip
    with pytest.raises(ClusterError, match="has no workers"):
        await runner.slots()
    assert (Phase.WAITING_FOR_WORKER, "its address") in phases
