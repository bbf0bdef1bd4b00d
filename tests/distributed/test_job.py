"""A job on a cluster: workers, a scheduler and a command that die, or cannot do their part."""

import asyncio
import itertools
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker

from chatrest.distributed.job import (
    ClusterError,
    ClusterJob,
    PartHeldError,
    PartLostError,
    connect,
    workers_of,
)
from chatrest.distributed.plugin import JobPlugin
from chatrest.distributed.rate_messages import RateReport
from chatrest.distributed.rate_shares import RateShares
from chatrest.distributed.start import run_on_cluster
from chatrest.distributed.worker import PartWork, run_payload
from chatrest.emulator import Emulator
from chatrest.export import Phase, Progress, Report
from tests.distributed import clusters
from tests.distributed.clusters import job_of, leave_parts, near_cluster, until


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The credentials of the app `app`, in the environment of workers that are in this process."""
    for name, value in (("APP_ID", "app"), ("API_KEY", "k3y"), ("BASE_URL", "http://127.0.0.1:9")):
        monkeypatch.setenv(f"CHATREST_{name}", value)
    clusters.runs.clear()


async def test_a_part_is_run_and_its_numbers_arrive(tmp_path: Path) -> None:
    leave_parts(tmp_path)
    async with near_cluster() as (_, client), job_of(client, tmp_path, clusters.ends) as job:
        reports = await asyncio.gather(job.run(1), job.run(2))
        assert [report.written for report in reports] == [1, 2]
        await until(lambda: job.progress.written == 3)


async def test_a_part_that_is_run_again_on_the_same_worker_gets_a_share_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run says that it has ended, so that the next one gets its share at once."""
    reports, receive = list[RateReport](), RateShares.receive

    def note(shares: RateShares, report: RateReport, now: float) -> bool:
        reports.append(report)
        return receive(shares, report, now)

    monkeypatch.setattr(RateShares, "receive", note)
    async with Emulator(app_id="app", users=2) as emulator:
        for name, value in (("API_KEY", emulator.app.api_key), ("BASE_URL", emulator.app.chat_url)):
            monkeypatch.setenv(f"CHATREST_{name}", value)
        leave_parts(tmp_path)
        async with near_cluster() as (_, client), job_of(client, tmp_path, clusters.asks) as job:
            for _ in range(3):
                assert (await job.run(1)).complete
            await until(lambda: len({each.task for each in reports if each.is_last}) == 3)
        assert len(emulator.requests) == 6


async def test_a_worker_with_a_full_disk_gets_no_more_parts_and_the_others_run_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    leave_parts(tmp_path)
    async with near_cluster(n_workers=2) as (cluster, client):
        async with job_of(client, tmp_path, clusters.needs_room, full=[0]) as job:
            reports = await asyncio.gather(*map(job.run, range(4)))
        assert [report.messages for report in reports] == [1] * 4, "all by the other worker"
        full = cluster.workers[0].address
        assert set(job.unfit) <= {full}
        for text in job.unfit.values():
            assert text.startswith(f"the worker {full} cannot write: [Errno 28] No space left on device")
            assert text in caplog.text
        async with job_of(client, tmp_path, clusters.needs_room, "chatrest-2", full=[0, 1]) as job:
            with pytest.raises(ClusterError) as caught:
                await job.run(1)
        assert str(caught.value).count("No space left on device") == 2, "no worker is left"


@pytest.mark.parametrize(
    ("variables", "fault"),
    [
        ({"APP_ID": "other"}, "cannot read: CHATREST_APP_ID = 'other': expected 'app'$"),
        (  # an app of the same id is there, with other messages
            {"BASE_URL": "http://127.0.0.1:8"},
            "cannot read: its variables name the service http://127.0.0.1:8: expected http://127.0.0.1:9$",
        ),
    ],
)
async def test_a_worker_of_another_app_or_deployment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], fault: str
) -> None:
    leave_parts(tmp_path)
    async with near_cluster() as (_, client), job_of(client, tmp_path, clusters.ends) as job:
        for name, value in variables.items():
            monkeypatch.setenv(f"CHATREST_{name}", value)
        with pytest.raises(ClusterError, match=rf"^the worker tcp://127\S+ {fault}"):
            await job.run(1)


async def test_a_worker_that_does_not_see_the_export_or_has_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with near_cluster() as (_, client):
        expected = "expected a folder that all machines share, or an address of an object store"
        async with job_of(client, tmp_path, clusters.ends) as job:
            with pytest.raises(ClusterError, match=rf" does not see the export {tmp_path}: .*; {expected}$"):
                await job.run(1)
        leave_parts(tmp_path)
        url = clusters.url_of_workers()
        work = PartWork(str(tmp_path), clusters.NIGHTS, "app", url, "0.0", clusters.ends)
        async with ClusterJob(client, "chatrest-2", work) as job:
            with pytest.raises(ClusterError, match=r" has chatrest .*: expected 0.0, as all machines "):
                await job.run(1)


async def test_a_part_that_another_process_runs_or_that_fails_is_no_fault_of_the_worker(
    tmp_path: Path,
) -> None:
    leave_parts(tmp_path)
    async with near_cluster() as (_, client):
        async with job_of(client, tmp_path, clusters.is_held) as job:
            with pytest.raises(PartHeldError, match="is being written by another process"):
                await job.run(1)
        async with job_of(client, tmp_path, clusters.fails, "chatrest-2") as job:
            with pytest.raises(PartLostError, match=r"^the worker tcp://\S+: ZeroDivisionError: a fault of"):
                await job.run(1)
        assert not job.unfit


