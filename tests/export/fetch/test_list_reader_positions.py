"""One reply in the middle of a list never has a next position: no source ends there in silence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest.export import Plan, Report, export, verify
from tests.export_runs import ids_of, manifest_of
from tests.small_service import Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")

COUNT = 125
ALL = [str(number) for number in range(1, COUNT + 1)]
FIRST_OF_PAGE = "76"
"""The first id of the page whose reply is spoilt: the fourth, going on from the service's own positions."""


def set_meta(value: Any) -> Callable[[Record], Record]:
    return lambda reply: reply | {"meta": value}


def without_meta(reply: Record) -> Record:
    return {"data": reply["data"]}


def set_cursor(value: Any) -> Callable[[Record], Record]:
    return lambda reply: reply | {"meta": reply["meta"] | {"cursor": value}}


def without_cursor(reply: Record) -> Record:
    return reply | {"meta": {"pagination": reply["meta"]["pagination"]}}


def empty_page_of_two(reply: Record) -> Record:
    return {"data": [], "meta": {"pagination": {"current_page": 1, "total_pages": 2, "count": 0}}}


SPOILS: dict[str, Callable[[Record], Record]] = {
    "no meta": without_meta,
    "null for meta": set_meta(None),
    "a text for meta": set_meta("lost"),
    "an empty object for meta": set_meta({}),
    "no cursor": without_cursor,
    "null for the cursor": set_cursor(None),
    "an empty object for the cursor": set_cursor({}),
    "a cursor without an id": set_cursor({"affix": "append"}),
    "a cursor that cannot be read": set_cursor(["?"]),
    "a cursor that goes back": set_cursor({"affix": "append", "id": 3}),
    "nothing, and more to come": empty_page_of_two,
}


def spoilt(spoil: Callable[[Record], Record], uid: str | None) -> Callable[[Any, Record], Record]:
    def change(request: Any, reply: Record) -> Record:
        first = reply["data"][0]["id"] if reply["data"] else ""
        is_meant = request.match_info.get("uid") == uid and request.query.get("affix") == "append"
        return spoil(reply) if is_meant and first == FIRST_OF_PAGE else reply

    return change


@pytest.mark.parametrize(("spoil", "workers"), [(each, 1 + 3 * (n % 2)) for n, each in enumerate(SPOILS)])
async def test_an_export_is_whole_only_where_all_of_it_came(spoil: str, workers: int, tmp_path: Path) -> None:
    service = SmallService(talk(COUNT))
    service.spoil = spoilt(SPOILS[spoil], None)
    plan = Plan(everything=True)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", plan, workers=workers)
        assert_honest(report, tmp_path / "out", "everything")
        again = await export(session, tmp_path / "out", workers=workers)
        assert_honest(again, tmp_path / "out", "everything")
        service.spoil = lambda _, reply: reply
        report = await export(session, tmp_path / "out", workers=workers)
    assert report.complete
    assert ids_of(tmp_path / "out") == ALL
    assert verify(tmp_path / "out").ok


async def test_a_list_whose_positions_go_back_is_read_whole_as_one_in_no_order(tmp_path: Path) -> None:
    service = SmallService(talk(COUNT))
    service.spoil = spoilt(SPOILS["a cursor that goes back"], None)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(everything=True))
        assert (report.complete, report.written) == (True, COUNT)
        again = await export(session, tmp_path / "out")
    assert (again.complete, again.written) == (True, 0)
    assert verify(tmp_path / "out").ok


def assert_honest(report: Report, out: Path, source: str) -> None:
    """The report, the manifest and the files agree on whether the source is complete."""
    ids = ids_of(out)
    assert len(ids) == len(set(ids))
    assert report.complete == manifest_of(out).complete == (ids == ALL)
    assert verify(out).ok == report.complete
    if not report.complete:
        assert report.failed or report.reasons
        assert {failure.source for failure in report.failed} <= {source}
