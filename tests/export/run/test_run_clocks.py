"""Services whose nodes' clocks disagree: messages come later with an earlier time, and are not lost."""

from pathlib import Path
from random import Random

import pytest

from chatrest.export import Plan, export, verify
from tests.compatible_service import CompatibleService
from tests.export_runs import ids_of

pytestmark = pytest.mark.usefixtures("tidy")
ANN = Plan(users=["ann"])


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
