"""A service that lost its data: its ids begin at 1 again, and no run says that nothing is new."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatrest import AsyncSession, ServerError
from chatrest._core.replies.rows import Row
from chatrest._core.send import AsRows
from chatrest._resources.messages import Messages
from chatrest.emulator import Emulator, Status
from chatrest.export import Plan, Remedy, Report, export, verify
from chatrest.export.folder.id_continuity import IdContinuity
from tests.support.export_runs import ids_of
from tests.support.scripted_server import no_wait
from tests.support.small_service import CompatibleService, SmallService, talk as talk_of

pytestmark = pytest.mark.usefixtures("tidy")
NOW = 1_800_000_000
PLANS = [Plan(everything=True), Plan(all_users=True), Plan(users=["bob"]), Plan(users=["bob", "cat"])]


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        for uid in ("ann", "bob", "cat"):
            emulator.store.add_user(uid)
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app, sleep=no_wait, dice=lambda: 0.5) as session:
        yield session


def talk(emulator: Emulator, count: int, since: int = NOW, to: str = "bob") -> None:
    for number in range(count):
        ends = ("ann", to) if number % 2 else (to, "ann")
        emulator.store.add_message(*ends, "hi", sent_at=since + number)


def words_of(report: Report) -> list[str]:
    return [failure.error for failure in report.failed] + report.reasons


def check_anew(report: Report, known: int) -> None:
    assert (report.complete, report.written) == (False, 0), report
    warnings = [words for words in words_of(report) if "ids of the app begin again" in words]
    assert warnings
    for words in warnings:
        assert f"the newest message of the export is {known}, sent at " in words
        assert "the service now has " in words
        assert "into a new folder" in words


@pytest.mark.parametrize(("plan", "later"), list(zip(PLANS, (1, 15, 50, 83), strict=True)))
@pytest.mark.usefixtures("small_pages")
async def test_messages_from_after_a_loss_of_data_are_an_error_in_every_run(
    emulator: Emulator, session: AsyncSession, plan: Plan, later: int, tmp_path: Path
) -> None:
    """With fewer messages than were known, as many, and more; a page has 25."""
    talk(emulator, 50)
    assert (await export(session, tmp_path / "out", plan)).complete
    emulator.lose_data()
    if "cat" in plan.users:  # a list that was empty before the loss
        assert (await export(session, tmp_path / "out")).written == 0
    talk(emulator, later, NOW + 86_400, to="cat" if "cat" in plan.users else "bob")
    for _ in range(2):
        check_anew(await export(session, tmp_path / "out"), 50)
        talk(emulator, 1, NOW + 90_000)
    assert len(ids_of(tmp_path / "out")) == 50
    new = await export(session, tmp_path / "new", plan)
    assert (new.complete, new.messages) == (True, later + 2)
    assert {problem.kind for problem in verify(tmp_path / "out").problems} == {"incomplete"}


async def test_no_table_of_a_service_that_lost_its_data_replaces_one(
    emulator: Emulator, session: AsyncSession, tmp_path: Path
) -> None:
    talk(emulator, 50)
    await export(session, tmp_path / "out", Plan(all_users=True), tables=["users"])
    table = tmp_path / "out" / "users" / "users.ndjson"
    former = table.read_bytes()
    emulator.lose_data()
    emulator.store.add_user("new")
    talk(emulator, 60, NOW + 86_400)
    check_anew(await export(session, tmp_path / "out"), 50)
    assert table.read_bytes() == former


@pytest.mark.parametrize("gone", [[40], [20, 21, 39], [*range(25, 41)], [*range(1, 41)]], ids=len)
@pytest.mark.parametrize("permanent", [True, False])
@pytest.mark.usefixtures("small_pages")
async def test_messages_that_were_deleted_are_no_loss(
    emulator: Emulator, session: AsyncSession, permanent: bool, gone: list[int], tmp_path: Path
) -> None:
    talk(emulator, 40)
    assert (await export(session, tmp_path / "out", PLANS[len(gone) % 4])).complete
    for number in gone:
        await session.messages.delete(str(number), permanent=permanent)
    for count in (0, 3, 60, 0):
        talk(emulator, count, NOW + 500)
        report = await export(session, tmp_path / "out")
        assert report.complete, words_of(report)
        assert report.written >= count


async def test_a_quiet_service_costs_no_more_requests(
    emulator: Emulator, session: AsyncSession, tmp_path: Path
) -> None:
    talk(emulator, 120)
    await export(session, tmp_path / "out", Plan(users=["bob"]))
    for count, most in ((0, 2), (5, 3), (0, 2), (101, 8)):
        talk(emulator, count, NOW + 500)
        report = await export(session, tmp_path / "out")
        assert (report.complete, report.written) == (True, count)
        assert report.requests <= most, (count, report.requests)


async def test_messages_of_a_killed_run_show_that_ids_begin_again(tmp_path: Path) -> None:
    service = SmallService(talk_of(400))
    running: asyncio.Task[Report]

    def stop(request: Any, reply: dict[str, Any]) -> dict[str, Any]:
        if "uid" not in request.match_info:
            return {"data": []}
        if any(record["id"] == "150" for record in reply["data"]):
            running.cancel()
        return reply

    service.change_reply = stop
    async with service.session() as session:
        running = asyncio.create_task(export(session, tmp_path / "out", Plan(users=["ann"])))
        with pytest.raises(asyncio.CancelledError):
            await running
        held = ids_of(tmp_path / "out")
        assert 0 < len(held) < 400
        held_last = max(map(int, held))
        service.change_reply = lambda request, reply: reply if "uid" in request.match_info else {"data": []}
        service.records = [each | {"sentAt": each["sentAt"] + 9_999} for each in talk_of(60)]
        check_anew(await export(session, tmp_path / "out"), held_last)
    assert ids_of(tmp_path / "out") == held


async def test_differing_clocks_are_not_a_loss_if_the_newest_message_was_deleted(tmp_path: Path) -> None:
    """The time comes from all lists, and not only from the newest message."""
    service = CompatibleService(("ann", "bob", "cat", "dan"), clocks=(0, -5))
    service.talk(20)
    service.now += 60
    service.send("cat", "dan")
    service.send("ann", "bob", node=1)
    async with service.session() as session:
        plan = Plan(users=["ann", "cat"])
        assert (await export(session, tmp_path / "out", plan)).complete
        del service.records[-1]
        for count in (0, 3):
            service.talk(count)
            report = await export(session, tmp_path / "out")
            assert (report.complete, report.written) == (True, count), report


@pytest.mark.parametrize(("status", "may_hide"), [(0, False), (403, True), (500, None)])
async def test_a_deleted_newest_message_hides_no_newer_ones(
    emulator: Emulator, session: AsyncSession, status: int, may_hide: bool | None
) -> None:
    """A service that refuses to serve it says nothing of it."""
    if status:
        emulator.weather.add(Status(status, route="messages.get"))
    journal: Any = SimpleNamespace(latest=lambda: NOW)
    ids = IdContinuity(Messages(AsRows(session.sender)), 50, journal)
    if may_hide is None:
        with pytest.raises(ServerError):
            await ids.check([Row(id="3", sent_at=NOW)])
        return
    await ids.check([Row(id="3", sent_at=NOW)])
    assert ids.may_hide_newer(3) is may_hide


async def test_runs_of_some_sources_name_a_reason_once(
    emulator: Emulator, session: AsyncSession, tmp_path: Path
) -> None:
    talk(emulator, 50)
    await export(session, tmp_path / "out", Plan(users=["ann", "bob"]))
    emulator.lose_data()
    talk(emulator, 60, NOW + 86_400)
    for _ in range(2):
        await export(session, tmp_path / "out", Plan(users=["ann"]), only=True)
    [problem] = verify(tmp_path / "out").problems
    assert ("begin again" in problem.text, problem.advice) == (True, Remedy.NOTHING)
