"""A service that others wrote: windows that it reads in its own way, busy lists, clocks that disagree."""

import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from aiohttp import web

from chatrest import AsyncSession
from chatrest.export import Plan, export, verify
from tests.support.export_runs import ids_of
from tests.support.small_service import START, CompatibleService, Record, SmallService, talk as talk_of_ann

pytestmark = pytest.mark.usefixtures("tidy")

ANN = Plan(users=["ann"])
DAY = 86_400


async def test_a_recheck_of_a_quiet_list_is_complete_and_so_is_the_next_run(tmp_path: Path) -> None:
    service = CompatibleService()
    service.talk(150)
    service.now += 30 * DAY
    async with service.session() as session:
        for recheck in (None, 7 * DAY, None, 40 * DAY, None):
            report = await export(session, tmp_path / "out", ANN, recheck=recheck)
            assert report.complete, (recheck, report)
            assert (report.deleted, report.changed) == (0, 0)
        service.delete(140)
        report = await export(session, tmp_path / "out", ANN, recheck=40 * DAY)
    assert (report.complete, report.deleted) == (True, 1)


@pytest.mark.parametrize(
    ("since", "until"), [(20, 60), (0, 60), (120, 10**6), (200, 300), (20, None), (500, None)]
)
async def test_an_export_with_a_window_has_exactly_the_messages_in_the_window(
    since: int, until: int | None, tmp_path: Path
) -> None:
    service = CompatibleService()
    service.talk(150)
    plan = Plan(users=["ann"], since=START + since, until=until and START + until)
    async with service.session() as session:
        for count in (0, 0, 100, 0, 2, 0):
            service.talk(count, seconds=2)
            assert (await export(session, tmp_path / "out", plan)).complete
    times = {str(record["id"]): record["sentAt"] - START for record in service.records}
    assert ids_of(tmp_path / "out") == [key for key, at in times.items() if since <= at <= (until or at)]


@pytest.mark.parametrize("clocks", [(0,), (0, -300)], ids=["in order", "by time"])
async def test_an_export_of_a_busy_list_has_all_messages_from_before_the_run(
    clocks: tuple[int, ...], tmp_path: Path
) -> None:
    service = CompatibleService(clocks=clocks)
    service.talk(120)
    service.talk(120, node=len(clocks) - 1)
    async with service.session() as session:
        for _ in range(2):
            truth = set(service.ids)
            service.requests.clear()
            service.before_list = lambda: service.talk(35)  # more than a page has
            report = await export(session, tmp_path / "out", ANN)
            service.before_list = lambda: None
            assert report.complete, report
            assert truth <= set(ids_of(tmp_path / "out"))
            assert len(service.lists_asked()) < len(truth) // 25 + 25


async def test_an_empty_list_costs_one_request_and_a_quiet_one_costs_one(tmp_path: Path) -> None:
    service = CompatibleService(("ann", "bob", "cat", "dan"))
    service.talk(40)
    async with service.session() as session:
        for expected in (1, 1):
            service.requests.clear()
            assert (await export(session, tmp_path / "out", Plan(users=["cat", "dan"]))).complete
            assert len(service.lists_asked()) == 2 * expected
        await export(session, tmp_path / "ann", ANN)
        service.requests.clear()
        assert (await export(session, tmp_path / "ann")).complete
        assert len(service.lists_asked()) == 1


async def test_a_new_text_id_is_read_if_the_highest_number_is_unchanged(tmp_path: Path) -> None:
    service = SmallService(talk_of_ann(40))
    late = service.records[-1] | {"id": "late"}

    def show_late(request: web.Request, reply: Record) -> Record:
        data = reply["data"]
        is_end = bool(data) and data[-1]["id"] == "40"
        return reply | {"data": [*data, late]} if is_end else reply

    async with service.session() as session:
        assert (await export(session, tmp_path / "out", ANN)).until == 40
        service.change_reply = show_late
        report = await export(session, tmp_path / "out")
    assert (report.complete, report.written) == (True, 1)
    assert ids_of(tmp_path / "out")[-1] == "late"


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


async def test_a_resumed_list_by_time_has_late_messages_with_an_earlier_time(tmp_path: Path) -> None:
    """The next run continues at a time that is after the one of a message whose id is new."""
    service, replies = CompatibleService(clocks=(0, -60)), Counter[str]()
    service.largest_page = 25
    service.talk(100)

    def fail_after_two_pages() -> None:
        replies["lists"] += 1
        if replies["lists"] > 3:  # the newest messages, and two pages
            raise RuntimeError("the service is down")

    service.before_list = fail_after_two_pages
    async with service.session() as session:
        report = await export(session, tmp_path / "out", ANN)
        assert (report.complete, report.written) == (False, 50)
        service.before_list = lambda: None
        service.talk(1, node=1)
        service.talk(10)
        report = await export(session, tmp_path / "out")
    assert (report.complete, report.written) == (True, 61)
    assert ids_of(tmp_path / "out") == service.ids


class ServiceWithAppList(CompatibleService):
    """One whose own list of messages goes by time, too."""

    async def _list_messages(self, request: web.Request) -> web.Response:
        if request.path != "/messages":
            return await super()._list_messages(request)
        query = dict(request.query)
        return web.json_response(self.page(self.records, query, self._size(query)))


