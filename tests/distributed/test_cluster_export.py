"""Exports on a Dask cluster: workers that are killed, what the cluster keeps, and the command."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from click.testing import CliRunner
from distributed import LocalCluster
from distributed.comm.utils import to_frames

from chatrest import App, AsyncSession, RequestInvalidError
from chatrest._cli.root import root
from chatrest.distributed import ClusterError, export
from chatrest.distributed.cluster import NoResultError
from chatrest.distributed.cluster_export import export_with, run_on_cluster
from chatrest.distributed.job import PartHeldError
from chatrest.emulator import Emulator, HalfOpen
from chatrest.export import Plan, Progress, Report, export as export_here, read, verify
from tests.cli.conftest import EmulatorThread
from tests.distributed.clusters import FAST, IN_THIS_PROCESS, OPTIONS, near_cluster, until
from tests.support.part_service import parts_in

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


def assert_all_of(service: EmulatorThread, out: Path | str) -> None:
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
    await until(lambda: any(each.fault for each in list(emulator.requests)))


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
async def test_the_cluster_gets_no_secret_even_from_killed_workers(
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
        work = export_with(client, session, out, plan, parts=PARTS, pace=FAST, progress=progress)
        report, _ = await asyncio.gather(work, look_and_kill())
        texts.append(everything_of(cluster))
        logs = repr([await client.get_worker_logs(), await client.get_scheduler_logs()]).encode()
    assert report.complete, report
    assert report.messages == MESSAGES
    assert report.requests > USERS
    assert progress.requests > USERS
    assert_all_of(service, out)
    text = b"".join([*texts, logs])
    assert b"part-0" in text
    assert b"chatrest.distributed.plugin" in b"".join(sent)
    for secret in (emulator.app.api_key, "t3nant-s3cret"):
        assert secret.encode() not in b"".join([text, *sent])
    for uid in service.ask(lambda emulator: list(emulator.store.people.uids())):
        assert uid.encode() not in text


async def test_an_export_of_parts_is_continued_with_and_without_a_cluster(
    service: EmulatorThread, tmp_path: Path
) -> None:
    out, app, user = tmp_path / "out", service.emulator.app, Plan(users=["user-001"])
    async with near_cluster(threads_per_worker=2) as (_, client), AsyncSession(app) as session:
        await export_here(session, out, Plan(all_users=True), parts=PARTS, part=2)
        assert (await export(client, app, out, pace=FAST)).complete
        again = await export_here(session, out)
        assert (again.complete, again.written) == (True, 0)
        assert (await export(client, app, tmp_path / "other", user, pace=FAST)).complete
        await export_here(session, tmp_path / "whole", user)
        with pytest.raises(RequestInvalidError, match="holds an export that is not of parts"):
            await export(client, app, tmp_path / "whole")
    assert_all_of(service, out)
    assert parts_in(tmp_path / "other").parts == 8, "four for each thread"


async def test_the_next_run_continues_after_a_scheduler_is_lost(
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


def test_the_command_says_how_many_parts_it_makes(service: EmulatorThread, tmp_path: Path) -> None:
    out, options = tmp_path / "out", OPTIONS | IN_THIS_PROCESS | {"asynchronous": False, "n_workers": 2}
    with LocalCluster(**options) as cluster:  # the command has its own loop
        address = cluster.scheduler_address
        args = ["export", str(out), "--dask", address, "--partition", "month", "--json"]
        result = CliRunner().invoke(root, args)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["messages"], summary["complete"]) == (MESSAGES, True)
    assert summary["requests"] > USERS
    assert f"{out} becomes an export of 8 parts" in result.stderr
    assert_all_of(service, out)


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["--dask", "scheduler:8786"], 2, "--dask 'scheduler:8786': expected tcp://HOST:PORT"),
        (["--dask", "local:0"], 2, "--dask 'local:0': expected tcp://HOST:PORT"),
        (["--dask", "tcp:/scheduler:8786"], 2, "expected tcp://HOST:PORT"),
        (["--dask", "tcp://127.0.0.1:9"], 1, "no scheduler answers at tcp://127.0.0.1:9"),
        (["--dask", "tls://127.0.0.1:9"], 1, "TLS"),
        (["--dask", "local:2", "--dry-run"], 2, "--dask"),
    ],
)
def test_the_command_reports_a_missing_cluster(
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


async def test_a_client_that_is_none_of_dask_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match="client = None: expected a distributed"):
        await export(cast("Any", None), App("app", "k3y"), tmp_path / "out")


class Parts:
    """Parts that end in a given way; each end is the next one of its part."""

    def __init__(self, **ends: list[str]) -> None:
        self.ends = {int(name[1:]): iter(texts) for name, texts in ends.items()}
        self.left = set(self.ends)
        self.naps = 0

    async def run(self, number: int) -> Report:
        end = next(self.ends[number])
        if end == "held":
            raise PartHeldError
        if end == "lost":
            raise NoResultError("its workers died")
        if end == "done":
            self.left.discard(number)
        return Report(written=1, complete=end == "done")

    async def nap(self, seconds: float) -> None:
        self.naps += 1

    async def rounds(self) -> dict[int, list[Report]]:
        async def left() -> list[int]:
            return sorted(self.left)

        job: Any = self
        return await run_on_cluster(job, left, 2, self.nap)


async def test_parts_are_run_until_nothing_of_any_is_left() -> None:
    parts = Parts(p0=["done"], p1=["left", "lost", "done"], p2=["held", "held", "done"])
    reports = await parts.rounds()
    assert {number: len(each) for number, each in reports.items()} == {0: 1, 1: 2, 2: 1}
    assert all(each[-1].complete for each in reports.values())
    assert parts.naps == 0, "others ran while one was held"
    parts = Parts(p0=["held", "held", "done"])
    await parts.rounds()
    assert parts.naps == 2


async def test_a_part_that_is_lost_three_times_is_left_to_the_next_run() -> None:
    reports = await Parts(p0=["lost"] * 3, p1=["done"]).rounds()
    assert reports[0][0].reasons == ["it failed 3 times: its workers died"]
    assert reports[1][0].complete
