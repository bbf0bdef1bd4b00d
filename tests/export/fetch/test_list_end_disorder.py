"""Lists in no order of ids, lists by time, and an app's list that is behind: nothing is lost or doubled."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatrest.export import Plan, export, verify
from chatrest.export.fetch.app_list import MAX_RUNS
from tests.export.fetch.disordered_lists import edit, move_edited, show_newest_first, shuffled
from tests.support.export_runs import ids_of, manifest_of
from tests.support.small_service import Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")

PLANS = [Plan(users=["ann"]), Plan(everything=True), Plan(all_users=True)]


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
    service.change_reply = lambda request, reply: reply if len(service.requests) < 4 else {"data": 7}
    async with service.session() as session:
        report = await export(session, tmp_path / "out", PLANS[0])
        assert not report.complete
        service.change_reply = lambda _, reply: reply
        report = await export(session, tmp_path / "out", PLANS[0])
    assert report.complete
    assert len(ids_of(tmp_path / "out")) == 200


SOURCES: list[dict[str, Any]] = [
    {"everything": True},
    {"all_users": True},
    {"pairs": [("ann", "bob")]},
    {"users": ["ann"], "format": "parquet"},
]


@pytest.mark.parametrize("sources", SOURCES[:3:2], ids=str)
async def test_a_recheck_names_only_the_deleted_message(sources: dict[str, Any], tmp_path: Path) -> None:
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


async def test_ids_that_begin_again_are_an_error_in_every_run(tmp_path: Path) -> None:
    service = SmallService(shuffled(120, 60))
    service.by_time = True
    service.change_reply = lambda request, reply: reply if "uid" in request.match_info else {"data": []}
    async with service.session() as session:
        for written in (120, 0):
            report = await export(session, tmp_path / "out", Plan(users=["ann"]))
            assert (report.complete, report.written) == (True, written)
        service.records = [each | {"sentAt": each["sentAt"] + 9_999} for each in shuffled(60, 60)]
        for _ in range(2):
            report = await export(session, tmp_path / "out")
            assert (report.complete, report.written) == (False, 0)
            assert "begin again: the newest message of the export is 120" in report.failed[0].error


def lag_behind(service: SmallService, last: int) -> None:
    """Let the app's own list show nothing behind an id, as one that another shard or an index serves."""
    original = service.page

    def change_reply(request: web.Request, reply: Record) -> Record:
        if request.path != "/messages":
            return reply
        records = [record for record in service.records if int(record["id"]) <= last]
        return original(records, dict(request.query), service.largest_page)

    service.change_reply = change_reply


async def test_an_outdated_app_list_hides_no_message_from_the_first_run(tmp_path: Path) -> None:
    service = SmallService(talk(60))
    lag_behind(service, 40)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(all_users=True))
    assert (report.complete, report.messages, report.by_app_list) == (True, 60, False), report


async def test_a_run_without_list_requests_is_complete_by_the_app_list(tmp_path: Path) -> None:
    service = SmallService(talk(40))
    lag_behind(service, 40)
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", Plan(all_users=True))).complete
        service.records += talk(20, first=41)
        for _ in range(MAX_RUNS):
            report = await export(session, tmp_path / "out")
            assert (report.complete, report.messages, report.by_app_list) == (True, 40, True), report
        assert (verify(tmp_path / "out").ok, verify(tmp_path / "out").by_app_list) == (True, True)
        for count in (60, 61):
            report = await export(session, tmp_path / "out")
            assert (report.complete, report.messages, report.by_app_list) == (True, count, False), report
            assert not verify(tmp_path / "out").by_app_list
            service.records += talk(1, first=count + 1)