async def export_while_one_arrives(service: CompatibleService, until: int, out: Path) -> None:
    """Export while a message arrives, the last of the fourth page; check that all earlier ones are read."""
    service.largest_page = 25
    lists, at_begin = itertools.count(1), set(service.ids)
    service.before_list = lambda: service.talk(1) if next(lists) == 3 else None
    async with service.session() as session:
        report = await export(session, out, ANN)
    assert (report.complete, report.until) == (True, until)
    assert at_begin <= set(ids_of(out))


async def test_a_later_message_with_an_earlier_time_does_not_end_a_list(tmp_path: Path) -> None:
    """It is newer than the end of the run, and the list has it before two messages of a fast clock."""
    service = ServiceWithAppList(clocks=(0, 60))
    service.talk(99)
    service.talk(2, node=1)
    await export_while_one_arrives(service, 101, tmp_path / "out")


class ServiceWithAppListById(CompatibleService):
    """One whose own list of messages goes by id; those of users go by time."""

    async def _list_messages(self, request: web.Request) -> web.Response:
        if request.path != "/messages":
            return await super()._list_messages(request)
        query = dict(request.query)
        return web.json_response(SmallService.page(self, self.records, query, self._size(query)))


async def test_a_list_by_time_is_read_past_the_newest_id_of_the_app(tmp_path: Path) -> None:
    """Message 99 has the time of a fast clock, so the list of ann has it after 100 and 101."""
    service = ServiceWithAppListById(clocks=(0, 60))
    service.talk(98)
    service.talk(1, node=1)
    service.talk(1)
    await export_while_one_arrives(service, 100, tmp_path / "out")


MINUTE = 60


class Alice:
    """A compatible server for the login of alice, and a session on it; counts the requests of a path."""

    def __init__(self, server: CompatibleService, session: AsyncSession) -> None:
        self.server, self.session = server, session

    def requests(self, *paths: str) -> int:
        """Return the number of requests since the last call, for some paths or for all."""
        asked = [path for path, _ in self.server.requests]
        self.server.requests.clear()
        return len([path for path in asked if not paths or path in paths])


@asynccontextmanager
async def alice(*uids: str) -> AsyncIterator[Alice]:
    server = CompatibleService(("alice", "bob", *uids), reader="alice")
    async with server.session() as session:
        yield Alice(server, session)


def talk(server: CompatibleService, count: int, other: str = "bob", first: int = 0) -> list[str]:
    """Add messages of alice and another one, one per minute; return their ids."""
    ids = []
    for number in range(first, first + count):
        server.now = START + number * MINUTE
        ids.append(str(server.send(*(("alice", other) if number % 2 == 0 else (other, "alice")))["id"]))
    return ids


async def test_a_pair_is_read_if_the_owner_of_the_token_is_the_acting_user(tmp_path: Path) -> None:
    async with alice("aaron") as service:
        known = talk(service.server, 120, "aaron")
        talk(service.server, 40)
        plan = Plan(pairs=[("alice", "aaron")])  # the list of the first one by name, on behalf of the other
        report = await export(service.session, tmp_path / "out", plan)
        assert (report.complete, report.failed, report.warnings) == (True, [], [])
        known += talk(service.server, 30, "aaron", first=300)
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 30)
    assert ids_of(tmp_path / "out") == known
    assert verify(tmp_path / "out").ok


async def test_an_empty_list_of_a_pair_beside_the_other_one_is_not_believed(tmp_path: Path) -> None:
    async with alice() as service:
        talk(service.server, 120)
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(pairs=[("bob", "alice")]))
            assert (report.complete, report.messages) == (False, 0)
            [failure] = report.failed
            assert "the list of alice on behalf of bob is empty, and that of bob" in failure.error


@pytest.mark.parametrize(("pair", "other"), [(("bob", "carol"), "bob"), (("bob", "carol"), "carol")])
async def test_a_pair_fails_if_either_list_shows_messages_of_others(
    pair: tuple[str, str], other: str, tmp_path: Path
) -> None:
    """The other one of the two lists is empty: alice has never talked to that user."""
    async with alice("carol") as service:
        talk(service.server, 3, other)
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(pairs=[pair]))
            assert (report.complete, report.messages) == (False, 0)
            [failure] = report.failed
            assert "ignored the acting user" in failure.error
    assert not verify(tmp_path / "out").ok


async def test_a_pair_that_has_not_talked_is_complete(tmp_path: Path) -> None:
    async with alice() as service:
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(pairs=[("alice", "bob")]))
            assert (report.complete, report.messages) == (True, 0)


async def test_reading_stops_once_the_list_has_passed_the_end_of_the_window(tmp_path: Path) -> None:
    async with alice() as service:
        known = talk(service.server, 3000)
        plan = Plan(users=["bob"], until=START + 299 * MINUTE)
        report = await export(service.session, tmp_path / "out", plan, workers=1)
        assert report.complete
        assert service.requests() <= 20
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 0)
        assert service.requests() <= 6
    assert ids_of(tmp_path / "out") == known[:300]


async def test_an_export_of_many_empty_lists_costs_one_request_per_list(tmp_path: Path) -> None:
    async with alice(*(f"u{number:03}" for number in range(30))) as service:
        known = talk(service.server, 300)
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.sources) == (True, 32)
        assert service.requests() <= 56
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 0)
        assert service.requests() <= 39
    assert ids_of(tmp_path / "out") == known
