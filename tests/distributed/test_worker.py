"""A worker that cannot run a part: the reason is named, and whose fault it is."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatrest.distributed.cluster import ClusterError, NoResultError
from chatrest.distributed.job import ClusterJob, PartHeldError
from chatrest.distributed.worker import PartWork, brief_report, run_part_task
from chatrest.export import ExportFailure, Report
from tests.distributed import clusters
from tests.distributed.clusters import job_of, leave_parts, near_cluster

pytestmark = pytest.mark.usefixtures("credentials")


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


async def test_a_worker_without_the_export_or_with_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with near_cluster() as (_, client):
        expected = "expected a folder that all machines share, or an address of an object store"
        async with job_of(client, tmp_path, clusters.ends) as job:
            with pytest.raises(ClusterError, match=rf" does not see the export {tmp_path}: .*; {expected}$"):
                await job.run(1)
        leave_parts(tmp_path)
        url = os.environ.get("CHATREST_BASE_URL", "")
        work = PartWork(str(tmp_path), clusters.NIGHTS, "app", url, "0.0", clusters.ends)
        async with ClusterJob(client, "chatrest-2", work) as job:
            with pytest.raises(ClusterError, match=r" has chatrest .*: expected 0.0, as all machines "):
                await job.run(1)


async def test_a_part_that_is_locked_or_fails_does_not_fail_the_worker(tmp_path: Path) -> None:
    leave_parts(tmp_path)
    async with near_cluster() as (_, client):
        async with job_of(client, tmp_path, clusters.is_held) as job:
            with pytest.raises(PartHeldError, match="is being written by another process"):
                await job.run(1)
        async with job_of(client, tmp_path, clusters.fails, "chatrest-2") as job:
            with pytest.raises(NoResultError, match=r"^the worker tcp://\S+: ZeroDivisionError: a fault of"):
                await job.run(1)
        assert not job.unfit_workers


@pytest.mark.parametrize(
    ("failed", "reasons"), [(20, []), (21, ["1 more source of part 3 failed: see its manifest.json"])]
)
def test_a_report_that_is_sent_names_twenty_sources(failed: int, reasons: list[str]) -> None:
    report = brief_report(
        Report(failed=[ExportFailure(f"user user-{number}", "gone") for number in range(failed)]), 3
    )
    assert (len(report.failed), report.reasons) == (20, reasons)


def test_a_task_stops_the_profiler_of_its_worker() -> None:
    stopped: list[str] = []
    worker: Any = SimpleNamespace(
        address="tcp://worker",
        periodic_callbacks={"profile": SimpleNamespace(stop=lambda: stopped.append("profile"))},
        loop=SimpleNamespace(add_callback=lambda callback: callback()),
    )
    end = run_part_task(worker, "job", b"no pickle", 0, {}, lambda: True)
    assert (end.failure, stopped) == ("part", ["profile"])
