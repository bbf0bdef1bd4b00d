"""Services of other kinds: without the app's own list, and entered in the midst of a list or not."""

from pathlib import Path

import pytest

from chatrest.emulator import Status
from chatrest.export import Plan, export
from chatrest.export.fetch import list_reader
from tests.export_runs import MIXED, assert_whole, fill_plain, query_of, records, served, to_user

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


@pytest.mark.parametrize("status", [403, 400])
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
async def test_idle_workers_share_a_large_source(tmp_path: Path) -> None:
    """The app's own list, whose positions tell times, is never cut."""
    async with served(600, fill_in=lambda store: fill_plain(store, 600)) as service:
        report = await export(service.session, tmp_path / "out", Plan(users=("ann", "bob")))
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())
        # A whole walk has 24 pages and an end; who begins in its midst asks with an id that nobody gave.
        places = [query_of(each.query).get("id") for each in service.emulator.requests]
        assert any(place and int(place) % 25 for place in places)
        service.store.add_records([to_user("ann", "bob", 700)])
        assert (await export(service.session, tmp_path / "out")).written == 1
        assert_whole(tmp_path / "out", service.expected())
