"""Lists that the service orders by time, with ids in any order: nothing is lost, and nothing comes twice."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from chatrest.export import Plan, export, verify
from tests.export_runs import ids_of, manifest_of
from tests.small_service import START, Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")

PLANS: list[dict[str, Any]] = [
    {"everything": True},
    {"all_users": True},
    {"pairs": [("ann", "bob")]},
    {"users": ["ann"], "format": "parquet"},
]


def shuffled(count: int, near: int) -> list[Record]:
    """Messages whose ids are not in the order of their times: each is at most `near` places away."""
    dice = Random(7)
    places = sorted(range(count), key=lambda place: place + dice.uniform(0, near))
    records = talk(count)
    for place, record in zip(places, records, strict=True):
        record["sentAt"] = START + place * 10
    return records


@pytest.mark.parametrize(("sources", "near"), list(zip(PLANS, [3, 1000, 1000, 3], strict=True)), ids=str)
async def test_all_of_it_is_exported(sources: dict[str, Any], near: int, tmp_path: Path) -> None:
    service = SmallService(shuffled(240, near))
    service.by_time = True
    later = service.records[200:]
    service.records = service.records[:200]
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(**sources))
        assert report.complete, (report.failed, report.reasons)
        assert ids_of(tmp_path / "out") == [str(number) for number in range(1, 201)]
        assert (await export(session, tmp_path / "out")).written == 0
        service.records += later
        report = await export(session, tmp_path / "out")
        assert report.complete, (report.failed, report.reasons)
        assert report.written == 40
    assert ids_of(tmp_path / "out") == [str(number) for number in range(1, 241)]
    assert verify(tmp_path / "out").ok


@pytest.mark.parametrize("sources", PLANS[:3:2], ids=str)
async def test_a_recheck_names_what_was_deleted_alone(sources: dict[str, Any], tmp_path: Path) -> None:
    service = SmallService(shuffled(200, 60))
    service.by_time = True
    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(**sources))
        assert (await export(session, tmp_path / "out", recheck=1500)).deleted == 0
        service.records[149] |= {"data": {"text": "edited"}}
        service.records = [record for record in service.records if record["id"] != "140"]
        report = await export(session, tmp_path / "out", recheck=1500)
    assert (report.complete, report.deleted, report.changed) == (True, 1, 1)
    assert manifest_of(tmp_path / "out").deleted == ["140"]


@pytest.mark.parametrize("sources", PLANS[1::2], ids=str)
async def test_a_run_that_stops_in_the_midst_is_not_whole_and_repeats_nothing(
    sources: dict[str, Any], tmp_path: Path
) -> None:
    service = SmallService(shuffled(200, 60))
    service.by_time = True

    def lose_the_way(request: Any, reply: Record) -> Record:
        is_late = request.query.get("affix") == "append" and any(
            record["sentAt"] > START + 1200 for record in reply["data"][:1]
        )
        return reply | {"meta": "lost"} if is_late else reply

    async with service.session() as session:
        service.spoil = lose_the_way
        for _ in range(2):
            report = await export(session, tmp_path / "out", Plan(**sources))
            assert not report.complete
            assert len(ids_of(tmp_path / "out")) == len(set(ids_of(tmp_path / "out"))) < 200
        service.spoil = lambda _, reply: reply
        assert (await export(session, tmp_path / "out")).complete
    assert ids_of(tmp_path / "out") == [str(number) for number in range(1, 201)]
    assert verify(tmp_path / "out").ok


async def test_ids_that_begin_anew_are_found(tmp_path: Path) -> None:
    service = SmallService(shuffled(120, 60))
    service.by_time = True
    service.spoil = lambda request, reply: reply if "uid" in request.match_info else {"data": []}
    async with service.session() as session:
        for written in (120, 0):
            report = await export(session, tmp_path / "out", Plan(users=["ann"]))
            assert (report.complete, report.written) == (True, written)
        service.records = [each | {"sentAt": each["sentAt"] + 9_999} for each in shuffled(60, 60)]
        for _ in range(2):
            report = await export(session, tmp_path / "out")
            assert (report.complete, report.written) == (False, 0)
            assert (
                "may have begun again: the newest message that the export knows is 120"
                in report.failed[0].error
            )
