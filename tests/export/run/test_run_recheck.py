"""A recheck: edited messages stand in their newest version; older ones are kept, and so is what is gone."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from chatrest.emulator import First, Status
from chatrest.errors import AuthenticationError
from chatrest.export import Plan, changes, export
from chatrest.export.fetch import list_reader
from tests.support.damaged_exports import MIXED
from tests.support.export_runs import (
    MONTH,
    START,
    assert_complete,
    edit,
    files_of,
    hide,
    history_of,
    manifest_of,
    put_record,
    served,
    show,
)
from tests.support.simulated_crashes import Fate, dies, instants
from tests.support.small_service import SmallService, talk

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")

ALL = 10**9
"""A recheck of everything."""


async def test_edited_messages_are_replaced_and_older_versions_stored(tmp_path: Path) -> None:
    async with served(75) as service:
        plan = Plan(**MIXED, compress="gzip", partition="month")
        await export(service.session, tmp_path / "out", plan)
        older = service.expected([1, 2, 40, 75])
        for number in (1, 2, 40, 75):
            edit(service.store, number, "edited " * number)
        report = await export(service.session, tmp_path / "out", plan, recheck=ALL)
        assert report.complete
        assert (report.changed, report.deleted, report.written) == (4, 0, 0)
        assert report.messages == 75
        assert_complete(tmp_path / "out", service.expected())
        assert sorted(history_of(tmp_path / "out")) == sorted(older)
        entries = manifest_of(tmp_path / "out").files
        assert sum(entry.messages for entry in entries if entry.role == "history") == 4


async def test_a_recheck_with_nothing_new_writes_nothing(tmp_path: Path) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in files_of(tmp_path / "out")}
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", recheck=ALL)
            assert (report.complete, report.changed, report.deleted, report.written) == (True, 0, 0, 0)
        after = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in files_of(tmp_path / "out")}
        assert after == before
        assert history_of(tmp_path / "out") == []


async def test_a_recheck_reads_only_so_far_back(tmp_path: Path) -> None:
    async with served(fill_in=lambda store: old_and_new(store)) as service:
        await export(service.session, tmp_path / "out", Plan(everything=True))
        old = service.expected([5])
        for number in (5, 55):
            edit(service.store, number, "edited")
        hide(service.store, [6, 56])
        report = await export(service.session, tmp_path / "out", recheck=100)
        assert (report.changed, report.deleted) == (1, 1)
        assert manifest_of(tmp_path / "out").deleted == ["56"]
        assert_complete(tmp_path / "out", [*service.expected([*range(1, 5), *range(6, 61)]), *old])
        report = await export(service.session, tmp_path / "out", recheck=MONTH)
        assert (report.changed, report.deleted) == (1, 1)  # what is newly found
        assert manifest_of(tmp_path / "out").deleted == ["6", "56"]


def old_and_new(store: Any) -> None:
    """Fifty messages, and ten a week later."""
    for uid in ("ann", "bob"):
        store.add_user(uid)
    for number in range(1, 61):
        store.add_message("ann", "bob", "hi", sent_at=START + number + (600_000 if number > 50 else 0))


async def test_timestamps_in_milliseconds_are_understood(tmp_path: Path) -> None:
    async with served(0) as service:
        for number in range(60):
            service.store.add_message("ann", "bob", "hi", sent_at=(START + number * 60) * 1000)
        await export(service.session, tmp_path / "out", Plan(everything=True))
        for number in (10, 58):
            edit(service.store, number, "edited")
        assert (await export(service.session, tmp_path / "out", recheck=300)).changed == 1


async def test_an_ignored_window_is_a_warning_except_in_a_recheck(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = SmallService(talk(60))  # which does not heed fromTimestamp
    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(users=["ann"]))
        report = await export(session, tmp_path / "out", recheck=20)
        since = await export(session, tmp_path / "since", Plan(users=["ann"], since=START + 30))
    assert (report.complete, report.warnings) == (True, [])
    assert [each for each in caplog.records if "ignored" in each.getMessage()] == []
    assert since.messages < 60
    [warning] = since.warnings
    assert warning.startswith("the service ignores since (fromTimestamp): ")


async def test_a_message_deleted_by_the_author_is_replaced_and_one_not_shown_named(tmp_path: Path) -> None:
    async with served(75) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        [raw] = service.expected([12])
        deleted = json.dumps(json.loads(raw) | {"deletedAt": START, "data": {}}).encode()
        put_record(service.store, 12, deleted)
        hide(service.store, [13, 14, 74, 75])
        report = await export(service.session, tmp_path / "out", recheck=ALL)
        assert (report.complete, report.changed, report.deleted) == (True, 0, 5)
        assert manifest_of(tmp_path / "out").deleted == ["13", "14", "74", "75"]
        assert_complete(tmp_path / "out", service.expected(range(1, 76)))
        assert history_of(tmp_path / "out") == [raw]
        report = await export(service.session, tmp_path / "out", recheck=ALL)
        assert (report.changed, report.deleted) == (0, 0)  # they were found before
        assert manifest_of(tmp_path / "out").deleted == ["13", "14", "74", "75"]


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_deletion_counts_once_whatever_shows_it_first(at_once: bool, tmp_path: Path) -> None:
    """The record of the deletion, which the author made for good, or that no list shows the message."""
    out = tmp_path / "out"
    async with served(20) as service:
        deleted = [(await export(service.session, out, Plan(all_users=True))).deleted]
        author = json.loads(service.expected([5])[0])["sender"]
        await service.session.messages.delete("5", permanent=True, on_behalf_of=author)
        for recheck in (ALL, ALL) if at_once else (None, ALL, ALL):
            deleted.append((await export(service.session, out, recheck=recheck)).deleted)
        assert deleted == ([0, 1, 0] if at_once else [0, 1, 0, 0])
        assert [
            (each.run, each.id, each.reason) for each in changes(out, after=1) if each.kind == "deleted"
        ] == [(2, "5", "by_author")]
        assert manifest_of(out).deleted == ["5"]


async def test_a_recheck_adds_messages_that_were_not_shown_before(tmp_path: Path) -> None:
    async with served(60) as service:
        hide(service.store, [20], "*", "u:ann", "u:bob", "u:cat", "u:dan")
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        sender = json.loads(service.expected([20])[0])["sender"]
        show(service.store, 20, "*", f"u:{sender}")
        assert (await export(service.session, tmp_path / "out")).complete
        await service.export_complete(tmp_path / "out", recheck=ALL)


@pytest.mark.parametrize("pages", [4, 9])
async def test_a_recheck_of_an_export_with_holes_writes_nothing_twice(
    pages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle workers began in the middle of a source, and the key was refused before their pieces met."""
    monkeypatch.setattr(list_reader, "MIN_PAGES", 1)
    async with served(300) as service:
        service.emulator.weather.add(Status(401, route="messages.list", when=First(1000, after=pages + 1)))
        with pytest.raises(AuthenticationError):
            await export(service.session, tmp_path / "out", Plan(everything=True), workers=3)
        service.emulator.weather.clear()
        await service.export_complete(tmp_path / "out", recheck=ALL)


