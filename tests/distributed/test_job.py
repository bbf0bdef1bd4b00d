"""A job on a cluster: its parts, and workers, a scheduler and a command that die."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker

from chatrest.distributed.cluster import ClusterError, NoResultError, connect
from chatrest.distributed.rate_coordinator import RateCoordinator, RateReport
from chatrest.emulator import Emulator
from tests.distributed import clusters
from tests.distributed.clusters import job_of, leave_parts, near_cluster, until

pytestmark = pytest.mark.usefixtures("credentials")


async def test_a_part_is_run_and_the_counts_are_returned(tmp_path: Path) -> None:
    leave_parts(tmp_path)
    async with near_cluster() as (_, client), job_of(client, tmp_path, clusters.ends) as job:
        reports = await asyncio.gather(job.run(1), job.run(2))
        assert [report.written for report in reports] == [1, 2]
        await until(lambda: job.progress.written == 3)


async def test_a_part_that_is_run_again_on_the_same_worker_gets_a_share_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run says that it has ended, so that the next one gets its share at once."""
    reports, receive = list[RateReport](), RateCoordinator.receive

    def note(coordinator: RateCoordinator, report: RateReport, now: float) -> bool:
        reports.append(report)
        return receive(coordinator, report, now)

    monkeypatch.setattr(RateCoordinator, "receive", note)
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
        assert set(job.unfit_workers) <= {full}
        for text in job.unfit_workers.values():
            assert text.startswith(f"the worker {full} cannot write: [Errno 28] No space left on device")
            assert text in caplog.text
        async with job_of(client, tmp_path, clusters.needs_room, "chatrest-2", full=[0, 1]) as job:
            with pytest.raises(ClusterError) as caught:
                await job.run(1)
        assert str(caught.value).count("No space left on device") == 2, "no worker is left"


async def test_a_part_is_lost_after_several_dead_workers_and_names_the_last(
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
            NoResultError, match=r"^4 workers died while .* the last one at tcp://10\.0\.0\.7"
        ):
            await job.run(1)


async def test_the_end_of_a_job_cancels_only_the_parts_of_that_job(tmp_path: Path) -> None:
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


async def test_a_worker_without_the_package_is_an_error_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with near_cluster() as (_, client):

        async def refuse(plugin: object, name: str) -> None:
            raise Exception("ModuleNotFoundError(\"No module named 'chatrest'\")")  # noqa: TRY002

        monkeypatch.setattr(client, "register_plugin", refuse)
        with pytest.raises(ClusterError, match=r"^a worker cannot run the export: .*'chatrest'.*; it needs"):
            async with job_of(client, tmp_path, clusters.ends):
                pass
