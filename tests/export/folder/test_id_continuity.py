"""A service that lost its data: its ids begin at 1 again, and no run says that nothing is new."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.export import Plan, Remedy, Report, export, verify
from tests.compatible_service import CompatibleService
from tests.export_runs import ids_of
from tests.scripted_server import no_wait
from tests.small_service import SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")
NOW = 1_800_000_000
PLANS = [Plan(everything=True), Plan(all_users=True), Plan(users=["bob"]), Plan(users=["bob", "cat"])]
habits = pytest.mark.parametrize("habits", ["documented", "compatible"])
CASES = [("documented", plan) for plan in PLANS] + [("compatible", plan) for plan in PLANS[1:]]
"""Of a compatible server without the plan of everything: its list of the app is empty."""


class Night:
    """A service that may lose its data, the emulator or a compatible server, and a session on it."""

    def __init__(self, habits: str) -> None:
        self.emulator = Emulator(users=0, messages=0, groups=0) if habits == "documented" else None
        self.server = CompatibleService(("ann", "bob", "cat"))

    async def __aenter__(self) -> Self:
        self._resources = AsyncExitStack()
        if self.emulator is None:
            self.session = await self._resources.enter_async_context(self.server.session())
            return self
        await self._resources.enter_async_context(self.emulator)
        for uid in ("ann", "bob", "cat"):
            self.emulator.store.add_user(uid)
        session = AsyncSession(self.emulator.app, sleep=no_wait, dice=lambda: 0.5)
        self.session = await self._resources.enter_async_context(session)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._resources.aclose()

    def talk(self, count: int, since: int = NOW, to: str = "bob") -> None:
        for number in range(count):
            ends = ("ann", to) if number % 2 else (to, "ann")
            if self.emulator is None:
                self.server.now = max(self.server.now, since + number)
                self.server.send(*ends)
            else:
                self.emulator.store.add_message(*ends, "hi", sent_at=since + number)

    def lose_data(self) -> None:
        (self.server.lose_all if self.emulator is None else self.emulator.lose_data)()

    async def delete(self, numbers: list[int], *, permanent: bool) -> None:
        for number in numbers:
            if self.emulator is None:
                self.server.delete(number, for_good=permanent)
            else:
                await self.session.messages.delete(str(number), permanent=permanent)


def words_of(report: Report) -> list[str]:
    return [failure.error for failure in report.failed] + report.reasons


def check_anew(report: Report, known: int) -> None:
    assert (report.complete, report.written) == (False, 0), report
    warnings = [
        words for words in words_of(report) if "begin again" in words or "may have begun again" in words
    ]
    assert warnings
    for words in warnings:
        assert f" {known} (sent" in words
        assert "the service now has " in words
        assert "into a new folder" in words


LATER = (1, 15, 50, 83)
"""Messages after the loss: fewer than were known, as many, and more; a page has 25."""


@pytest.mark.parametrize(
    ("habits", "plan", "later"), [(*case, LATER[number % 4]) for number, case in enumerate(CASES)]
)
@pytest.mark.usefixtures("small_pages")
async def test_what_came_after_a_loss_is_an_error_in_every_run(
    habits: str, plan: Plan, later: int, tmp_path: Path
) -> None:
    async with Night(habits) as night:
        night.talk(50)
        assert (await export(night.session, tmp_path / "out", plan)).complete
        night.lose_data()
        night.talk(later, NOW + 86_400, to="cat" if "cat" in plan.users else "bob")
        for _ in range(2):
            check_anew(await export(night.session, tmp_path / "out"), 50)
            night.talk(1, NOW + 90_000)
        assert len(ids_of(tmp_path / "out")) == 50
        new = await export(night.session, tmp_path / "new", plan)
        assert (new.complete, new.messages) == (True, later + 2)
    assert {problem.kind for problem in verify(tmp_path / "out").problems} == {"incomplete"}


@habits
async def test_a_list_that_was_empty_before_the_loss_shows_it(habits: str, tmp_path: Path) -> None:
    async with Night(habits) as night:
        night.talk(200)
        plan = Plan(users=["bob", "cat"])
        assert (await export(night.session, tmp_path / "out", plan)).complete
        night.lose_data()
        assert (await export(night.session, tmp_path / "out")).written == 0
        night.talk(60, NOW + 86_400, to="cat")
        for _ in range(2):
            check_anew(await export(night.session, tmp_path / "out"), 200)


GONE = [[40], [20, 21, 39], [*range(25, 41)], [*range(1, 41)]]


@pytest.mark.parametrize(
    ("habits", "plan", "permanent", "gone"),
    [(*case, number % 2 == 0, GONE[number // 2 % 4]) for number, case in enumerate([*CASES, CASES[0]])],
)
@pytest.mark.usefixtures("small_pages")
async def test_messages_that_were_deleted_are_no_loss(
    habits: str, plan: Plan, permanent: bool, gone: list[int], tmp_path: Path
) -> None:
    async with Night(habits) as night:
        night.talk(40)
        assert (await export(night.session, tmp_path / "out", plan)).complete
        await night.delete(gone, permanent=permanent)
        for count in (0, 3, 60, 0):
            night.talk(count, NOW + 500)
            report = await export(night.session, tmp_path / "out")
            assert report.complete, words_of(report)
            assert report.written >= count


@habits
async def test_a_quiet_service_costs_no_more_requests(habits: str, tmp_path: Path) -> None:
    async with Night(habits) as night:
        night.talk(120)
        plan = Plan(users=["bob"])
        await export(night.session, tmp_path / "out", plan)
        is_documented = habits == "documented"
        for count, most in ((0, 2), (5, 3 if is_documented else 4), (0, 2), (101, 8 if is_documented else 9)):
            night.talk(count, NOW + 500)
            report = await export(night.session, tmp_path / "out")
            assert (report.complete, report.written) == (True, count)
            assert report.requests <= most, (count, report.requests)


async def test_a_service_without_the_apps_list_and_without_times_in_positions(tmp_path: Path) -> None:
    service = SmallService(talk(120))
    original = service.spoil
    service.spoil = lambda request, reply: (
        original(request, reply) if "uid" in request.match_info else {"data": []}
    )
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", Plan(users=["ann"]))).complete
        service.records = [each | {"sentAt": each["sentAt"] + 9_999} for each in talk(60)]
        check_anew(await export(session, tmp_path / "out"), 120)


async def test_another_sender_under_the_newest_id_is_another_message(tmp_path: Path) -> None:
    service = SmallService(talk(20))
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", Plan(everything=True))).complete
        service.records[-1] |= (
            {"sender": "bob", "receiver": "ann"}
            if (service.records[-1]["sender"] == "ann")
            else {"sender": "ann", "receiver": "bob"}
        )
        check_anew(await export(session, tmp_path / "out"), 20)


async def test_a_run_that_is_killed_is_a_witness_of_what_the_service_had(tmp_path: Path) -> None:
    service = SmallService(talk(400))
    running: asyncio.Task[Report]

    def stop(request: Any, reply: dict[str, Any]) -> dict[str, Any]:
        if "uid" not in request.match_info:
            return {"data": []}
        if any(record["id"] == "150" for record in reply["data"]):
            running.cancel()
        return reply

    service.spoil = stop
    async with service.session() as session:
        running = asyncio.create_task(export(session, tmp_path / "out", Plan(users=["ann"])))
        with pytest.raises(asyncio.CancelledError):
            await running
        held = ids_of(tmp_path / "out")
        assert 0 < len(held) < 400
        service.spoil = lambda request, reply: reply if "uid" in request.match_info else {"data": []}
        service.records = [each | {"sentAt": each["sentAt"] + 9_999} for each in talk(60)]
        check_anew(await export(session, tmp_path / "out"), 400)
    assert ids_of(tmp_path / "out") == held


async def test_clocks_that_differ_are_no_loss_where_the_newest_message_was_deleted(tmp_path: Path) -> None:
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


async def test_lower_ids_and_later_times_alone_are_no_proof(tmp_path: Path) -> None:
    service = CompatibleService()
    service.talk(20)
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", Plan(users=["ann"]))).complete
        service.lose_all()
        service.now += 86_400
        service.talk(3)
        report = await export(session, tmp_path / "out")
        assert "may have begun again" in words_of(report)[0]
        service.talk(17)
        report = await export(session, tmp_path / "out")
    assert "ids of the app begin again" in words_of(report)[0]


async def test_runs_of_some_sources_name_a_reason_once(tmp_path: Path) -> None:
    async with Night("documented") as night:
        night.talk(50)
        await export(night.session, tmp_path / "out", Plan(users=["ann", "bob"]))
        night.lose_data()
        night.talk(60, NOW + 86_400)
        for _ in range(2):
            await export(night.session, tmp_path / "out", Plan(users=["ann"]), only=True)
    [problem] = verify(tmp_path / "out").problems
    assert ("begin again" in problem.text, problem.advice) == (True, Remedy.NOTHING)
