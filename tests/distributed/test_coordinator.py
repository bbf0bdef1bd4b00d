"""Exports by shards: the same as a run on one machine, whatever becomes of workers and coordinator."""

import asyncio
import importlib
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatrest.distributed.coordinator import ClusterError, ShardLostError
from chatrest.distributed.shard import Budget, Shard, ShardResult
from chatrest.distributed.start import ClusterWalk
from chatrest.emulator.store import Store
from chatrest.errors import RequestInvalidError
from chatrest.export import Plan, Progress, export, verify
from chatrest.export.run.run import export_folder
from tests.damaging import MIXED
from tests.distributed.clusters import HomeCluster
from tests.dying import Fate, dies, instants
from tests.export.fetch.test_list_end_times import shuffled
from tests.exporting import assert_whole, ids_of, raws_of, served, small_pages as small_pages
from tests.runs import to_user
from tests.small_service import SmallService, talk

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")

SMALL = Budget(requests=6, seconds=60.0)


def walk_of(cluster: HomeCluster, budget: Budget | None = SMALL) -> ClusterWalk:
    return ClusterWalk(lambda _: cluster, cluster.session.app.app_id, cluster.out, budget)


@pytest.mark.parametrize(
    "options",
    [
        MIXED,
        MIXED | {"compress": "zstd", "partition": "none"},
        MIXED | {"compress": "gzip", "partition": "month"},
        {"everything": True, "format": "parquet"},
        {"users": ("ann", "eve"), "pairs": (("bob", "cat"),), "format": "parquet", "partition": "source"},
        {"users": ("ann", "cat", "nobody"), "since": 1_602_000_000, "until": 1_606_000_000},
    ],
    ids=["mixed", "none", "month", "parquet", "unclaimed", "window"],
)
async def test_it_is_what_one_machine_exports(tmp_path: Path, options: dict[str, Any]) -> None:
    plan = Plan(**options)
    async with served(200, loose=not plan.everything) as service:
        alone = await export(service.session, tmp_path / "alone", plan)
        out, progress = tmp_path / "out", Progress()
        cluster = HomeCluster(service.session, out, trouble=0.4, seed=1)
        report = await export_folder(service.session, out, plan, ahead=walk_of(cluster), progress=progress)
        assert Counter(raws_of(out)) == Counter(raws_of(tmp_path / "alone"))
        assert verify(out).ok is alone.complete
        assert report.complete == alone.complete
        assert report.written == report.messages == alone.messages
        assert report.failed == alone.failed
        assert len(cluster.shards) >= 3
        assert not list((out / "spool").glob("*"))


async def test_the_warnings_of_shards_are_in_the_report(tmp_path: Path) -> None:
    service = SmallService(talk(60))
    service.records.insert(8, {**service.records[7], "data": {"text": "another"}})
    plan = Plan(users=("ann", "bob"))
    async with service.session() as session:
        alone = await export(session, tmp_path / "alone", plan)
        cluster = HomeCluster(session, tmp_path / "out")
        report = await export_folder(session, cluster.out, plan, ahead=walk_of(cluster, None))
    assert len(cluster.shards) > 0
    assert report.warnings == alone.warnings
    assert "came" in report.warnings[0]


@pytest.mark.parametrize(("format", "step"), [("ndjson", 3), ("parquet", 9)])
async def test_the_coordinator_may_be_killed_at_any_instant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, step: int
) -> None:
    plan = Plan(**MIXED, format=format)
    kept: set[int] = set()
    async with served(110) as service:
        for at in instants(2, step):
            fate = Fate(tmp_path / str(at), at)
            cluster = HomeCluster(service.session, fate.out, trouble=0.2, seed=at)
            report = await dies(
                service.session, fate, plan, monkeypatch, statements=False, ahead=walk_of(cluster)
            )
            if report is not None:
                break
            cluster = HomeCluster(service.session, fate.out)
            report = await export_folder(service.session, fate.out, plan, ahead=walk_of(cluster))
            assert report.complete, report.reasons
            kept.add(report.messages - report.written)
            assert_whole(fate.out, service.expected())
            assert verify(fate.out).ok
    assert len(kept) > 1, "what was adopted before the kill is not read again"


class SilentService(SmallService):
    """A service that does not answer the first requests for the list of bob."""

    unanswered = 1_000
    asked = 0

    async def _list_messages(self, request: web.Request) -> web.Response:
        if request.match_info.get("uid") == "bob":
            self.asked += 1
            if self.asked <= self.unanswered:
                await asyncio.Event().wait()
        return await super()._list_messages(request)


