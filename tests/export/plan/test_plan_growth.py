"""A later run with another plan: sources are added by naming them, and a window becomes wider."""

from pathlib import Path
from typing import Any

import pytest

from chatrest.export import Plan, export
from tests.export_runs import START, assert_whole, served, to_user
from tests.small_service import SmallService, talk

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


async def test_sources_are_added_by_naming_them(tmp_path: Path) -> None:
    async with served(60) as service:
        first = await export(service.session, tmp_path / "out", Plan(users=["ann"]))
        assert (first.complete, first.kept) == (True, [])
        assert_whole(tmp_path / "out", service.expected(service.users_ids("ann")))
        grown = Plan(users=["ann", "bob"], groups=["den"])
        second = await export(service.session, tmp_path / "out", grown, change_plan=True)
        assert (second.complete, second.kept, second.sources) == (True, [], 3)
        third = await export(service.session, tmp_path / "out", Plan(all_users=True), change_plan=True)
        assert (third.complete, third.kept) == (True, ["group den"])
        fourth = await export(service.session, tmp_path / "out")
        assert (fourth.complete, fourth.written, fourth.kept) == (True, 0, ["group den"])
        den = set(service.store.ids(conversation="group_den"))
        assert_whole(
            tmp_path / "out", service.expected(den | set(service.users_ids("ann", "bob", "cat", "dan")))
        )


@pytest.mark.parametrize(
    "windows",
    [
        [(START + 40, START + 60), (START + 20, START + 80), (0, START + 81)],
        [(START + 40, None), (START + 1, None)],
        [(None, START + 60), (None, START + 61), (0, None)],
    ],
)
async def test_a_window_becomes_wider(windows: list[tuple[int | None, int | None]], tmp_path: Path) -> None:
    def fill_in(store: Any) -> None:
        for uid in ("ann", "bob"):
            store.add_user(uid)
        store.add_records(to_user("ann", "bob", number) for number in range(1, 101))

    async with served(fill_in=fill_in) as service:
        high = 0
        for since, until in windows:
            report = await export(
                service.session, tmp_path / "out", Plan(since=since, until=until), change_plan=True
            )
            assert report.complete
            low = max(1, (since or START) - START)
            high = until - START if until else high or 100  # which stays where it is not given
            assert_whole(tmp_path / "out", service.expected(range(low, min(100, high) + 1)))


async def test_what_a_plan_does_not_give_stays_as_it_is(tmp_path: Path) -> None:
    async with served(60) as service:
        first = Plan(users=["ann"], since=START, format="parquet", partition="day")
        await export(service.session, tmp_path / "out", first)
        report = await export(service.session, tmp_path / "out", Plan(users=["bob"]), change_plan=True)
        assert (report.complete, report.kept) == (True, ["user ann"])
        report = await export(service.session, tmp_path / "out", Plan(since=START - 5), change_plan=True)
        assert (report.complete, report.sources, report.kept) == (True, 1, ["user ann"])


async def test_a_recheck_in_the_run_that_widens_the_window_finds_the_edits(tmp_path: Path) -> None:
    service = SmallService(talk(60))
    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(everything=True, since=START + 20))
        service.records[39] |= {"data": {"text": "edited"}}
        del service.records[49]
        wider = Plan(everything=True, since=START)
        report = await export(session, tmp_path / "out", wider, recheck=10**9, change_plan=True)
    assert (report.complete, report.changed, report.deleted, report.written) == (True, 1, 1, 19)
