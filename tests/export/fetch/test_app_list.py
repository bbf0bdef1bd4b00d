"""A nightly run: what is new comes from the app's own list, where that proves right."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from chatrest.emulator import Fault, OutgoingReply
from chatrest.emulator.service.handler_input import ServiceRequest as Request
from chatrest.emulator.store import Store
from chatrest.export import Plan, Report, export, verify
from chatrest.export.fetch.app_list import MAX_RUNS
from tests.support.export_runs import START, Served, assert_complete, edit, hide, raws_of, served, to_user

pytestmark = pytest.mark.usefixtures("tidy")

USERS = 20


def to_group(sender: str, guid: str, number: int) -> bytes:
    return to_user(sender, guid, number, receiverType="group", conversationId=f"group_{guid}")


def fill_users(store: Store) -> None:
    """Users who have written to the next one of them, a message each."""
    for number in range(USERS):
        store.add_user(f"user-{number:03}")
    store.add_records(
        to_user(f"user-{number:03}", f"user-{(number + 1) % USERS:03}", 10 * (number + 1))
        for number in range(USERS)
    )


def fill_members(store: Store) -> None:
    """The same users, and a group that two of them are in."""
    fill_users(store)
    store.add_group("den")
    for uid in ("user-005", "user-006"):
        store.members.add("den", uid)
    store.add_records([to_group("user-005", "den", 5000)])


NEW = [
    to_user("user-001", "user-002", 10_001),
    to_user("user-010", "user-011", 10_002),
    to_user("user-015", "user-019", 10_003),
]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of `fill_users`, which no test changes."""
    folder = tmp_path_factory.mktemp("first") / "out"

    async def make() -> None:
        async with served(fill_in=fill_users) as service:
            assert (await export(service.session, folder)).complete

    asyncio.run(make())
    return folder


@asynccontextmanager
async def begun(first: Path, tmp_path: Path, **options: Any) -> AsyncIterator[Served]:
    """Yield the service that `fill_users` fills, after its first export into `out`."""
    shutil.copytree(first, tmp_path / "out")
    async with served(fill_in=fill_users, **options) as service:
        yield service


async def run_again(service: Served, out: Path, **options: Any) -> tuple[Report, int]:
    """Run an export again; return its report, and how many lists of users were asked."""
    before = len(service.emulator.requests)
    report = await export(service.session, out, **options)
    requests = list(service.emulator.requests)[before:]
    return report, sum(
        request.path.endswith("/messages") and "/users/" in request.path for request in requests
    )


async def test_night_after_night(first: Path, tmp_path: Path) -> None:
    async with begun(first, tmp_path) as service:
        for night in range(1, 4):
            ids = range(20_000 * night, 20_000 * night + 5)
            service.store.add_records(
                to_user(f"user-{(number * 7) % USERS:03}", f"user-{(number * 7 + night) % USERS:03}", number)
                for number in ids
            )
            service.store.add_user(f"new-{night}")
            service.store.add_records([to_user(f"new-{night}", "user-000", ids.stop)])
            report, _ = await run_again(service, tmp_path / "out")
            assert report.complete
            assert report.written == 6
            assert report.requests <= 14
        assert_complete(tmp_path / "out", service.expected())


async def test_every_seventh_run_asks_each_source(first: Path, tmp_path: Path) -> None:
    async with begun(first, tmp_path) as service:
        reports = [await export(service.session, tmp_path / "out") for _ in range(MAX_RUNS + 2)]
        requests = [report.requests for report in reports]
        assert all(report.complete for report in reports)
        assert all(count <= 6 for count in [*requests[:MAX_RUNS], requests[-1]])
        assert requests[MAX_RUNS] >= USERS


