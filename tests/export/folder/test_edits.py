"""An increment that reads an edit or a deletion brings the message that it speaks of up to date at once."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatrest._parameters.messages import MessageChanges
from chatrest.emulator import First, Status
from chatrest.emulator.store import Store
from chatrest.export import Plan, changes, export
from chatrest.export.folder import edits
from tests.support.export_runs import Served, put_record, raws_of, served
from tests.support.simulated_crashes import Fate, dies

SHAPES = [{"partition": "source"}, {"format": "parquet"}]
PLAN = Plan(users=["ann"])


def fill_in(store: Store) -> None:
    for uid in ("ann", "bob", "cat"):
        store.add_user(uid)
    for number in range(1, 6):
        store.add_message("ann", "bob", f"message {number}", sent_at=1_700_000_000 + number)


@pytest.fixture
async def service() -> AsyncIterator[Served]:
    async with served(fill_in=fill_in) as service:
        yield service


def record_of(service: Served, number: int) -> dict[str, Any]:
    [raw] = service.store.records([number])
    return dict(json.loads(raw))


def report_change(service: Served, record: dict[str, Any], shown: Any = None) -> None:
    """Let the service report a change, which it may have made, or not; it may show another one."""
    at = service.store.last_sent_at + 1
    on = {"entity": record, "entityType": "message"}
    action = service.store.add_action("ann", "edited", on, record, sent_at=at)
    if shown is not None:
        action["data"]["entities"]["on"]["entity"] = shown
        put_record(service.store, int(action["id"]), json.dumps(action).encode())


def edited(service: Served, number: int, text: str, later: int = 9, **members: Any) -> dict[str, Any]:
    record = record_of(service, number)
    at = record["updatedAt"] + later
    return record | {"data": {"text": text}, "updatedAt": at, "editedAt": at} | members


def texts_of(out: Path) -> dict[str, Any]:
    return {each["id"]: each["data"].get("text") for each in map(json.loads, raws_of(out))}


def asked_for(service: Served) -> list[str]:
    paths = [request.path.partition("/v3/messages/") for request in service.emulator.requests]
    return [after for _, path_match, after in paths if path_match]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
async def test_an_edit_and_a_deletion_are_on_disk_after_the_next_run(
    shape: dict[str, Any], service: Served, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    await export(service.session, out, Plan(users=["ann"], **shape))
    await service.session.messages.update("2", MessageChanges(data={"text": "edited"}))
    await service.session.messages.delete("3")
    report = await export(service.session, out)
    assert (report.complete, report.written, report.changed, report.deleted) == (True, 2, 1, 1)
    assert sorted(raws_of(out)) == sorted(service.expected())
    assert asked_for(service) == ["2", "3"], "the changes themselves: what they show is complete"
    changes_by_id = {change.id: change for change in changes(out, after=1)}
    assert {key: each.kind for key, each in changes_by_id.items()} == {
        "2": "changed", "3": "deleted", "6": "new", "7": "new",
    }  # fmt: skip
    assert json.loads(changes_by_id["2"].raw_before or b"")["data"]["text"] == "message 2"
    again = await export(service.session, out, recheck=10**9)
    assert (again.changed, again.deleted) == (0, 0), "it is what the lists show, too"


async def test_of_several_edits_the_newest_is_taken(service: Served, tmp_path: Path) -> None:
    await export(service.session, tmp_path, PLAN)
    for later, text in ((3, "three"), (5, "five"), (4, "four")):
        report_change(service, edited(service, 2, text, later))
    assert (await export(service.session, tmp_path)).changed == 1
    assert texts_of(tmp_path)["2"] == "five"
    assert asked_for(service) == []


FALSE_REPORTS: list[dict[str, Any]] = [
    {"conversationId": "cat_user_dan"}, {"sender": "cat"}, {"receiver": "cat"}, {"sentAt": 1}, {"id": "3"},
    {"id": "4000"}, {"id": None}, {"updatedAt": 1, "editedAt": 1}, {"receiverType": "group"},
]  # fmt: skip


async def test_a_record_that_is_not_a_newer_version_of_the_message_changes_nothing(
    service: Served, tmp_path: Path
) -> None:
    await export(service.session, tmp_path, PLAN)
    for members in FALSE_REPORTS:
        report_change(service, edited(service, 2, "other") | members)
        report = await export(service.session, tmp_path)
        assert (report.complete, report.changed) == (True, 0), members
        assert "other" not in texts_of(tmp_path).values(), members
        assert asked_for(service) == [], members
    for entity in (7, [], "x", {}, {"id": 7}, {"id": "2"}):
        report_change(service, record_of(service, 2), entity)
        report = await export(service.session, tmp_path)
        assert (report.complete, report.written, report.changed) == (True, 1, 0), entity


async def test_an_incomplete_record_is_requested_and_an_older_answer_is_ignored(
    service: Served, tmp_path: Path
) -> None:
    await export(service.session, tmp_path, PLAN)
    for number in (2, 3):
        part = edited(service, number, "part")
        report_change(service, part, {name: part[name] for name in part if name != "sender"})
    put_record(service.store, 2, json.dumps(edited(service, 2, "all of it")).encode())
    put_record(service.store, 3, json.dumps(edited(service, 3, "older", later=-9)).encode())
    report = await export(service.session, tmp_path)
    assert (report.complete, report.changed) == (True, 1)
    assert sorted(asked_for(service)) == ["2", "3"]
    assert (texts_of(tmp_path)["2"], texts_of(tmp_path)["3"]) == ("all of it", "message 3")
    await export(service.session, tmp_path)
    assert len(asked_for(service)) == 2, "each is asked for once"


async def test_a_different_record_of_the_same_time_is_requested(service: Served, tmp_path: Path) -> None:
    await export(service.session, tmp_path, PLAN)
    other = record_of(service, 2) | {"data": {"text": "something else"}}
    report_change(service, other)
    put_record(service.store, 2, json.dumps(other).encode())
    report = await export(service.session, tmp_path)
    assert (asked_for(service), report.changed) == (["2"], 1)
    assert texts_of(tmp_path)["2"] == "something else"


async def test_a_run_asks_for_a_limited_number_and_the_next_one_continues(
    service: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edits, "MAX_ASKED", 2)
    await export(service.session, tmp_path, PLAN)
    for number in (1, 2, 3):
        put_record(service.store, number, json.dumps(edited(service, number, "new")).encode())
        report_change(service, record_of(service, 4), {"id": str(number), "updatedAt": 2_000_000_000})
    assert (await export(service.session, tmp_path)).changed == 2
    assert (await export(service.session, tmp_path)).changed == 1
    assert sorted(asked_for(service)) == ["1", "2", "3"]


async def test_an_answer_that_fails_is_asked_for_by_the_next_run(service: Served, tmp_path: Path) -> None:
    await export(service.session, tmp_path, PLAN)
    put_record(service.store, 2, json.dumps(edited(service, 2, "new")).encode())
    for number in ("2", "3"):
        report_change(service, record_of(service, 4), {"id": number, "updatedAt": 2_000_000_000})
    service.emulator.weather.add(Status(status=403, route="messages.get", when=First(2)))
    report = await export(service.session, tmp_path)
    assert (report.complete, report.changed) == (True, 0)
    service.store.remove([3])
    for changed in (1, 0):
        assert (await export(service.session, tmp_path)).changed == changed
    assert texts_of(tmp_path)["2"] == "new"
    assert sorted(asked_for(service)) == ["2", "2", "3", "3"], "one is gone then"


async def test_a_first_run_requests_no_edits_and_known_versions_are_skipped(
    service: Served, tmp_path: Path
) -> None:
    await service.session.messages.update("2", MessageChanges(data={"text": "edited"}))
    await export(service.session, tmp_path, PLAN)
    report_change(service, record_of(service, 2))
    assert (await export(service.session, tmp_path)).changed == 0
    assert asked_for(service) == ["2"], "the edit itself"


async def test_an_edit_that_a_killed_run_has_read_is_not_forgotten(
    service: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_change(service, edited(service, 2, "edited"))
    service.store.hide([6], "*", "u:ann", "u:bob")
    for at in range(1, 60, 17):
        out = tmp_path / str(at)
        await export(service.session, out, PLAN)
        service.store.show([6], "*", "u:ann", "u:bob")
        if await dies(service.session, Fate(out, at), None, monkeypatch) is None:
            await export(service.session, out)
        assert texts_of(out)["2"] == "edited"
        service.store.hide([6], "*", "u:ann", "u:bob")
