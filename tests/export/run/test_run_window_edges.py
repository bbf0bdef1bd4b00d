"""The seconds at both ends of a window: services differ in whether `fromTimestamp` and `toTimestamp` include
their own second, and in whether they heed them at all.
"""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatrest.export import Plan, export
from chatrest.export.fetch.page_check import Window
from tests.support.cases import loop_over
from tests.support.export_runs import ids_of, manifest_of
from tests.support.small_service import START, Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")


def sent_at(record: Record) -> int:
    return int(record["sentAt"])


def exclusive(record: Record, since: int | None, until: int | None) -> bool:
    return (since is None or sent_at(record) > since) and (until is None or sent_at(record) < until)


def inclusive(record: Record, since: int | None, until: int | None) -> bool:
    return (since is None or sent_at(record) >= since) and (until is None or sent_at(record) <= until)


def without_end(record: Record, since: int | None, until: int | None) -> bool:
    return since is None or sent_at(record) > since


def end_with_a_beginning(record: Record, since: int | None, until: int | None) -> bool:
    return since is None or inclusive(record, since, until)


def nothing_heeded(record: Record, since: int | None, until: int | None) -> bool:
    return True


HABITS = [exclusive, inclusive, without_end, end_with_a_beginning, nothing_heeded]
PLANS: list[dict[str, Any]] = [{"everything": True}, {"all_users": True}, {"pairs": [("ann", "bob")]}]
WINDOWS: list[tuple[dict[str, int], int, int]] = [
    ({"since": START + 40, "until": START + 80}, 40, 80),
    ({"since": START + 40}, 40, 120),
    ({"until": START + 80}, 1, 80),
    ({"since": START + 40, "until": START + 40}, 40, 40),
]
CASES = [
    *((habit, PLANS[0], *window) for habit in HABITS for window in (WINDOWS[0], WINDOWS[3])),
    *((habit, PLANS[0], *window) for habit in HABITS[1:4] for window in WINDOWS[1:3]),
    *((HABITS[0], plan, *WINDOWS[0]) for plan in PLANS[1:]),
]
RECHECKS = [*((habit, PLANS[0]) for habit in HABITS), *((HABITS[0], plan) for plan in PLANS[1:])]


@pytest.mark.parametrize(("habit", "sources", "window", "first", "last"), CASES)
async def test_an_export_has_both_window_ends_whatever_the_service_does(
    habit: Any, sources: dict[str, Any], window: dict[str, int], first: int, last: int, tmp_path: Path
) -> None:
    service = SmallService(talk(120))
    service.window = habit
    plan = Plan(**sources, **window)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", plan)
    assert report.complete
    assert ids_of(tmp_path / "out") == [str(number) for number in range(first, last + 1)]
    assert Plan.parse(bytes(manifest_of(tmp_path / "out").plan)) == plan


@pytest.mark.parametrize(("habit", "sources"), RECHECKS)
async def test_a_recheck_misses_nothing_that_is_still_served(
    habit: Any, sources: dict[str, Any], tmp_path: Path
) -> None:
    service = SmallService(talk(120))
    service.window = habit
    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(**sources, until=START + 110))
        for seconds in (9, 12):  # every second has a message
            report = await export(session, tmp_path / "out", recheck=seconds)
            assert (report.complete, report.deleted, report.changed) == (True, 0, 0)
        service.records = [record for record in service.records if record["id"] != "108"]
        assert (await export(session, tmp_path / "out", recheck=12)).deleted == 1
    assert manifest_of(tmp_path / "out").deleted == ["108"]


async def test_a_message_that_only_one_list_still_shows_is_not_deleted(tmp_path: Path) -> None:
    service = SmallService(talk(40))
    hidden_from = {"ann"}

    def without(request: Any, reply: Record) -> Record:
        if request.match_info.get("uid") in hidden_from:
            reply["data"] = [record for record in reply["data"] if record["id"] not in ("20", "21")]
        return reply

    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(all_users=True))
        service.change_reply = without
        for workers in (1, 2):
            report = await export(session, tmp_path / "out", recheck=1000, workers=workers)
            assert (report.deleted, manifest_of(tmp_path / "out").deleted) == (0, [])
        hidden_from.add("bob")
        assert (await export(session, tmp_path / "out", recheck=1000)).deleted == 2
    assert manifest_of(tmp_path / "out").deleted == ["20", "21"]


def milliseconds(record: Record, since: int | None, until: int | None) -> bool:
    return since is None or sent_at(record) * 1000 >= since * 1_000_000


def whole_minutes(record: Record, since: int | None, until: int | None) -> bool:
    return since is None or sent_at(record) >= (since // 60 + 1) * 60


@pytest.mark.parametrize(
    ("habit", "sources"), [(milliseconds, PLANS[0]), (whole_minutes, PLANS[0]), (milliseconds, PLANS[2])]
)
async def test_messages_omitted_from_a_window_are_confirmed_without_times(
    habit: Any, sources: dict[str, Any], tmp_path: Path
) -> None:
    service = SmallService(talk(300))
    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(**sources))
        service.window = habit
        service.records = [record for record in service.records if record["id"] not in ("200", "297", "300")]
        report = await export(session, tmp_path / "out", recheck=150)
    assert report.complete
    assert report.deleted == 3
    assert manifest_of(tmp_path / "out").deleted == ["200", "297", "300"]


@loop_over(
    ("window", "recheck_since", "expected"),
    [
        (Window(), None, (None, None)),
        (Window(5), None, (4, None)),
        (Window(0), None, (0, None)),
        (Window(None, 9), None, (0, 10)),
        (Window(5, 9), None, (4, 10)),
        (Window(5, 9), 7, (6, 10)),
        (Window(5, 9), 2, (4, 10)),
        (Window(START * 1000), None, (START * 1000 - 1000, None)),
    ],
)
def test_a_service_is_asked_for_a_second_more_at_both_ends(
    window: Window, recheck_since: int | None, expected: tuple[int | None, int | None]
) -> None:
    assert window.asked(recheck_since) == expected


def refuse_app_list(service: SmallService) -> None:
    def refuse(request: web.Request, reply: Record) -> Record:
        if "uid" not in request.match_info:
            raise web.HTTPForbidden(text="{}", content_type="application/json")
        return reply

    service.change_reply = refuse


def hide_newest_time(service: SmallService) -> None:
    del service.records[-1]["sentAt"]


def hide_times(service: SmallService) -> None:
    """The time of the last 30 messages."""
    for record in service.records[-30:]:
        del record["sentAt"]


@pytest.mark.parametrize(
    ("habit", "unit", "service_unit"),
    [
        (lambda _: None, 1, 1000),
        (lambda _: None, 1000, 1),
        (refuse_app_list, 1, 1000),
        (hide_newest_time, 1000, 1),
        (hide_times, 1, 1000),
    ],
)
async def test_a_window_in_another_unit_than_the_service_has_all_messages(
    habit: Any, unit: int, service_unit: int, tmp_path: Path
) -> None:
    service = SmallService(
        record | {"sentAt": record["sentAt"] * service_unit} for record in talk(100, seconds=10)
    )
    service.window = lambda record, since, until: (
        "sentAt" not in record or (since or 0) <= record["sentAt"] <= (until or 10**15)
    )
    habit(service)
    untimed = [record["id"] for record in service.records if "sentAt" not in record]
    window = {"since": (START + 200) * unit, "until": (START + 400) * unit}
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(users=["ann"], **window))
    assert report.complete
    assert ids_of(tmp_path / "out") == [*map(str, range(20, 41)), *untimed]
