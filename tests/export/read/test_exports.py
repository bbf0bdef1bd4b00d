"""Readers of one export read a folder of exports: each message once, changes with one position for all."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import chatrest
from chatrest import AsyncSession, ChatRestError, RequestInvalidError
from chatrest._cli.export import export_command
from chatrest.emulator import Emulator
from chatrest.export import Plan, attachment_files, changes, export, read, read_raw, read_table, runs
from chatrest.export.plan.parts import NAME as PARTS
from chatrest.export.read.exports import addresses_of
from chatrest.export.read.facts import facts_of
from tests.support.buckets import ADDRESS, Buckets
from tests.support.export_runs import served
from tests.support.stored_exports import StoredParts, StoredRuns, record

GUIDE = Path(chatrest.__file__).parent / "guide"


@pytest.fixture
def parts(tmp_path: Path) -> StoredParts:
    parts = StoredParts(tmp_path / "out")
    parts.run(range(1, 31))
    return parts


@pytest.fixture
def apps(tmp_path: Path) -> Path:
    """A folder of two apps, one of them by parts, whose ids are the same."""
    StoredRuns(tmp_path / "apps" / "app=one").run([record(n) for n in range(1, 5)])
    StoredParts(tmp_path / "apps" / "app=two", 2).run(range(1, 5))
    return tmp_path / "apps"


def ids(out: object, **choice: Any) -> list[int]:
    return [int(each.id) for each in read(str(out), **choice)]


def test_the_exports_of_a_folder(tmp_path: Path, parts: StoredParts, apps: Path) -> None:
    def names(out: object) -> list[str]:
        return [each.name for each in addresses_of(out)]

    assert names(parts.folder) == ["part=00", "part=01", "part=02"]
    assert names(parts.folder / "part=01") == names(tmp_path / "none") == [""]
    assert names(apps) == ["app=one", "app=two/part=00", "app=two/part=01"]
    shutil.rmtree(parts.folder / "part=02")
    assert names(parts.folder) == ["part=00", "part=01", "part=02"], "not begun, and to be said so"
    (parts.folder / PARTS).unlink()
    assert names(parts.folder) == ["part=00", "part=01"]
    (parts.folder / PARTS).write_text("{")
    with pytest.raises(ChatRestError, match=r"parts\.json is damaged"):
        next(read(parts.folder))


def test_a_folder_of_an_odd_name_is_no_export(parts: StoredParts) -> None:
    (parts.folder / PARTS).unlink()
    (parts.folder / "part=x").mkdir()
    (parts.folder / "app=").mkdir()
    assert len(ids(parts.folder)) == 30
    (parts.folder / "app=a b").mkdir()
    with pytest.raises(RequestInvalidError, match="folder 'app=a b': expected app=NAME, as `export --apps`"):
        addresses_of(parts.folder)


def test_each_message_of_all_parts_is_read_once(parts: StoredParts) -> None:
    assert sorted(ids(parts.folder)) == list(range(1, 31))
    assert len(list(read_raw(parts.folder))) == 30
    day = record(24)
    assert ids(parts.folder, until=json.loads(day)["sentAt"], since=json.loads(day)["sentAt"]) == [24]


def test_a_source_is_read_in_the_part_that_has_it(parts: StoredParts) -> None:
    assert ids(parts.folder, source="user u1") == list(range(1, 31, 3))
    assert sorted(ids(parts.folder, source=["user u2", "user u1"])) == [n for n in range(1, 31) if n % 3]
    with pytest.raises(RequestInvalidError, match="'user nobody': expected sources of the export, such as"):
        read(parts.folder, source=["user u1", "user nobody"])


def test_a_part_that_has_not_begun_has_no_messages(tmp_path: Path) -> None:
    begun = StoredParts(tmp_path / "begun", begun=2)
    begun.run(range(1, 31))
    assert sorted(ids(begun.folder)) == [n for n in range(1, 31) if n % 3 != 2]
    assert list(read(StoredParts(tmp_path / "none", begun=0).folder)) == []


def test_apps_are_read_one_after_the_other(apps: Path) -> None:
    assert ids(apps) == [1, 2, 3, 4, 2, 4, 1, 3]


def test_runs_say_of_which_part_they_are(parts: StoredParts) -> None:
    parts.each[1].run()
    assert [(each.part, each.run) for each in runs(parts.folder)] == [
        ("part=00", 1), ("part=01", 1), ("part=01", 2), ("part=02", 1),
    ]  # fmt: skip
    last = facts_of(str(parts.folder)).last_run
    assert last is not None
    assert (last.part, last.run) == ("", "part=00:1,part=01:2,part=02:1")
    assert [each.part for each in runs(parts.folder / "part=01")] == ["", ""]
    with pytest.raises(RequestInvalidError, match=r"'.*none' is not an export: there is no such folder"):
        next(runs(parts.folder / "none"))
    with pytest.raises(RequestInvalidError, match="is not an export: it is a file"):
        next(runs(parts.folder / PARTS))
    StoredRuns(parts.folder / "new").run([record(1)], is_killed=True)
    assert list(runs(parts.folder / "new")) == []


def test_the_facts_of_an_export_name_the_fault_of_its_journal(tmp_path: Path) -> None:
    stored = StoredRuns(tmp_path / "out")
    stored.run([record(1)])
    (stored.folder / "journal.sqlite").write_bytes(b"no database" * 99)
    facts = facts_of(str(stored.folder))
    assert (facts.state, facts.messages) == ("damaged", 1)
    assert facts.reasons[0].startswith("the journal: ")
    assert "it is not there" not in facts.reasons[0]


def test_a_file_is_found_in_the_part_that_has_it(parts: StoredParts) -> None:
    for part, name in (("part=00", "aa"), ("part=02", "bb")):
        path = parts.folder / part / "attachments" / "files" / name
        path.parent.mkdir(parents=True)
        path.write_text(name)
    with attachment_files(parts.folder) as files:
        for name in ("bb", "aa", "bb"):
            with files(f"files/{name}") as path:
                assert path.read_text() == name
        with files("files/cc") as path:
            assert not path.exists()
    assert list(read_table(parts.folder, "users")) == []


def test_changes_have_one_position_for_all_parts(parts: StoredParts) -> None:
    news = changes(parts.folder)
    assert news.run == "part=00:1,part=01:1,part=02:1"
    assert sorted(int(each.id) for each in news) == list(range(1, 31))
    parts.each[1].run([record(100)], changed=[record(4, text="b")])
    parts.each[2].run(deleted=[5])
    later = changes(parts.folder, after=news.run)
    assert [(each.part, each.run, each.kind, each.id) for each in later] == [
        ("part=01", 2, "new", "100"), ("part=01", 2, "changed", "4"), ("part=02", 2, "deleted", "5"),
    ]  # fmt: skip
    assert list(changes(parts.folder, after=later.run)) == []
    with pytest.raises(RequestInvalidError, match=r"^after = 'part=09:1': it names part=09, .*: expected"):
        changes(parts.folder, after="part=09:1")


def test_of_a_part_that_began_later_all_is_new(tmp_path: Path) -> None:
    parts = StoredParts(tmp_path / "out", begun=2)
    parts.run(range(1, 7))
    position = changes(parts.folder).run
    StoredRuns(tmp_path / "out" / "part=02", "u2").run([record(2)])
    later = changes(parts.folder, after=position)
    assert [(each.part, each.id) for each in later] == [("part=02", "2")]
    assert later.run == "part=00:1,part=01:1,part=02:1"
    assert json.loads(next(changes(parts.folder)).to_json())["part"] == "part=00"


@pytest.mark.parametrize("wrong", [1, "1", "part=00", "part=00:x", "part=09:1", "part=00:2", "", True, None])
def test_another_position_is_refused(parts: StoredParts, wrong: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^after"):
        changes(parts.folder, after=wrong)


def test_duckdb_reads_all_parts_with_the_part_as_a_column(parts: StoredParts) -> None:
    duckdb = pytest.importorskip("duckdb")
    [code] = re.findall(r"`(SELECT part, [^`]+)`", (GUIDE / "dataset.md").read_text(encoding="utf-8"))
    code = code.replace("OUT/", f"{parts.folder}/").replace("read_parquet", "read_json")
    rows = duckdb.sql(code.replace("*.parquet", "*.ndjson")).fetchall()
    assert sorted(rows) == [("00", 10), ("01", 10), ("02", 10)]


async def test_parts_of_an_object_store(
    parts: StoredParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    from chatrest._cloud.store import ObjectStore

    buckets = Buckets()
    monkeypatch.setattr(ObjectStore, "open", buckets.open)
    buckets.write(PARTS, (parts.folder / PARTS).read_bytes())
    assert list(read_raw(ADDRESS)) == [], "none has begun"
    async with served(20) as service:
        for user, number in (("ann", 0), ("bob", 2)):
            out = f"{ADDRESS}/part=0{number}"
            await export(service.session, out, Plan(users=[user]), journal=tmp_path / user)
        expected = [*service.users_ids("ann"), *service.users_ids("bob")]
    assert len(list(read_raw(ADDRESS))) == len(expected)
    news = changes(ADDRESS)
    assert (len(list(news)), news.run) == (len(expected), "part=00:1,part=02:1")
    summary = export_command._files(ADDRESS, parts.folder)
    assert summary == export_command._files(str(parts.folder), parts.folder)
    assert summary.plan == "users u0, u1, u2"


async def test_tables_and_attachments_are_those_of_the_manifest(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with (
        Emulator(users=3, messages=30, groups=1, seed=5) as service,
        AsyncSession(service.app) as session,
    ):
        await export(session, out, Plan(everything=True), tables=["users"], attachments=True)
    names = sorted(json.loads(raw)["uid"] for raw in read_table(out, "users"))
    assert names == ["user-001", "user-002", "user-003"]
    assert list(read_table(out, "groups")) == []
    rows = [json.loads(raw) for raw in read_table(out, "attachments")]
    assert {row["state"] for row in rows} == {"stored"}
    with attachment_files(out) as opened:
        for row in rows:
            with opened(row["file"]) as path:
                assert path.stat().st_size == row["bytes"]
        with pytest.raises(ChatRestError), opened("../../manifest.json"):
            pass
    with pytest.raises(RequestInvalidError, match=r"^table = 'usres': expected users, groups"):
        next(read_table(out, "usres"))
    for folder in (tmp_path, tmp_path / "nope"):
        with pytest.raises(RequestInvalidError, match="is not an export"):
            next(read_table(folder, "users"))
    [table] = [path for path in (out / "users").iterdir() if path.is_file()]
    table.write_bytes(table.read_bytes() + b"\n")
    with pytest.raises(ChatRestError, match="is not as the manifest says"):
        list(read_table(out, "users"))
    (out / "manifest.json").unlink()
    assert list(read_table(out, "users")) == []
