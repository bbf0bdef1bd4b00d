"""Exports on a Dask cluster: workers that are killed, what the cluster keeps, and the command."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster
from distributed.comm.utils import to_frames

from chatrest import AsyncSession, RequestInvalidError
from chatrest._cli.root import root
from chatrest.distributed import ClusterError, export
from chatrest.distributed.cluster import connect
from chatrest.distributed.start import app_exporter, export_with
from chatrest.emulator import Emulator, HalfOpen
from chatrest.export import AppExport, Plan, Progress, export_apps, read, verify
from tests.cli.conftest import EmulatorThread
from tests.distributed.clusters import FAST, IN_THIS_PROCESS, OPTIONS, near_cluster
from tests.part_service import parts_in

USERS, MESSAGES, PARTS = 10, 500, 5

pytestmark = pytest.mark.usefixtures("fast_ramp")


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
def near(service: EmulatorThread) -> Iterator[str]:
    """The address of a cluster of two workers in this process, for commands, which have their own loops."""
    with LocalCluster(**(OPTIONS | IN_THIS_PROCESS | {"asynchronous": False, "n_workers": 2})) as cluster:
        yield cluster.scheduler_address


def assert_all_of(service: EmulatorThread, out: Path | str) -> None:
    """Assert that an export has each message of a service once."""
    ids = service.ask(lambda emulator: list(emulator.store.ids()))
    assert sorted(int(message.id) for message in read(out)) == sorted(map(int, ids))
    assert verify(out).ok


def hold(emulator: Emulator) -> None:
    """Let no request for messages of a user get a reply."""
    emulator.requests.clear()
    emulator.weather.add(HalfOpen(route="messages.list_user"))


def release(emulator: Emulator) -> None:
    emulator.weather.clear()
    emulator.weather.release()


async def begun(emulator: Emulator) -> None:
    """Wait until a request of a worker is held."""
    while not any(each.fault for each in list(emulator.requests)):  # noqa: ASYNC110
        await asyncio.sleep(0.01)  # other threads and processes are waited for


def everything_of(cluster: LocalCluster) -> bytes:
    """Return all that the scheduler keeps: tasks, events, logs, plugins, and the pickles among these."""
    scheduler = cluster.scheduler
    texts = [
        repr(scheduler.tasks), repr([task.run_spec for task in scheduler.tasks.values()]),
        repr(scheduler.get_logs()), repr(scheduler.get_events()), repr(scheduler.transition_log),
        repr([vars(plugin) for plugin in scheduler.plugins.values()]),
    ]  # fmt: skip
    pickles = [*scheduler.worker_plugins.values(), *scheduler.nanny_plugins.values()]
    return "".join(texts).encode() + b"".join(map(bytes, pickles))


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.nightly)])
async def test_what_the_cluster_keeps_and_is_sent_also_by_workers_that_are_killed(
    service: EmulatorThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: bool
) -> None:
    dice, out, plan, emulator = Random(0), tmp_path / "out", Plan(all_users=True), service.emulator
    options: dict[str, Any] = {"processes": True, "env": environment(service)} if processes else {}
    texts, sent = list[bytes](), list[bytes]()

    async def noted(*args: Any, **options: Any) -> Any:
        frames = await to_frames(*args, **options)
        sent.extend(map(bytes, frames))
        return frames

    monkeypatch.setattr("distributed.comm.tcp.to_frames", noted)  # of those that are in this process
    async with (
        AsyncSession(emulator.app) as session,
        near_cluster(n_workers=2, **options) as (cluster, client),
    ):
        progress = Progress()

        async def look_and_kill() -> None:
            await begun(emulator)
            texts.append(everything_of(cluster))
            if processes:  # one that still begins, which the scheduler does not know, is not killed
                pids = [worker.pid for worker in cluster.scheduler.workers.values()]
                os.kill(dice.choice(pids), signal.SIGKILL)

            service.ask(release)

        service.ask(hold)
        looking = asyncio.create_task(look_and_kill())
        report = await export_with(client, session, out, plan, parts=PARTS, pace=FAST, progress=progress)
        await looking
        texts.append(everything_of(cluster))
        logs = repr([await client.get_worker_logs(), await client.get_scheduler_logs()]).encode()
    assert report.complete, report
    assert report.messages == MESSAGES
    assert report.requests > USERS
    assert progress.requests > USERS
    assert not progress.active
    assert_all_of(service, out)
    text = b"".join([*texts, logs])
    assert b"part-0" in text
    assert b"chatrest.distributed.plugin" in b"".join(sent)
    for secret in (emulator.app.api_key, "t3nant-s3cret"):
        assert secret.encode() not in b"".join([text, *sent])
    for uid in service.ask(lambda emulator: list(emulator.store.people.uids())):
        assert uid.encode() not in text


async def test_an_export_is_continued_on_a_cluster_and_off_it(
    service: EmulatorThread, tmp_path: Path
) -> None:
    from chatrest.export import export as export_here

    out, app = tmp_path / "out", service.emulator.app
    async with near_cluster(threads_per_worker=2) as (_, client), AsyncSession(app) as session:
        await export_here(session, out, Plan(all_users=True), parts=PARTS, part=2)
        first = await export(client, app, out, pace=FAST)
        assert first.complete
        again = await export_here(session, out)
        assert (again.complete, again.written) == (True, 0)
        other = await export(client, app, tmp_path / "other", Plan(users=["user-001"]), pace=FAST)
        assert other.complete
    assert_all_of(service, out)
    assert parts_in(tmp_path / "other").parts == 8, "four for each thread"


async def test_an_export_that_is_not_of_parts_is_refused(service: EmulatorThread, tmp_path: Path) -> None:
    from chatrest.export import export as export_here

    app = service.emulator.app
    async with near_cluster() as (_, client), AsyncSession(app) as session:
        await export_here(session, tmp_path, Plan(users=["user-001"]))
        with pytest.raises(RequestInvalidError, match="holds an export that is not of parts"):
            await export(client, app, tmp_path)


async def test_a_scheduler_that_goes_away_and_the_next_run_goes_on(
    service: EmulatorThread, tmp_path: Path
) -> None:
    out, app, progress = tmp_path / "out", service.emulator.app, Progress()
    async with near_cluster() as (other, client):
        work = export(client, app, out, Plan(all_users=True), parts=PARTS, pace=FAST, progress=progress)
        service.ask(hold)
        run = asyncio.create_task(work)
        await begun(service.emulator)
        await other.close()
        with pytest.raises(ClusterError, match=r"^the scheduler at tcp://127\S+ is gone"):
            await run
        service.ask(release)
    async with near_cluster() as (_, client):
        assert (await export(client, app, out, pace=FAST)).complete
    assert_all_of(service, out)


# ── the command ──


def test_the_command_says_how_many_parts_it_makes(service: EmulatorThread, near: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = ["export", str(out), "--dask", near, "--partition", "month", "--json"]
    result = CliRunner().invoke(root, args)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["messages"], summary["complete"]) == (MESSAGES, True)
    assert summary["requests"] > USERS
    assert f"{out} becomes an export of 8 parts" in result.stderr
    assert_all_of(service, out)


def test_the_command_reads_all_apps_of_a_file_with_a_cluster(
    service: EmulatorThread, near: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out, app = tmp_path / "apps.toml", tmp_path / "out", service.emulator.app
    address, names = f'base_url = "{app.base_url}"\n', {app.app_id: "CHATREST_API_KEY", "game": "GAME_KEY"}
    file.write_text(
        "".join(f'[[app]]\nid = "{name}"\nkey_env = "{key}"\n{address}' for name, key in names.items())
    )
    monkeypatch.setenv("GAME_KEY", "wr0ng-k3y")
    args = ["export", str(out), "--apps", str(file), "--dask", near, "--json"]
    result = CliRunner().invoke(root, [*args, "--partition", "month"])
    assert result.exit_code == 1, result.output
    summary = json.loads(result.stdout)
    assert [(each["app"], each["status"]) for each in summary["apps"]] == [(app.app_id, 0), ("game", 1)]
    *_, reason = (line for line in result.stderr.splitlines() if line.startswith("chatrest: game: "))
    assert "set GAME_KEY to a valid key" in reason
    assert_all_of(service, summary["apps"][0]["folder"])


@pytest.mark.parametrize("source", ["key_env", "key_file"])
def test_workers_read_the_key_of_the_app_that_is_named_where_its_file_says(
    service: EmulatorThread, near: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    app, file, key = service.emulator.app, tmp_path / "apps.toml", tmp_path / "key"
    key.write_text(app.api_key)
    value = {"key_env": "SHOP_KEY", "key_file": "key"}[source]
    file.write_text(
        f'[[app]]\nname = "shop"\nid = "{app.app_id}"\n{source} = "{value}"\nbase_url = "{app.base_url}"\n'
    )
    monkeypatch.setenv("CHATREST_APPS_FILE", str(file))
    monkeypatch.setenv("SHOP_KEY", app.api_key)
    monkeypatch.delenv("CHATREST_API_KEY")
    args = ["--app", "shop", "export", str(tmp_path / "out"), "--parts", "2", "--dask"]
    result = CliRunner().invoke(root, [*args, near])
    assert result.exit_code == 0, result.output
    assert_all_of(service, tmp_path / "out")


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["--dask", "scheduler:8786"], 2, "--dask 'scheduler:8786': expected tcp://HOST:PORT"),
        (["--dask", "local:0"], 2, "--dask 'local:0': expected tcp://HOST:PORT"),
        (["--dask", "tcp://scheduler"], 2, "--dask 'tcp://scheduler': expected tcp://HOST:PORT"),
        (["--dask", "tcp:/scheduler:8786"], 2, "expected tcp://HOST:PORT"),
        (["--dask", "tcp://127.0.0.1:9"], 1, "no scheduler answers at tcp://127.0.0.1:9"),
        (
            ["--dask", "tcp://schedular.invalid:8786"],
            1,
            "no scheduler answers at tcp://schedular.invalid:8786",
        ),
        (["--dask", "tls://127.0.0.1:9"], 1, "TLS"),
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
    assert result.stderr.count("\n") <= 4
    assert not (tmp_path / "out").exists()


async def test_processes_of_this_machine_leave_ctrl_c_to_the_command() -> None:
    async with connect("local:1", quiet=True) as client:
        handlers = await client.run(signal.getsignal, signal.SIGINT)
    assert list(handlers.values()) == [signal.SIG_IGN]


# ── many apps ──


@asynccontextmanager
async def apps_on_a_cluster(*emulators: Emulator) -> AsyncIterator[tuple[Client, list[AppExport]]]:
    """A cluster of two threads, and running services, whose keys have the names `KEY_0`, `KEY_1` …"""
    async with AsyncExitStack() as stack:
        for each in emulators:
            await stack.enter_async_context(each)
        _, client = await stack.enter_async_context(near_cluster(threads_per_worker=2))
        yield client, [AppExport(each.app, key_env=f"KEY_{n}") for n, each in enumerate(emulators)]


def emulated(number: int) -> Emulator:
    return Emulator(app_id=f"app-{number}", users=3, messages=20 + number, seed=number)


async def test_an_app_whose_key_a_worker_lacks_fails_and_the_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(all_users=True)
    async with apps_on_a_cluster(emulated(0), emulated(1), emulated(2)) as (client, apps):
        monkeypatch.setenv("KEY_0", apps[0].app.api_key)
        monkeypatch.setenv("KEY_2", "wr0ng-k3y")
        options: Any = {"at_once": 2, "parts": 2, "export": app_exporter(client, apps, 2)}
        results = await export_apps(apps, tmp_path, plan, **options)
        assert [result.report is not None for result in results] == [True, False, False]
        results[0].check()
        assert re.match(r"the worker tcp://\S+ has no credentials: .* lacks KEY_1; ", str(results[1].error))
        assert re.match(r"the service refuses the key of the worker tcp://", str(results[2].error))
        monkeypatch.setenv("KEY_1", apps[1].app.api_key)
        (tmp_path / "key").write_text(apps[2].app.api_key)
        apps[2] = AppExport(apps[2].app, key_file=str(tmp_path / "key"))
        options["export"] = app_exporter(client, apps, 2)
        for result in await export_apps(apps, tmp_path, plan, **options):
            result.check()
            assert sum(1 for _ in read(result.folder)) == 20 + int(result.app_id[-1])
        with pytest.raises(RequestInvalidError, match=r"app app-0: .*: expected.* key_env or key_file"):
            app_exporter(client, [AppExport(apps[0].app)], 2)


async def test_a_service_that_hangs_keeps_no_thread_from_another_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, slow = Plan(all_users=True), emulated(0)
    hold(slow)
    async with apps_on_a_cluster(slow, emulated(1)) as (client, apps):
        for each in apps:
            monkeypatch.setenv(each.key_env or "", each.app.api_key)
        options: Any = {"parts": 2, "export": app_exporter(client, apps, 2)}
        hanging = asyncio.create_task(export_apps(apps[:1], tmp_path, plan, **options))
        await begun(slow)
        [other] = await export_apps(apps[1:], tmp_path, plan, **options)
        other.check()
        assert not hanging.done()
        release(slow)
        [result] = await hanging
        result.check()
