"""Sources that fail, and lists that lack messages: reported, and read from others that show them."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatrest.emulator import Fault, OutgoingReply, Status
from chatrest.emulator.service.handler_input import ServiceRequest as Request
from chatrest.export import Plan, Progress, export
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from tests.support.export_runs import assert_complete, assert_holds, assert_proven, served
from tests.support.small_service import Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


async def test_unknown_users_and_groups_are_reported_and_all_others_are_read(tmp_path: Path) -> None:
    async with served(100) as service:
        plan = Plan(users=("ann", "nobody"), groups=("den", "nowhere"), pairs=(("bob", "ghost"),))
        report = await export(service.session, tmp_path / "out", plan)
        assert not report.complete
        assert {failure.source for failure in report.failed} == {
            "user nobody", "group nowhere", "pair bob ghost",
        }  # fmt: skip
        manifest = assert_proven(tmp_path / "out")
        assert not manifest.complete
        assert any("user nobody" in reason for reason in manifest.reasons)
        with Journal(tmp_path / "out" / JOURNAL) as journal:
            states = {str(each.source): each.state for each in journal.sources()}
        assert states["user nobody"] == "failed"
        assert states["user ann"] == "open"
        assert_holds(
            tmp_path / "out", service.expected({*service.users_ids("ann"), *service.store.ids(group="den")})
        )
        service.store.add_user("nobody")
        service.store.add_user("ghost")
        service.store.add_group("nowhere")
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert assert_proven(tmp_path / "out").complete


class NoSuchUser(Fault, frozen=True):
    """The service says of a user that it lists that there is no such user."""

    code: str

    def rewrite_reply(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        return OutgoingReply(
            404, json.dumps({"error": {"code": self.code, "message": ""}}).encode(), reply.headers
        )


async def test_a_listed_deactivated_user_does_not_make_an_export_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: set[int] = set()

    def note(progress: Progress, name: str, value: Any) -> None:
        object.__setattr__(progress, name, value)
        failed.add(getattr(progress, "failed", 0))

    progress = Progress()
    monkeypatch.setattr(Progress, "__setattr__", note)
    async with served(60) as service:
        service.emulator.weather.add(NoSuchUser(code="ERR_UID_NOT_FOUND", route="/users/eve/messages"))
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(all_users=True), progress=progress)
            assert (report.complete, report.deleted_users) == (True, ["user eve"])
            assert failed == {0}
        assert_complete(tmp_path / "out", service.expected())
        service.emulator.weather.clear()
        service.store.add_message("eve", "ann", "back again")
        await service.export_complete(tmp_path / "out")


@pytest.mark.parametrize(
    ("code", "plan"), [("ERR_NO_ROUTE", Plan(all_users=True)), ("ERR_UID_NOT_FOUND", Plan(users=["eve"]))]
)
async def test_another_list_that_is_not_there_is_a_failure(code: str, plan: Plan, tmp_path: Path) -> None:
    async with served(60) as service:
        service.emulator.weather.add(NoSuchUser(code=code, route="/users/eve/messages"))
        report = await export(service.session, tmp_path / "out", plan)
        assert [failure.source for failure in report.failed] == ["user eve"]
        assert not report.complete


async def test_messages_of_a_refused_source_are_read_from_the_other_user(tmp_path: Path) -> None:
    """A user that is switched off is listed, and refused."""
    async with served(150) as service:
        service.emulator.weather.add(Status(404, route="/users/ann/messages"))
        report = await export(service.session, tmp_path / "out", Plan(all_users=True))
        assert [failure.source for failure in report.failed] == ["user ann"]
        others = service.users_ids("bob", "cat", "dan", "eve")
        assert len(others) > len(service.users_ids("bob", "cat", "dan")) - 1
        assert_holds(tmp_path / "out", service.expected(others))
        service.emulator.weather.clear()
        service.store.add_message("ann", "bob", "back again")
        report = await service.export_complete(tmp_path / "out")


async def test_a_user_deleted_during_the_run_is_looked_up_in_the_user_list(tmp_path: Path) -> None:
    """The service says only that there is no such list; the users tell that bob is gone."""
    service = SmallService(talk(40))

    def delete_bob(request: web.Request, reply: Record) -> Record:
        if request.match_info.get("uid") != "bob":
            return reply
        service.users = ["ann"]
        raise web.HTTPNotFound(text='{"error": {"code": "ERR_NO_LIST", "message": ""}}')

    service.change_reply = delete_bob
    async with service.session() as session:
        report = await export(session, tmp_path / "out")
    assert (report.complete, report.failed, report.messages) == (True, [], 40)
