"""An export holds each message of the plan once, up to the newest at its beginning."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest import testing
from chatrest.export import Phase, Plan, Progress, export
from tests.export_runs import GROUPS, MIXED, USERS, Served, assert_whole, part_of, records, served
from tests.list_faults import ListFault

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


@pytest.mark.parametrize(
    ("faults", "workers"),
    [
        ((), 1),
        (("descending",), 32),
        (("next-alone",), 32),
        (("next-alone", "descending"), 1),
        (("cursor-alone",), 32),
        (("cursor-alone", "descending"), 32),
    ],
)
async def test_each_message_once_in_every_dialect(
    faults: tuple[str, ...], workers: int, tmp_path: Path
) -> None:
    async with served(75, weather=[ListFault(kind) for kind in faults]) as service:
        report = await export(service.session, tmp_path / "out", Plan(**MIXED), workers=workers)
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())
    assert report.messages == report.written == 75
    assert report.until == 75
    assert report.sources == len(USERS) + len(GROUPS) + 2
    assert (report.failed, report.deleted_users, report.reasons) == ([], [], [])


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (Plan(everything=True), lambda service: service.store.ids()),
        (Plan(users=("ann",)), lambda service: service.users_ids("ann")),
        (Plan(users=("ann", "bob")), lambda service: service.users_ids("ann", "bob")),
        (Plan(groups=("den",)), lambda service: service.store.ids(group="den")),
        (Plan(pairs=(("dan", "ann"),)), lambda service: service.store.ids(conversation="ann_user_dan")),
        (
            Plan(users=("cat",), pairs=(("cat", "ann"), ("ann", "bob")), groups=("oak",)),
            lambda service: {
                *service.users_ids("cat"),
                *service.store.ids(conversation="ann_user_bob"),
                *service.store.ids(group="oak"),
            },
        ),
        (Plan(users=("eve",)), lambda service: []),
    ],
    ids=["everything", "user", "users", "group", "pair", "overlapping", "nothing"],
)
async def test_a_plan_holds_what_its_sources_show(
    plan: Plan, wanted: Callable[[Served], Any], tmp_path: Path
) -> None:
    async with served(75) as service:
        report = await export(service.session, tmp_path / "out", plan)
        assert report.complete
        assert_whole(tmp_path / "out", service.expected(wanted(service)))
        again = await export(service.session, tmp_path / "out")
        assert again.complete
        assert again.written == 0
        assert_whole(tmp_path / "out", service.expected(wanted(service)))


async def test_an_app_without_a_message(tmp_path: Path) -> None:
    async with served(0) as service:
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.until is None
        assert_whole(tmp_path / "out", [])
        service.store.add_records(records(60))
        assert (await export(service.session, tmp_path / "out")).written == 60
        assert_whole(tmp_path / "out", service.expected())


async def test_progress_and_report_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(75) as service:
        progress = Progress()
        clock = iter(range(1_700_000_000, 1_800_000_000, 10))
        monkeypatch.setattr(testing, "_clocks", [lambda: next(clock)])
        report = await export(service.session, tmp_path / "out", Plan(**MIXED), progress=progress)
        assert progress.phase is Phase.DONE
        assert progress.written == report.written == 75
        assert progress.covered == progress.ids == 75 * report.sources
        assert progress.active == {}
        assert report.requests == len(service.emulator.requests)
        assert report.finished > report.started == 1_700_000_000
        assert part_of(tmp_path / "out", "user-ann")
