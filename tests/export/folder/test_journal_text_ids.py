"""Lists whose ids are not numbers: their end is believed once all ids of the probe were seen."""

from pathlib import Path
from typing import Any

import pytest

from chatrest.export import Plan, changes, export, read_raw, verify
from tests.support.export_runs import files_of, ids_of, manifest_of
from tests.support.small_service import Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")

COUNT = 120


class TextService(SmallService):
    """Messages in the order of `records`, with ids of any form; each is a position."""

    end = COUNT
    """The record at which lists that go up claim to end."""

    def page(self, records: list[Record], query: dict[str, str], size: int) -> Record:
        affix = query.get("affix", "prepend")
        ordered = records[: self.end] if affix == "append" else records[::-1]
        ids = [record["id"] for record in ordered]
        begin = ids.index(query["id"]) + 1 if query.get("id") in ids else 0
        data = ordered[begin : begin + size]
        meta: dict[str, Any] = {"current": {"limit": size, "count": len(data)}}
        if data:
            meta["cursor"] = {"id": data[-1]["id"], "affix": affix}
        return {"data": data, "meta": meta}


def named(records: list[Record], *, every: int = 1, form: str = "m-{}") -> list[Record]:
    return [
        record | {"id": form.format(int(record["id"]))} if int(record["id"]) % every == 0 else record
        for record in records
    ]


@pytest.mark.parametrize(("every", "end"), [(1, 25), (2, 70)], ids=["texts", "texts and numbers"])
async def test_a_list_of_texts_that_ends_too_early_is_not_complete(
    every: int, end: int, tmp_path: Path
) -> None:
    service = TextService(named(talk(COUNT), every=every))
    service.end = end
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(users=["ann"]))
        assert not report.complete
        assert report.failed, report
        service.end = COUNT
        report = await export(session, tmp_path / "out")
        assert report.complete, report
    assert len(ids_of(tmp_path / "out")) == COUNT


@pytest.mark.parametrize("every", [1, 2], ids=["texts", "texts and numbers"])
async def test_a_list_of_text_ids_is_complete_at_the_end(every: int, tmp_path: Path) -> None:
    service = TextService(named(talk(COUNT), every=every))
    async with service.session() as session:
        for first in (COUNT + 1, COUNT + 31):
            report = await export(session, tmp_path / "out", Plan(users=["ann"]))
            assert report.complete, report
            assert len(ids_of(tmp_path / "out")) == len(service.records)
            service.records += named(talk(30, first=first), every=every)
            service.end += 30


@pytest.mark.parametrize(
    ("every", "form"),
    [(1, "m-{}"), (2, "m-{}"), (1, "{:05}"), (2, "{:05}"), (1, "1{:020}")],
    ids=["names", "names and numbers", "zeros in front", "zeros in front of some", "above 64 bits"],
)
async def test_a_recheck_finds_edits_and_deletions_whatever_the_ids(
    every: int, form: str, tmp_path: Path
) -> None:
    service = TextService(named(talk(COUNT), every=every, form=form))
    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(users=["ann"]))
        gone = [service.records.pop(at) for at in (COUNT - 1, 61, 60, 3)]
        service.end = len(service.records)
        for number in (1, service.end - 1):
            service.records[number] |= {"data": {"text": "edited"}}
        report = await export(session, tmp_path / "out", recheck=10**9)
        assert (report.complete, report.changed, report.deleted) == (True, 2, 4)
        assert sorted(manifest_of(tmp_path / "out").deleted) == sorted(record["id"] for record in gone)
        deleted = {each.id for each in changes(tmp_path / "out", after=1) if each.kind == "deleted"}
        assert deleted == {each["id"] for each in gone}
        report = await export(session, tmp_path / "out", recheck=10**9)
        assert (report.complete, report.deleted) == (True, 0)
        service.records += gone[:1]
        service.end = len(service.records)
        assert (await export(session, tmp_path / "out", recheck=10**9)).complete
        assert len(manifest_of(tmp_path / "out").deleted) == 3
    assert len(list(read_raw(tmp_path / "out"))) == COUNT
    assert verify(tmp_path / "out").ok


async def test_a_text_id_is_not_missing_if_the_list_ends_too_early(tmp_path: Path) -> None:
    service = TextService(named(talk(COUNT)))
    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(users=["ann"]))
        [path] = files_of(tmp_path / "out")
        path.unlink()
        service.end = 25
        report = await export(session, tmp_path / "out")
        assert not report.complete
        service.end = COUNT
        report = await export(session, tmp_path / "out")
        assert (report.complete, report.missing) == (True, 0)
    assert len(ids_of(tmp_path / "out")) == COUNT
