"""Services of other kinds: without the app's own list, and entered in the midst of a list or not."""

from pathlib import Path
from typing import Any

import pytest

from chatrest.emulator.service.context import ServiceRequest as Request
from chatrest.emulator.store import Store
from chatrest.emulator.weather import Status
from chatrest.emulator.weather.faults import Change, Outgoing, query_of
from chatrest.export import Plan, export, list_reader
from tests.exporting import (
    USERS,
    assert_whole,
    fast_disk as fast_disk,
    records,
    served,
    small_pages as small_pages,
)
from tests.runs import MIXED, fill_plain, to_user

pytestmark = pytest.mark.usefixtures("small_pages", "fast_disk", "tidy")


@pytest.mark.parametrize("status", [404, 403, 400])
async def test_a_service_without_the_apps_own_list_has_an_open_end(status: int, tmp_path: Path) -> None:
    async with served(100) as service:
        service.emulator.weather.add(Status(status, route="messages.list"))
        report = await export(service.session, tmp_path / "out", Plan(**MIXED))
        assert report.complete
        assert report.until is None
        assert_whole(tmp_path / "out", service.expected())
        service.store.add_records(records(30, first=1000))
        assert (await export(service.session, tmp_path / "out")).complete
        assert_whole(tmp_path / "out", service.expected())
        service.emulator.weather.clear()
        assert (await export(service.session, tmp_path / "out")).until == 1029
        assert_whole(tmp_path / "out", service.expected())


@pytest.fixture
def eager_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_reader, "LEAST_PAGES", 1)


@pytest.mark.usefixtures("eager_splits")
@pytest.mark.parametrize("everything", [True, False])
async def test_idle_workers_share_a_large_source(everything: bool, tmp_path: Path) -> None:
    async with served(600, fill_in=lambda store: fill_plain(store, 600)) as service:
        plan = Plan(everything=True) if everything else Plan(users=("ann", "bob"))
        report = await export(service.session, tmp_path / "out", plan)
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())
        # A whole walk has 24 pages and an end; who begins in its midst asks with an id that nobody gave.
        places = [
            query_of(Request("GET", "", each.query, {})).get("id") for each in service.emulator.requests
        ]
        assert any(place and int(place) % 25 for place in places)
        service.store.add_records([to_user("ann", "bob", 700)])
        assert (await export(service.session, tmp_path / "out")).written == 1
        assert_whole(tmp_path / "out", service.expected())


class OnlyItsOwnPlaces(Change, frozen=True):
    """A service that takes only ids of the list as places in it; 400 for any other."""

    store: Any
    list: str

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        place = query_of(request).get("id")
        if place is None:
            return reply
        if int(place) in self.store.matching(self.list):
            return reply
        body = b'{"error":{"code":"ERR_BAD_ID","message":"no such place"}}'
        return Outgoing(400, body, reply.headers)


@pytest.mark.usefixtures("eager_splits")
async def test_a_service_that_is_not_entered_in_its_midst_is_walked_from_the_beginning(
    tmp_path: Path,
) -> None:
    def fill_in(store: Store) -> None:
        for uid in ("ann", "bob"):
            store.add_user(uid)
        store.add_records(to_user("ann", "bob", number * 10) for number in range(1, 401))

    async with served(fill_in=fill_in) as service:
        weather = OnlyItsOwnPlaces(service.store, "u:ann", route="/users/ann/messages")
        service.emulator.weather.add(weather)
        report = await export(service.session, tmp_path / "out", Plan(users=("ann",)))
        assert report.complete, report
        assert_whole(tmp_path / "out", service.expected())
        assert any(each.status == 400 for each in service.emulator.requests)


async def test_a_list_that_was_empty_is_walked_on_where_only_its_own_ids_are_places(tmp_path: Path) -> None:
    """The newest id of the app is no place in a list that has never held it."""
    async with served(60) as service:
        for uid in USERS:
            weather = OnlyItsOwnPlaces(service.store, f"u:{uid}", route=f"/users/{uid}/messages")
            service.emulator.weather.add(weather)
        assert (await export(service.session, tmp_path / "out")).complete
        service.store.add_message("ann", "eve", "for the first time")
        service.store.add_message("ann", "bob", "and more")
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert_whole(tmp_path / "out", service.expected())
