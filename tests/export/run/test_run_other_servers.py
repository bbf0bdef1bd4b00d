"""A service that others wrote: windows that it reads in its own way, busy lists, clocks that disagree."""

from pathlib import Path
from random import Random

import pytest

from chatrest.export import Plan, export, verify
from chatrest.testing import VirtualTime
from tests.compatible_service import CompatibleService
from tests.export_runs import ids_of
from tests.small_service import START

pytestmark = pytest.mark.usefixtures("tidy")

ANN = Plan(users=["ann"])
DAY = 86_400


# ── windows ──


async def test_a_quiet_list_is_whole_in_a_window(tmp_path: Path) -> None:
    service = CompatibleService(("ann", "bob", "cat"))
    service.talk(150)
    service.now += 10 * DAY
    plan = Plan(all_users=True, since=START + 5 * DAY)
    async with service.session() as session:
        for count in (0, 0, 20, 0):
            service.talk(count)
            report = await export(session, tmp_path / "out", plan)
            assert (report.complete, report.written) == (True, count), report
    assert ids_of(tmp_path / "out") == service.ids[150:]


async def test_a_recheck_of_a_quiet_list_is_whole_and_so_is_the_plain_run_after_it(tmp_path: Path) -> None:
    service = CompatibleService()
    service.talk(150)
    service.now += 30 * DAY
    async with service.session() as session:
        for recheck in (None, 7 * DAY, None, 40 * DAY, None):
            with VirtualTime(service.now):
                report = await export(session, tmp_path / "out", ANN, recheck=recheck)
            assert report.complete, (recheck, report)
            assert (report.deleted, report.changed) == (0, 0)
        service.delete(140)
        with VirtualTime(service.now):
            report = await export(session, tmp_path / "out", ANN, recheck=40 * DAY)
    assert (report.complete, report.deleted) == (True, 1)


@pytest.mark.parametrize(("since", "until"), [(20, 60), (0, 60), (120, 10**6), (200, 300)])
async def test_a_window_holds_what_was_sent_in_it(since: int, until: int, tmp_path: Path) -> None:
    service = CompatibleService()
    service.talk(150)
    plan = Plan(users=["ann"], since=START + since, until=START + until)
    async with service.session() as session:
        for _ in range(2):
            assert (await export(session, tmp_path / "out", plan)).complete
        service.talk(100)
        assert (await export(session, tmp_path / "out")).complete
    held = [str(record["id"]) for record in service.records if since <= record["sentAt"] - START <= until]
    assert ids_of(tmp_path / "out") == held


# ── busy lists ──


@pytest.mark.parametrize("clocks", [(0,), (0, -300)], ids=["in order", "by time"])
async def test_an_export_of_a_busy_list_ends_where_it_was_when_its_reading_began(
    clocks: tuple[int, ...], tmp_path: Path
) -> None:
    service = CompatibleService(clocks=clocks)
    service.talk(120)
    service.talk(120, node=len(clocks) - 1)
    async with service.session() as session:
        for _ in range(2):
            truth = set(service.ids)
            service.requests.clear()
            service.before_list = lambda: service.talk(35)  # more than a page has
            report = await export(session, tmp_path / "out", ANN)
            service.before_list = lambda: None
            assert report.complete, report
            assert truth <= set(ids_of(tmp_path / "out"))
            assert len(service.lists_asked()) < len(truth) // 25 + 25


async def test_an_empty_list_costs_one_request_and_a_quiet_one_costs_one(tmp_path: Path) -> None:
    service = CompatibleService(("ann", "bob", "cat", "dan"))
    service.talk(40)
    async with service.session() as session:
        for expected in (1, 1):
            service.requests.clear()
            assert (await export(session, tmp_path / "out", Plan(users=["cat", "dan"]))).complete
            assert len(service.lists_asked()) == 2 * expected
        await export(session, tmp_path / "ann", ANN)
        service.requests.clear()
        assert (await export(session, tmp_path / "ann")).complete
        assert len(service.lists_asked()) == 1


# ── nodes whose clocks disagree ──


async def test_what_came_later_with_an_earlier_time_is_read_by_the_next_run(tmp_path: Path) -> None:
    service = CompatibleService(clocks=(0, -300))
    service.talk(120)
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", ANN)).complete
        service.talk(40, node=1)
        report = await export(session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 40)
        service.talk(3, node=1)
        service.talk(20)
        report = await export(session, tmp_path / "out")
    assert (report.complete, report.written) == (True, 23)
    assert ids_of(tmp_path / "out") == service.ids
    assert verify(tmp_path / "out").ok


async def test_one_message_with_an_earlier_time_is_found_in_a_quiet_list(tmp_path: Path) -> None:
    service = CompatibleService(clocks=(0, -300))
    service.talk(50)
    async with service.session() as session:
        await export(session, tmp_path / "out", ANN)
        service.talk(1, node=1)
        report = await export(session, tmp_path / "out")
    assert (report.complete, report.written) == (True, 1)


@pytest.mark.parametrize("seed", range(4))
async def test_nightly_runs_hold_all_that_was_there_when_they_began(seed: int, tmp_path: Path) -> None:
    await nightly_runs(seed, tmp_path / "out", nights=5)


async def nightly_runs(seed: int, out: Path, nights: int) -> None:
    """Export a service of two nodes every night, while messages arrive; compare with the truth."""
    dice = Random(seed)
    service = CompatibleService(("ann", "bob", "cat"), clocks=(0, -dice.choice((0, 2, 40, 300))))
    calm, busy = dice.choice((0.0, 0.1, 0.5)), dice.choice((0, 0, 1, 5))
    plan = Plan(all_users=True, groups=["den"])

    def arrive(most: int) -> None:
        for _ in range(dice.randint(0, most)):
            service.now += dice.choice((0, 1, 1, 30))
            to_group = dice.random() < 0.3
            sender, other = dice.sample(("ann", "bob"), 2)
            node = int(dice.random() < calm)
            service.send(sender, "den" if to_group else other, node=node, to_group=to_group)

    arrive(dice.choice((0, 9, 300)))
    async with service.session() as session:
        for night in range(nights):
            if dice.random() < 0.8:
                service.now += dice.choice((5, 400))
                arrive(dice.choice((1, 10, 150)))
            truth = set(service.ids)
            service.before_list = lambda: arrive(busy)
            report = await export(session, out, plan, recheck=500 if dice.random() < 0.3 else None)
            service.before_list = lambda: None
            assert report.complete, (seed, night, report)
            held = ids_of(out)
            assert len(held) == len(set(held))
            assert truth <= set(held) <= set(service.ids), (seed, night, len(truth - set(held)))
    assert verify(out).ok
