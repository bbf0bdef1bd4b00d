"""Exports on a Dask cluster: workers that are killed, a scheduler that goes away, and secrets."""

import asyncio
import itertools
import json
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster
from distributed.comm.utils import to_frames

from chatrest import AsyncSession, Pace
from chatrest._cli.root import root
from chatrest.distributed import ClusterError
from chatrest.distributed.attempt_place import JOB_PREFIX, AttemptFolder
from chatrest.distributed.coordinator import ShardLostError
from chatrest.distributed.job import ClusterJob, connect
from chatrest.distributed.shard import Budget, Shard, encode, write_job
from chatrest.distributed.start import export_with
from chatrest.distributed.worker import ExportWork, WorkerJob
from chatrest.export import Phase, Plan, Progress, export, verify
from chatrest.export.plan.app_file import AppReference
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
def service() -> Iterator[EmulatorThread]:
    """A service, whose credentials are in the environment."""
    with (
        EmulatorThread(users=USERS, messages=MESSAGES, groups=2, seed=3) as thread,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in environment(thread).items():
            patch.setenv(name, value)
        yield thread


def environment(service: EmulatorThread) -> dict[str, str]:
    """Return the variables of a worker's process: one that is forked by a server has that one's."""
    return service.env | {"CHATREST_HEADERS": "X-Tenant: t3nant-s3cret"}


@pytest.fixture(scope="module")
def cluster(service: EmulatorThread) -> Iterator[LocalCluster]:
    """Two worker processes, which have credentials in their environment."""
    with LocalCluster(n_workers=2, env=environment(service), **OPTIONS) as cluster:
        yield cluster


@asynccontextmanager
async def client_of(cluster: LocalCluster) -> AsyncIterator[Client]:
    async with connect(cluster.scheduler_address) as client:
        yield client


def pids(cluster: LocalCluster) -> list[int]:
    """Return the processes of the workers that the scheduler knows: one that still begins is not killed."""
    return [worker.pid for worker in list(cluster.scheduler.workers.values())]


def assert_all_of(service: EmulatorThread, out: Path) -> None:
    records = service.ask(lambda emulator: list(emulator.store.records(emulator.store.ids())))
    assert_whole(out, map(on_one_line, records))
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


async def test_a_worker_that_is_killed_and_what_the_cluster_keeps_and_is_sent(
    service: EmulatorThread, cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice, out, plan = Random(), tmp_path / "out", Plan(all_users=True)
    kept, sent, emulator = list[bytes](), list[bytes](), service.emulator

    async def noted(*args: Any, **options: Any) -> Any:
        frames = await to_frames(*args, **options)
        sent.extend(map(bytes, frames))
        return frames

    monkeypatch.setattr(
        "distributed.comm.tcp.to_frames", noted
    )  # of the scheduler and the client, which are here
    async with AsyncSession(emulator.app) as session, client_of(cluster) as client:
        progress = Progress()

        async def kill() -> None:
            while not progress.received:  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # other processes are waited for
            kept.append(everything_of(cluster))
            os.kill(dice.choice(pids(cluster)), signal.SIGKILL)

        killer = asyncio.create_task(kill())
        report = await export_with(
            client, session, out, plan, budget=SMALL, pace=FAST, progress=progress
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
    assert_all_of(service, out)
    text = b"".join([*kept, logs])
    assert b"messages.list_user" in text
    assert b"chatrest.distributed.plugin" in b"".join(sent)
    for secret in (emulator.app.api_key, "t3nant-s3cret"):
        assert secret.encode() not in b"".join([text, *sent])
    text = re.sub(rb"messages\.list_user-[0-9]+-job-", b"", text)  # the tenth task is of no user-010
    for uid in service.ask(lambda emulator: list(emulator.store.people.uids())):
        assert uid.encode() not in text


async def test_a_scheduler_that_goes_away_is_an_error_and_the_next_run_goes_on(
    service: EmulatorThread, cluster: LocalCluster, tmp_path: Path
) -> None:
    plan, out, progress = Plan(all_users=True, format="parquet"), tmp_path / "out", Progress()
    async with AsyncSession(service.emulator.app) as session:
        other = await LocalCluster(**(OPTIONS | IN_THIS_PROCESS))
        async with connect(other.scheduler_address) as client:
            work = export_with(client, session, out, plan, budget=SMALL, pace=FAST, progress=progress)
            run = asyncio.create_task(work)
            while not progress.written:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await other.close()
            with pytest.raises(ClusterError, match=r"^the scheduler at tcp://127\S+ is gone"):
                await run
        written = progress.written
        assert 0 < written < MESSAGES
        async with client_of(cluster) as client:
            report = await export_with(client, session, out, pace=FAST)
        assert report.written == MESSAGES - written
    assert_all_of(service, out)


def test_the_command_reads_with_a_cluster(
    service: EmulatorThread, cluster: LocalCluster, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    args = ["export", str(out), "--dask", cluster.scheduler_address, "--partition", "month", "--json"]
    result = CliRunner().invoke(root, args)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["messages"], summary["complete"]) == (MESSAGES, True)
    assert summary["requests"] > USERS
    assert verify(out).ok
    assert len(raws_of(out)) == MESSAGES


def test_the_command_reads_all_apps_of_a_file_with_a_cluster(
    service: EmulatorThread, cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out, app = tmp_path / "apps.toml", tmp_path / "out", service.emulator.app
    address, names = f'base_url = "{app.base_url}"\n', {app.app_id: "CHATREST_API_KEY", "game": "GAME_KEY"}
    file.write_text(
        "".join(f'[[app]]\nid = "{name}"\nkey_env = "{key}"\n{address}' for name, key in names.items())
    )
    monkeypatch.setenv("GAME_KEY", app.api_key)  # the workers lack it
    args = ["export", str(out), "--apps", str(file), "--dask", cluster.scheduler_address, "--json"]
    result = CliRunner().invoke(root, [*args, "--partition", "month"])
    assert result.exit_code == 1, result.output
    summary = json.loads(result.stdout)
    assert [(each["app"], each["status"]) for each in summary["apps"]] == [(app.app_id, 0), ("game", 1)]
    *_, reason = (line for line in result.stderr.splitlines() if line.startswith("chatrest: game: "))
    assert reason.count(" lacks GAME_KEY") == 2
    assert_all_of(service, out / app.app_id)


@pytest.mark.parametrize("source", ["key_env", "key_file", "key_command"])
def test_workers_read_the_key_of_the_app_that_is_named_where_its_file_says(
    service: EmulatorThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    app, file, key = service.emulator.app, tmp_path / "apps.toml", tmp_path / "key"
    key.write_text(app.api_key)
    value = {"key_env": "SHOP_KEY", "key_file": "key", "key_command": f"cat {key}"}[source]
    file.write_text(
        f'[[app]]\nname = "shop"\nid = "{app.app_id}"\n{source} = "{value}"\nbase_url = "{app.base_url}"\n'
    )
    file.chmod(0o600)
    monkeypatch.setenv("CHATREST_APPS_FILE", str(file))
    monkeypatch.setenv("SHOP_KEY", app.api_key)
    monkeypatch.delenv("CHATREST_API_KEY")
    args = ["--app", "shop", "export", str(tmp_path / "out"), "--partition", "month", "--dask"]
    with LocalCluster(**(OPTIONS | IN_THIS_PROCESS | {"asynchronous": False})) as near:
        result = CliRunner().invoke(root, [*args, near.scheduler_address])
    if source == "key_command":  # nothing of a program goes to a worker
        assert result.exit_code == 1
        assert "has no credentials: the environment lacks CHATREST_API_KEY" in result.stderr
    else:
        assert result.exit_code == 0, result.output
        assert_all_of(service, tmp_path / "out")


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["--dask", "scheduler:8786"], 2, "dask = 'scheduler:8786': expected tcp://HOST:PORT"),
        (["--dask", "local:0"], 2, "dask = 'local:0': expected tcp://HOST:PORT"),
        (["--dask", "tcp://scheduler"], 2, "dask = 'tcp://scheduler': expected tcp://HOST:PORT"),
        (["--dask", "tcp:/scheduler:8786"], 2, "expected tcp://HOST:PORT"),
        (["--dask", "tcp://127.0.0.1:9"], 1, "no scheduler answers at tcp://127.0.0.1:9"),
        (
            ["--dask", "tcp://schedular.invalid:8786"],
            1,
            "no scheduler answers at tcp://schedular.invalid:8786",
        ),
        (["--dask", "tls://127.0.0.1:9"], 1, "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"),
        (["--dask", "local:2", "--dry-run"], 2, "--dask"),
    ],
)
def test_what_the_command_says_without_a_cluster(
    args: list[str], status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.distributed.job._CONNECT_SECONDS", 0.3)
    for name, value in (("APP_ID", "a"), ("API_KEY", "k3y"), ("BASE_URL", "http://127.0.0.1:9")):
        monkeypatch.setenv(f"CHATREST_{name}", value)
    result = CliRunner().invoke(root, ["export", str(tmp_path / "out"), *args])
    assert result.exit_code == status, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") <= 4
    assert not (tmp_path / "out").exists()


async def test_what_answers_without_being_a_scheduler_of_this_protocol_is_named_with_the_other_one() -> None:
    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ClusterError, match=rf"; with TLS its address is tls://127\.0\.0\.1:{port}$"):
            async with connect(f"tcp://127.0.0.1:{port}"):
                pass


async def test_processes_of_this_machine_leave_ctrl_c_to_the_command() -> None:
    async with connect("local:1", quiet=True) as client:
        handlers = await client.run(signal.getsignal, signal.SIGINT)
    assert list(handlers.values()) == [signal.SIG_IGN]


async def test_a_worker_that_cannot_read_is_an_error_with_its_address(
    service: EmulatorThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = service.emulator.app
    async with (
        AsyncSession(app) as session,
        LocalCluster(**(OPTIONS | IN_THIS_PROCESS)) as cluster,
        client_of(cluster) as client,
    ):

        async def fails(name: str, value: str | None) -> str:
            with monkeypatch.context() as patch:
                if value is None:
                    patch.delenv(name)
                else:
                    patch.setenv(name, value)
                with pytest.raises(ClusterError) as caught:
                    await export_with(client, session, tmp_path / "out", Plan(users=["user-001"]))
            assert "wr0ng-k3y" not in str(caught.value)
            return str(caught.value)

        text = await fails("CHATREST_API_KEY", "wr0ng-k3y")
        assert re.match(r"the service refuses the key of the worker tcp://127\S+: ", text)
        text = await fails("CHATREST_API_KEY", None)
        assert re.match(
            r"the worker tcp://127\S+ has no credentials: .* CHATREST_API_KEY.* none are sent", text
        )
        text = await fails("CHATREST_APP_ID", "other")
        assert re.search(rf"CHATREST_APP_ID = 'other': expected '{app.app_id}'", text)
        work = ExportWork(str(tmp_path), "job-2")
        with pytest.raises(
            ClusterError, match=r"the worker tcp://127\S+ does not see .*job-2\.new: OUT has to be a"
        ):
            async with ClusterJob(client, app.app_id, "job-2", work) as job:
                await job.submit(encode(Shard(1, "job-2", 9, [], SMALL, 1)), "shard")
        monkeypatch.setattr("chatrest.distributed.job.installed_version", lambda: "0.0")
        with pytest.raises(ClusterError, match=r"the worker tcp://127\S+ has chatrest .*, and not 0.0: all"):
            async with ClusterJob(client, app.app_id, "job-3", work) as job:
                await job.submit(b"", "shard")


async def test_the_end_of_a_job_leaves_those_of_others_alone(service: EmulatorThread, tmp_path: Path) -> None:
    work = ExportWork(str(tmp_path), "job")
    async with LocalCluster(**(OPTIONS | IN_THIS_PROCESS)) as cluster, client_of(cluster) as client:
        async with ClusterJob(client, service.emulator.app.app_id, "job-new", work):
            async with ClusterJob(client, service.emulator.app.app_id, "job-old", work):
                pass
            [worker] = cluster.workers.values()
            assert [name for name in worker.plugins if name.startswith("job-")] == ["job-new"]
        assert not [name for name in worker.plugins if name.startswith("job-")]


class HangingWork:
    """A shard that a worker reads for ever."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.reference: AppReference | None = None

    async def run(self, job: WorkerJob, payload: bytes, leave: Callable[[], object]) -> bytes:
        await asyncio.Event().wait()
        return b""


async def test_a_run_does_not_wait_for_the_shards_of_one_that_was_killed(
    service: EmulatorThread, tmp_path: Path
) -> None:
    out, app, name = tmp_path / "out", service.emulator.app, f"{JOB_PREFIX}0123456789abcdef"
    async with (
        AsyncSession(app) as session,
        LocalCluster(**(OPTIONS | IN_THIS_PROCESS)) as cluster,
        client_of(cluster) as killed,
    ):
        await export(session, out, Plan(users=["user-002"]))
        dead = ClusterJob(killed, app.app_id, name, HangingWork())
        await dead.__aenter__()
        hanging = asyncio.create_task(dead.submit(b"", "shard"))
        [worker] = cluster.workers.values()
        while not worker.state.executing_count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        write_job(AttemptFolder(out), name, app.app_id, Plan(users=["user-001"]), [])
        async with client_of(cluster) as client, asyncio.timeout(60):
            plan = Plan(users=["user-002", "user-001"])
            report = await export_with(client, session, out, plan, change_plan=True, pace=FAST)
        assert report.complete
        assert name not in worker.plugins
        with pytest.raises(ShardLostError):
            await hanging


async def test_a_cluster_without_workers_is_an_error_after_a_minute(tmp_path: Path) -> None:
    class Empty:
        status = "running"
        scheduler = None

        async def nthreads(self) -> dict[str, int]:
            return {}

    client: Any = Empty()
    ticks = itertools.count(0, 30)
    phases: list[tuple[Phase, str]] = []

    class Noted(Progress):
        def enter(self, phase: Phase, detail: str = "") -> None:
            phases.append((phase, detail))
            super().enter(phase, detail)

    work = ExportWork(str(tmp_path), "job-1")
    job = ClusterJob(client, "a", "job-1", work, progress=Noted(), clock=lambda: next(ticks))
    with pytest.raises(ClusterError, match="has no workers"):
        await job.slots()
    assert (Phase.WAITING_FOR_WORKER, "its address") in phases


async def test_a_worker_without_the_package_is_an_error_with_what_to_install(tmp_path: Path) -> None:
    class Unequipped:
        """A client of workers that cannot import the plugin: Dask raises what they say as a text."""

        status = "running"
        scheduler = None

        async def register_plugin(self, plugin: object, name: str) -> None:
            raise Exception("ModuleNotFoundError(\"No module named 'chatrest'\")")  # noqa: TRY002

        async def unregister_worker_plugin(self, name: str) -> None:
            ended.append(name)
            raise KeyError(name)  # of a worker that has no such plugin

    ended = list[str]()
    client: Any = Unequipped()
    with pytest.raises(ClusterError, match=r"^a worker cannot run it: .*'chatrest'.*; it needs the extra"):
        async with ClusterJob(client, "a", "job-1", ExportWork(str(tmp_path), "job-1")):
            pass
    assert ended == ["job-1"], "the scheduler keeps nothing of it"
