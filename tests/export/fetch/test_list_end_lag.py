"""An app's own list that lacks what the lists of its users show: it hides nothing for long."""

from pathlib import Path

import pytest
from aiohttp import web

from chatrest.export import Plan, export, verify
from chatrest.export.fetch.news import MOST_RUNS
from tests.small_service import Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")


def lag_behind(service: SmallService, last: int) -> None:
    """Let the app's own list show nothing behind an id, as one that another shard or an index serves."""
    original = service._page

    def spoil(request: web.Request, reply: Record) -> Record:
        if request.path != "/messages":
            return reply
        records = [record for record in service.records if int(record["id"]) <= last]
        return original(records, dict(request.query), service.largest_page)

    service.spoil = spoil


async def test_an_app_list_that_lags_behind_hides_nothing_from_the_first_run(tmp_path: Path) -> None:
    service = SmallService(talk(60))
    lag_behind(service, 40)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(all_users=True))
    assert (report.complete, report.messages, report.by_app_list) == (True, 60, False), report


async def test_a_night_in_which_no_list_was_asked_is_complete_as_far_as_the_app_list_shows(
    tmp_path: Path,
) -> None:
    service = SmallService(talk(40))
    lag_behind(service, 40)
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", Plan(all_users=True))).complete
        service.records += talk(20, first=41)
        for _ in range(MOST_RUNS):
            report = await export(session, tmp_path / "out")
            assert (report.complete, report.messages, report.by_app_list) == (True, 40, True), report
        assert (verify(tmp_path / "out").ok, verify(tmp_path / "out").by_app_list) == (True, True)
        for count in (60, 61):
            report = await export(session, tmp_path / "out")
            assert (report.complete, report.messages, report.by_app_list) == (True, count, False), report
            assert not verify(tmp_path / "out").by_app_list
            service.records += talk(1, first=count + 1)