@pytest.mark.parametrize("is_of_rate", [False, True])
async def test_a_silent_user_ends_no_shard_late_and_has_failed_after_three(
    tmp_path: Path, is_of_rate: bool
) -> None:
    """While requests wait for the rate, the time that has passed says nothing about a list."""
    service, out = SilentService(talk(60), ("ann", "bob", "cat")), tmp_path / "out"
    service.unanswered = 4 if is_of_rate else 1_000
    async with service.session() as session:
        cluster = HomeCluster(session, out, slots=1)
        cluster.waits_for_rate = is_of_rate
        walk = walk_of(cluster, Budget(requests=50, seconds=0.05, grace=0.2))
        report = await export_folder(session, out, Plan(users=("ann", "bob")), ahead=walk)
    assert report.written == 60
    if is_of_rate:
        assert report.complete
        return
    [failure] = report.failed
    assert str(failure.source) == "user bob"
    assert failure.error == "3 times, on workers of the cluster: no reply within 0.2 s"
    assert service.asked == 3, "the coordinator does not read it again"


class StubbornCluster(HomeCluster):
    """Workers that lose each shard from the third one on."""

    async def run(self, shard: Shard, operation: str) -> ShardResult:
        if len(self.shards) < 2:
            return await super().run(shard, operation)
        raise ShardLostError("worker tcp://10.0.0.7:4321")


async def test_workers_that_always_die_are_an_error_and_what_was_adopted_stays(tmp_path: Path) -> None:
    plan, out = Plan(everything=True), tmp_path / "out"
    async with served(300, loose=False) as service:
        with pytest.raises(ClusterError, match=r"shards in a row were lost, the last one as .*10\.0\.0\.7"):
            await export_folder(
                service.session, out, plan, ahead=walk_of(StubbornCluster(service.session, out))
            )
        assert 0 < len(raws_of(out)) < 300
        report = await export(service.session, out, plan)
        assert report.complete
        assert_whole(out, service.expected())


async def test_a_cancel_keeps_what_was_adopted(tmp_path: Path) -> None:
    plan, out, progress = Plan(everything=True), tmp_path / "out", Progress()

    class Cancels(HomeCluster):
        async def run(self, shard: Shard, operation: str) -> ShardResult:
            if progress.written:
                run.cancel()
            return await super().run(shard, operation)

    async with served(300, loose=False) as service:
        ahead = walk_of(Cancels(service.session, out))
        run = asyncio.create_task(export_folder(service.session, out, plan, ahead=ahead, progress=progress))
        with pytest.raises(asyncio.CancelledError):
            await run
        assert len(raws_of(out)) == progress.written > 0
        assert not progress.active
        assert not list((out / "spool").glob("job-*"))


async def test_what_is_new_comes_by_the_app_own_list_and_not_by_shards(tmp_path: Path) -> None:
    plan, out = Plan(all_users=True), tmp_path / "out"

    def fill(store: Store) -> None:
        for number in range(30):
            store.add_user(f"u{number}")
        store.add_records(to_user(f"u{n % 30}", f"u{n * 7 % 29}", n) for n in range(1, 200))

    async with served(fill_in=fill) as service:
        await export_folder(service.session, out, plan, ahead=walk_of(HomeCluster(service.session, out)))
        service.store.add_records([to_user("u1", "u2", 200), to_user("u2", "u3", 201)])
        cluster = HomeCluster(service.session, out)
        report = await export_folder(service.session, out, plan, ahead=walk_of(cluster))
        assert (report.written, cluster.shards) == (2, [])
        assert_whole(out, service.expected())


@pytest.mark.parametrize("sources", [{"everything": True}, {"all_users": True}], ids=str)
async def test_lists_by_time_are_read_by_the_coordinator(tmp_path: Path, sources: dict[str, Any]) -> None:
    service, out = SmallService(shuffled(240, 60)), tmp_path / "out"
    service.by_time = True
    async with service.session() as session:
        cluster = HomeCluster(session, out)
        report = await export_folder(session, out, Plan(**sources), ahead=walk_of(cluster))
        assert report.complete, (report.failed, report.reasons)
        assert ids_of(out) == [str(number) for number in range(1, 241)]
        shards = len(cluster.shards)
        assert 0 < shards < 10
        assert (await export_folder(session, out, ahead=walk_of(cluster))).written == 0
        assert len(cluster.shards) == shards, "the journal knows by now that they go by time"


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in [name for name in sys.modules if name.startswith("chatrest.distributed")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(
        RequestInvalidError, match=r"^chatrest.distributed needs the extra 'dask': pip install"
    ):
        importlib.import_module("chatrest.distributed")


def test_nothing_else_imports_dask() -> None:
    code = (
        "import sys, chatrest._cli.export.command, chatrest.export\n"
        "from chatrest import AsyncSession\n"
        "assert not {'dask', 'distributed', 'chatrest.distributed'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
