"""Lists in no order of ids: edited messages move to their end, or the newest ones alone come first."""

from pathlib import Path
from typing import Any

import pytest

from chatrest.export import Plan, export, verify
from tests.export_runs import ids_of
from tests.small_service import START, Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")

PLANS = [Plan(users=["ann"]), Plan(everything=True), Plan(all_users=True)]


def move_edited(service: SmallService) -> None:
    """Let lists go by the time of the last change, and continue after a message."""

    def page(records: list[Record], query: dict[str, str], size: int) -> Record:
        affix = query.get("affix", "prepend")
        ordered = sorted(
            records,
            key=lambda record: (record.get("updatedAt", record["sentAt"]), int(record["id"])),
            reverse=affix == "prepend",
        )
        ids = [record["id"] for record in ordered]
        begin = ids.index(query["id"]) + 1 if query.get("id") in ids else 0
        data = ordered[begin : begin + size]
        numbers = {"total": len(records), "count": len(data), "per_page": size, "current_page": 1}
        end = data[-1]["id"] if data else query.get("id", "0")
        return {"data": data, "meta": {"pagination": numbers, "cursor": {"id": int(end), "affix": affix}}}

    service._page = page  # type: ignore[method-assign]


def show_newest_first(service: SmallService) -> None:
    """Let lists begin with the newest messages, whatever is asked for."""
    original = service._page

    def page(records: list[Record], query: dict[str, str], size: int) -> Record:
        reply = original(records, query | {"affix": "prepend"}, size)
        return reply | {"data": reply["data"][::-1]}

    service._page = page  # type: ignore[method-assign]


def edit(service: SmallService, index: int) -> None:
    changed = {"updatedAt": START + 100_000 + index, "data": {"text": "edited"}}
    service.records[index] = service.records[index] | changed


@pytest.mark.parametrize("disorder", [move_edited, show_newest_first])
@pytest.mark.parametrize("plan", PLANS, ids=["user", "everything", "all users"])
async def test_all_of_it_is_exported_night_after_night(disorder: Any, plan: Plan, tmp_path: Path) -> None:
    service = SmallService(talk(200))
    disorder(service)
    async with service.session() as session:
        for night in range(4):
            report = await export(session, tmp_path / "out", plan)
            assert report.complete, (night, report)
            assert ids_of(tmp_path / "out") == [record["id"] for record in service.records]
            edit(service, 50 + night)
            service.records += talk(30, first=20_000 * (night + 1))
    assert verify(tmp_path / "out").ok


@pytest.mark.parametrize("disorder", [move_edited, show_newest_first])
@pytest.mark.parametrize("plan", PLANS, ids=["user", "everything", "all users"])
async def test_a_recheck_reads_all_of_it_too(disorder: Any, plan: Plan, tmp_path: Path) -> None:
    service = SmallService(talk(200))
    disorder(service)
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", plan)).complete
        edit(service, 50)
        del service.records[99], service.records[3]
        report = await export(session, tmp_path / "out", recheck=10**9)
        assert (report.complete, report.changed, report.deleted) == (True, 1, 2), report
        service.records += talk(30, first=20_000)
        assert (await export(session, tmp_path / "out")).complete
    assert verify(tmp_path / "out").ok


@pytest.mark.parametrize("plan", PLANS, ids=["user", "everything", "all users"])
async def test_new_messages_among_many_that_were_edited_are_read(plan: Plan, tmp_path: Path) -> None:
    """The app's own list shows a hundred edited messages as the newest ones."""
    service = SmallService(talk(300))
    move_edited(service)
    service.largest_page = 100
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", plan)).complete
        service.records += talk(20, first=301)
        for index in range(120):
            edit(service, index)
        report = await export(session, tmp_path / "out")
    assert (report.complete, report.written) == (True, 20), report


async def test_the_first_page_of_a_list_covers_nothing_before_a_second_one(tmp_path: Path) -> None:
    """A list that shows its newest page first fails after it: the rest is not taken for read."""
    service = SmallService(talk(200))
    show_newest_first(service)
    service.spoil = lambda request, reply: reply if len(service.requests) < 4 else {"data": 7}
    async with service.session() as session:
        report = await export(session, tmp_path / "out", PLANS[0])
        assert not report.complete
        service.spoil = lambda _, reply: reply
        report = await export(session, tmp_path / "out", PLANS[0])
    assert report.complete
    assert len(ids_of(tmp_path / "out")) == 200
