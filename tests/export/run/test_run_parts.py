"""Exports of parts: of any number, each message once, whatever happens in between."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.export import Plan, Report, export, verify
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from tests.dying import DyingDisk, Fate, ProcessDeath, dying_journal
from tests.exporting import served
from tests.parting import Town, parts_of, stored

pytestmark = pytest.mark.usefixtures("tidy", "fast_ramp")

SEEDS = range(4)
WHOLE = 10**9
"""Seconds: a recheck of everything."""


async def dies(
    session: AsyncSession, out: Path, at: int, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> Report | None:
    """Run an export until its crash; None where there was one."""
    fate = Fate(out, at)
    with monkeypatch.context() as patched:
        dying_journal(patched, fate)
        try:
            return await export(session, out, disk=DyingDisk(fate), **options)
        except ProcessDeath:
            fate.rise()
            return None


def check_exact(out: Path, town: Town, *, with_groups: bool) -> None:
    """Check that all that lists show is there, each message once and as it is now."""
    raws = stored(out)
    records = {int(json.loads(raw)["id"]): raw for raw in raws}
    twice = [each for each, count in Counter(json.loads(raw)["id"] for raw in raws).items() if count > 1]
    assert not twice
    visible = town.visible(with_groups=with_groups)
    assert not visible - records.keys()
    ids = sorted(visible)
    served = dict(zip(ids, town.store.records(ids), strict=True))
    assert {number: records[number] for number in ids} == served
    for part in parts_of(out):
        assert verify(part).ok
        with Journal(part / JOURNAL) as journal:
            assert not journal.seen() - journal.ids_in(journal.files()) - lost(journal)


def lost(journal: Journal) -> Any:
    from chatrest.export.plan.id_set import IdSet

    return IdSet(int(each.id) for each in journal.deleted(missing=True))


@pytest.mark.parametrize("seed", SEEDS)
async def test_nights_with_kills(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Random(seed)
    with_groups = bool(seed % 2)
    async with served(fill_in=lambda _: None) as service:
        town = Town(service.store, dice)
        town.day()
        plan = Plan(all_users=True, groups=sorted(town.members) if with_groups else [])
        jobs = {tmp_path / f"of-{count}": count for count in (1, 2, 7)}
        for _ in range(dice.randrange(1, 5)):
            for out, count in jobs.items():
                options: dict[str, Any] = {"plan": plan, "parts": count, "recheck": dice.choice([None, 50])}
                if dice.random() < 0.6:
                    await dies(service.session, out, dice.randrange(1, 60 * count), monkeypatch, **options)
                else:
                    await export(service.session, out, **options)
                town.day(15)
            town.day()
        for out in jobs:
            await export(service.session, out, plan, parts=jobs[out])  # ends a night that was interrupted
            report = await export(service.session, out, recheck=WHOLE)
            assert report.complete, report.all_reasons
            check_exact(out, town, with_groups=with_groups)
            assert report.messages == len(stored(out))