async def test_a_part_whose_workers_die_is_lost_and_the_last_of_these_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_parts(tmp_path)

    async def die() -> None:
        raise KilledWorker("part-01", SimpleNamespace(address="tcp://10.0.0.7:1234"), 3)

    class LostFuture:
        def __await__(self) -> Any:
            return die().__await__()

        def release(self) -> None:
            pass

    async with near_cluster() as (_, client), job_of(client, tmp_path, clusters.ends) as job:
        monkeypatch.setattr(client, "submit", lambda *_, **options: LostFuture())
        with pytest.raises(
            PartLostError, match=r"^4 workers died while .* the last one at tcp://10\.0\.0\.7"
        ):
            await job.run(1)


async def test_a_worker_that_closes_does_not_wait_for_ever_for_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chatrest.distributed.plugin._END_SECONDS", 0.05)
    job: Any = JobPlugin("chatrest-1", b"")
    job.rates["a part that does not end"] = None
    async with asyncio.timeout(10):
        await job.teardown(None)
    assert job.has_ended


async def test_the_end_of_a_job_cancels_its_parts_and_leaves_those_of_others_alone(tmp_path: Path) -> None:
    leave_parts(tmp_path)
    async with near_cluster() as (cluster, client):
        [worker] = cluster.workers.values()
        async with job_of(client, tmp_path, clusters.ends, "chatrest-other"):
            async with job_of(client, tmp_path, clusters.hangs) as job:
                running = asyncio.create_task(job.run(1))
                await until(lambda: clusters.runs["hanging"])
                running.cancel()
                await asyncio.wait([running])
            assert (clusters.runs["hanging"], clusters.runs["cancelled"]) == (0, 1)
            assert [name for name in worker.plugins if name.startswith("chatrest-")] == ["chatrest-other"]
        assert not [name for name in worker.plugins if name.startswith("chatrest-")]


async def test_workers_end_the_parts_of_a_command_that_was_killed(tmp_path: Path) -> None:
    leave_parts(tmp_path)
    async with near_cluster() as (cluster, client):
        async with connect(cluster.scheduler_address) as killed:
            job = job_of(killed, tmp_path, clusters.hangs)
            await job.__aenter__()
            running = asyncio.create_task(job.run(1))
            await until(lambda: clusters.runs["hanging"])
        await until(lambda: clusters.runs["cancelled"])  # the client is gone without a word of the job
        with pytest.raises(ClusterError, match=r"is gone$"):
            await running
        await job.__aexit__()
        async with job_of(client, tmp_path, clusters.ends, "chatrest-2") as job:
            assert (await job.run(1)).complete


async def test_a_cluster_without_workers_is_an_error_after_a_minute() -> None:
    class Scheduler:
        address = "tcp://10.0.0.1:8786"

        async def identity(self) -> dict[str, Any]:
            return {"workers": {}}

    class Empty:
        status = "running"
        scheduler = Scheduler()

    client: Any = Empty()
    ticks = itertools.count(0, 30)
    phases: list[tuple[Phase, str]] = []

    class Noted(Progress):
        def enter(self, phase: Phase, detail: str = "") -> None:
            phases.append((phase, detail))
            super().enter(phase, detail)

    with pytest.raises(
        ClusterError, match=r" no workers: start some with `dask worker tcp://10\.0\.0\.1:8786`"
    ):
        await workers_of(client, Noted(), lambda: next(ticks))
    assert (Phase.WAITING_FOR_WORKER, "tcp://10.0.0.1:8786") in phases


async def test_a_worker_without_the_package_is_an_error_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with near_cluster() as (_, client):

        async def refuse(plugin: object, name: str) -> None:
            raise Exception("ModuleNotFoundError(\"No module named 'chatrest'\")")  # noqa: TRY002

        monkeypatch.setattr(client, "register_plugin", refuse)
        with pytest.raises(ClusterError, match=r"^a worker cannot run the export: .*'chatrest'.*; it needs"):
            async with job_of(client, tmp_path, clusters.ends):
                pass


def test_dask_does_not_log_each_message_about_the_rate() -> None:
    from chatrest.distributed.plugin import is_rare_call

    def record(name: str) -> logging.LogRecord:
        return logging.LogRecord(
            "distributed.worker", 20, "", 1, "Run out-of-band function %r", (name,), None
        )

    assert [is_rare_call(record(name)) for name in ("receive_grants", "other")] == [False, True]


# ── rounds ──


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
            raise PartLostError("its workers died")
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


def test_a_task_stops_the_profiler_of_its_worker() -> None:
    stopped: list[str] = []
    worker: Any = SimpleNamespace(
        address="tcp://worker",
        periodic_callbacks={"profile": SimpleNamespace(stop=lambda: stopped.append("profile"))},
        loop=SimpleNamespace(add_callback=lambda callback: callback()),
    )
    end = run_payload(worker, "job", b"no pickle", 0, {}, lambda: True)
    assert (end.failure, stopped) == ("part", ["profile"])