class Hidden(Fault, frozen=True):
    """The app's own list lacks some messages."""

    ids: frozenset[str]

    def rewrite_reply(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        page = json.loads(reply.body)
        page["data"] = [record for record in page["data"] if record["id"] not in self.ids]
        return OutgoingReply(reply.status, json.dumps(page).encode(), reply.headers)


@pytest.mark.parametrize("hidden", [["10002"], ["10001", "10002", "10003"]])
async def test_a_list_that_lacks_messages_of_the_sources_asked_is_not_believed(
    hidden: list[str], first: Path, tmp_path: Path
) -> None:
    async with begun(first, tmp_path, session={"dice": lambda: 0.0}) as service:
        service.store.add_records(NEW)
        # The lot falls to the first source of those with news, and of those without.
        service.store.add_records(
            [to_user("user-000", "user-001", 10_000), to_user("user-000", "user-002", 10_004)]
        )
        service.emulator.weather.add(Hidden(ids=frozenset([*hidden, "10000"]), route="messages.list"))
        report, asked = await run_again(service, tmp_path / "out")
        assert report.complete
        assert asked >= USERS
        assert_complete(tmp_path / "out", service.expected())


async def test_messages_that_the_app_list_hides_are_read_when_each_source_is_asked(
    first: Path, tmp_path: Path
) -> None:
    async with begun(first, tmp_path) as service:
        service.store.add_records(to_user("user-005", "user-006", number) for number in range(9_000, 9_020))
        service.store.add_records(NEW)  # the lot falls to one of these
        service.emulator.weather.add(Hidden(ids=frozenset(["9003"]), route="messages.list"))
        reports = [await export(service.session, tmp_path / "out") for _ in range(MAX_RUNS + 1)]
        assert [report.written for report in reports] == [22, *[0] * (MAX_RUNS - 1), 1]
        assert_complete(tmp_path / "out", service.expected())


class FirstIsOldest(Fault, frozen=True):
    """A list does not heed `affix=prepend`: it begins with its oldest messages."""

    accompanies: ClassVar[bool] = True

    def rewrite_request(self, request: Request) -> Request:
        return request._replace(query=request.query.replace("affix=prepend", "affix=append"))


def fill_history(store: Store) -> None:
    """The same users, of whom user-000 has sent ten pages of messages to user-019, and nothing since."""
    for number in range(USERS):
        store.add_user(f"user-{number:03}")
    store.add_records(to_user("user-000", "user-019", number) for number in range(1, 251))
    store.add_records([to_user("user-002", "user-003", 1000)])


@pytest.mark.parametrize(
    ("new_id", "weather"), [("abc-new", []), ("10000", [FirstIsOldest(route="messages.list_user")])]
)
@pytest.mark.usefixtures("small_pages")
async def test_the_list_of_a_source_that_may_have_more_proves_nothing(
    new_id: str, weather: list[Fault], tmp_path: Path
) -> None:
    """The app's own list lacks a message that the source drawn by lot has, with an id that is no number, or
    after the page that is to be its newest.
    """
    async with served(fill_in=fill_history, session={"dice": lambda: 0.0}) as service:
        await export(service.session, tmp_path / "out")
        service.store.add_records([to_user("user-000", "user-019", 10_000, id=new_id), *NEW])
        service.emulator.weather.add(Hidden(ids=frozenset([new_id]), route="messages.list"), *weather)
        report, asked = await run_again(service, tmp_path / "out")
        assert not report.by_app_list
        assert asked >= USERS
        assert_complete(tmp_path / "out", service.expected())


@pytest.mark.usefixtures("small_pages")
async def test_messages_older_than_the_window_are_not_read(tmp_path: Path) -> None:
    async with served(fill_in=fill_history, session={"dice": lambda: 0.0}) as service:
        plan = Plan(all_users=True, since=START + 900)
        await export(service.session, tmp_path / "out", plan)
        service.store.add_records(NEW)
        report, asked = await run_again(service, tmp_path / "out")
        assert (report.complete, report.by_app_list, report.written) == (True, True, 3)
        assert asked <= 4  # of two lists the newest page, and what is after it


class WithoutGroups(Fault, frozen=True):
    """Lists lack the messages to groups."""

    def rewrite_reply(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        page = json.loads(reply.body)
        page["data"] = [record for record in page["data"] if record["receiverType"] != "group"]
        return OutgoingReply(reply.status, json.dumps(page).encode(), reply.headers)


async def test_a_list_that_lacks_a_group_is_not_believed(tmp_path: Path) -> None:
    """One of each kind of source is asked that it shows nothing of."""
    async with served(fill_in=fill_members) as service:
        service.emulator.weather.add(WithoutGroups(route="messages.list"))
        plan = Plan(all_users=True, groups=["den"])
        assert not (await export(service.session, tmp_path / "out", plan)).by_app_list
        service.store.add_records([to_group("user-005", "den", 10_000), *NEW])
        report, asked = await run_again(service, tmp_path / "out")
        assert (report.complete, report.by_app_list) == (True, False)
        assert_complete(tmp_path / "out", service.expected())
        assert asked >= USERS


def lose(out: Path, name: str) -> None:
    for path in out.glob(f"messages/source=*{name}/*"):
        path.unlink()


async def test_messages_that_only_the_app_list_shows_are_neither_lost_nor_deleted(
    first: Path, tmp_path: Path
) -> None:
    """It is read again from that list where its file is lost, and deleted once that list lacks it, too."""
    async with begun(first, tmp_path) as service:
        service.store.add_records(NEW)
        hide(service.store, [10_001], "u:user-001", "u:user-002")
        assert (await export(service.session, tmp_path / "out")).written == 3
        lose(tmp_path / "out", "user-001")
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.missing, report.messages) == (True, 0, USERS + 3)
        assert verify(tmp_path / "out").ok
        report = await export(service.session, tmp_path / "out", recheck=10**9)
        assert (report.complete, report.deleted, report.messages) == (True, 0, USERS + 3)
        hide(service.store, [10_001, 10_002])
        report = await export(service.session, tmp_path / "out", recheck=10**9)
        assert (report.complete, report.deleted, report.messages) == (True, 2, USERS + 3)


async def test_a_recheck_finds_edits_of_messages_from_the_app_list(first: Path, tmp_path: Path) -> None:
    async with begun(first, tmp_path) as service:
        service.store.add_records(NEW)
        await export(service.session, tmp_path / "out")
        new = edit(service.store, 10_001, "edited")
        hide(service.store, [10_002])
        report = await export(service.session, tmp_path / "out", recheck=10**9)
        assert (report.complete, report.changed, report.deleted) == (True, 1, 1)
        assert new in raws_of(tmp_path / "out")


async def test_group_messages_that_their_sender_shows_come_from_the_apps_list(tmp_path: Path) -> None:
    async with served(fill_in=fill_members) as service:
        await export(service.session, tmp_path / "out")
        service.store.add_records([*NEW, to_group("user-005", "den", 10_010)])
        report, asked = await run_again(service, tmp_path / "out")
        assert report.complete
        assert report.written == 4
        assert asked <= 7
        assert_complete(tmp_path / "out", service.expected())


async def test_group_messages_missing_from_the_sender_are_requested_per_source(tmp_path: Path) -> None:
    async with served(fill_in=fill_members) as service:
        service.emulator.weather.add(WithoutGroups(route="messages.list_user"))
        await export(service.session, tmp_path / "out")
        service.store.add_records([*NEW, to_group("user-005", "den", 10_010)])
        report, asked = await run_again(service, tmp_path / "out")
        assert report.complete
        assert asked >= USERS


async def test_group_messages_of_unknown_senders_are_asked_of_each_source(tmp_path: Path) -> None:
    async with served(fill_in=fill_members) as service:
        await export(service.session, tmp_path / "out")
        service.store.add_records([*NEW, to_group("a-bot", "den", 10_010)])
        report, asked = await run_again(service, tmp_path / "out")
        assert report.complete
        assert asked >= USERS
        members = service.users_ids("user-005", "user-006")
        assert report.written == 3 + (10_010 in members)


@pytest.mark.usefixtures("small_pages")
async def test_many_new_messages_are_asked_of_each_source(tmp_path: Path) -> None:
    """The app's own list has more pages than there are sources."""
    async with served(fill_in=fill_users) as service:
        plan = Plan(users=[f"user-{number:03}" for number in range(8)])
        await export(service.session, tmp_path / "out", plan)
        service.store.add_records(to_user("user-015", "user-016", number) for number in range(10_000, 10_250))
        service.store.add_records([to_user("user-001", "user-002", 20_000)])
        report, asked = await run_again(service, tmp_path / "out")
        assert report.complete
        assert report.written == 1
        assert asked >= 8
        assert report.requests < 8 * 3
