"""Different records under one id: one is kept, and the report names the ids."""

from pathlib import Path
from typing import Any

import pytest

from chatrest._core.replies.rows import Row
from chatrest.export import Plan, export
from chatrest.export.folder.repeated_rows import RepeatedRows
from chatrest.export.plan.message_ids import ids_of as ids
from tests.export_runs import edit, ids_of, served
from tests.small_service import Record, SmallService, talk


class OneMore(SmallService):
    """Shows one more record behind another one, on whichever page that is."""

    extra: Record
    place: int

    def _page(self, records: list[Record], query: dict[str, str], size: int) -> Record:
        reply = super()._page(records, query, size)
        places = [int(record["id"]) for record in reply["data"]]
        if self.place in places:
            reply["data"].insert(places.index(self.place) + 1, self.extra)
        return reply


def service_with(extra: dict[str, Any], place: int) -> OneMore:
    service = OneMore(talk(60))
    service.extra, service.place = service.records[4] | extra, place
    return service


@pytest.mark.parametrize(
    ("id", "place", "format"),
    [
        ("5", 4, "ndjson"),
        ("5", 20, "parquet"),
        ("5", 30, "parquet"),
        ("05", 30, "ndjson"),
        ("5", 45, "ndjson"),
        ("05", 45, "parquet"),
    ],
)
async def test_different_records_of_one_id_are_a_warning(
    id: str, place: int, format: Any, tmp_path: Path
) -> None:
    service = service_with({"id": id, "data": {"text": "another text"}}, place)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(users=["ann"], format=format))
    assert (report.complete, len(ids_of(tmp_path / "out"))) == (True, 60)
    assert report.warnings == ["different records came under one id, and the first of each was kept: 5"]


@pytest.mark.parametrize("place", [4, 30])
async def test_the_same_record_that_comes_twice_is_no_warning(place: int, tmp_path: Path) -> None:
    service = service_with({}, place)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(users=["ann"]))
    assert (report.complete, report.messages, report.warnings) == (True, 60, [])


@pytest.mark.usefixtures("small_pages")
async def test_edits_between_runs_are_no_warning(tmp_path: Path) -> None:
    async with served(120) as service:
        await export(service.session, tmp_path / "out", Plan(users=["ann"], since=1_600_500_000))
        for number in service.store.ids(participant="ann"):
            edit(service.store, number, "edited")
        report = await export(service.session, tmp_path / "out", Plan(since=1), change_plan=True)
        assert (report.complete, report.warnings) == (True, [])
        report = await export(service.session, tmp_path / "out", recheck=10**9)
        assert report.changed
        assert report.warnings == []


def test_the_ids_of_a_warning_are_bounded() -> None:
    repeats = RepeatedRows()
    shown = [Row(str(number), line=b"first") for number in range(1, 31)]
    repeats.add(shown, shown, ids(shown))
    for text in (b"second", b"third"):
        repeats.note([Row(row.id, line=text) for row in shown])
    [warning] = repeats.warnings()
    assert warning.endswith(": 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more")
