"""Records that were not asked for: none is filed where it does not belong, and the report says what was."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatrest import ActingUserIgnoredError
from chatrest._core.replies.rows import Row
from chatrest.emulator.store.message_index import group_list
from chatrest.export import Plan, export
from chatrest.export.fetch.page_check import PageCheck, Window
from chatrest.export.plan.ownership import OwnershipRules, pair_of
from tests.cases import loop_over
from tests.export_runs import assert_holds, ids_of, served
from tests.small_service import Record, SmallService, talk


def row(id: int, sender: str, receiver: str, kind: str = "user", **members: Any) -> Row:
    record = {"id": str(id), "sender": sender, "receiver": receiver, "receiverType": kind} | members
    return Row(str(id), "", sender, receiver, kind, 0, json.dumps(record).encode())


@loop_over("ends", [("ann", "cat"), ("cat", "bob"), ("cat", "dan"), ("bob", "bob")])
def test_a_pair_shows_that_the_acting_user_is_ignored(ends: tuple[str, str]) -> None:
    with pytest.raises(ActingUserIgnoredError, match="list of pair ann bob"):
        PageCheck(Window(), OwnershipRules()).fitting(pair_of("ann", "bob"), [row(1, *ends)])


async def test_a_list_of_a_group_that_shows_all_groups_fails_and_files_nothing_else(tmp_path: Path) -> None:
    async with served(120) as service:
        den, oak = (service.store.ids(group=guid) for guid in ("den", "oak"))
        service.store.show(oak, group_list("den"))
        report = await export(service.session, tmp_path / "out", Plan(groups=["den"]))
        assert oak
        assert not report.complete
        assert "does not belong to the list of group den" in report.failed[0].error
        assert_holds(tmp_path / "out", service.expected(den))
        again = await export(service.session, tmp_path / "out")
        assert not again.complete
        assert_holds(tmp_path / "out", service.expected(den))


async def test_a_documented_service_gives_no_warning_and_no_failure(tmp_path: Path) -> None:
    async with served(200) as service:
        plan = Plan(users=["ann", "bob"], pairs=[("cat", "dan")], groups=["den", "oak"])
        report = await export(service.session, tmp_path / "out", plan)
        assert (report.complete, report.warnings, report.failed) == (True, [], [])


async def test_a_listed_user_whose_uid_cannot_be_asked_for_is_a_failed_source(tmp_path: Path) -> None:
    service = SmallService(talk(30), users=["ann", "", "..", "a\nb"])
    async with service.session() as session:
        report = await export(session, tmp_path / "out")
    assert not report.complete
    assert sorted(each.source for each in report.failed) == ["user ", "user ..", "user a\nb"]
    assert all("a name that cannot be asked for" in each.error for each in report.failed)
    assert ids_of(tmp_path / "out") == [str(number) for number in range(1, 31)]


@pytest.mark.parametrize("id", ["", "\x00", "..", "\ud800", None])
async def test_a_newest_message_without_an_id_is_no_end(id: Any, tmp_path: Path) -> None:
    service = SmallService(talk(30))

    def spoil(request: web.Request, reply: Record) -> Record:
        if request.path == "/messages":
            reply["data"] = [{**record, "id": id} for record in reply["data"]]
        return reply

    service.spoil = spoil
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(users=["ann"]))
    assert (report.complete, report.until, report.messages) == (True, None, 30)


async def test_a_window_is_no_filter_that_is_ignored(tmp_path: Path) -> None:
    async with served(100) as service:
        [first, *_] = service.expected([20])
        report = await export(
            service.session, tmp_path / "out", Plan(users=["ann"], since=json.loads(first)["sentAt"])
        )
        assert (report.complete, report.warnings) == (True, [])