async def test_a_longer_recheck_replaces_an_interrupted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(fill_in=lambda store: old_and_new(store)) as service:
        await export(service.session, tmp_path / "out", Plan(everything=True))
        service.emulator.weather.add(Status(401, route="messages.list", when=First(1, after=1)))
        with pytest.raises(AuthenticationError):
            await export(service.session, tmp_path / "out", recheck=100)
        edit(service.store, 5, "edited")
        await service.export_complete(tmp_path / "out", recheck=MONTH)


async def test_a_source_refused_in_a_recheck_is_reported_and_read_by_a_later_run(tmp_path: Path) -> None:
    async with served(100) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        for number in service.store.ids():
            if number % 7 != 3:
                edit(service.store, number, "edited")
        service.emulator.weather.add(Status(403, route="/users/cat/messages"))
        report = await export(service.session, tmp_path / "out", recheck=ALL)
        assert not report.complete
        assert [failure.source for failure in report.failed] == ["user cat"]
        service.emulator.weather.clear()
        report = await service.export_complete(tmp_path / "out")


async def test_an_edit_that_was_noted_before_a_death_does_not_undo_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Died before the edit took its place; the file is lost, and read again with newer messages."""
    async with served(60) as service:
        await export(service.session, tmp_path / "first", Plan(everything=True))
        for at in instants(6, 10):
            out = tmp_path / str(at)
            shutil.copytree(tmp_path / "first", out)
            edit(service.store, 9, "second version")
            if await dies(service.session, Fate(out, at), None, monkeypatch, recheck=ALL) is not None:
                break
            for path in [
                *out.glob("messages/**/messages*"),
                *out.glob("spool/*"),
            ]:  # one that waits to take its place, too
                path.unlink()
            edit(service.store, 9, "third version")
            await service.export_complete(out)
