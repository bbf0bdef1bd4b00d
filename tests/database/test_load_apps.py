"""Loads of a folder of many apps, whose messages, users and conversations have the same ids."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, RequestInvalidError
from chatrest.database import load
from chatrest.emulator import Emulator
from chatrest.export import Plan, changes, export, read_raw, read_table
from tests.support.stored_exports import START, StoredParts, StoredRuns, record

from .conftest import Database


def check(database: Database, out: Path) -> None:
    apps = sorted(path.name.partition("=")[2] for path in out.iterdir())
    stored = {app: dict[str, Any]() for app in apps}
    for app, key, raw in database.ask("SELECT app, id, raw FROM messages"):
        assert key not in stored[app]
        stored[app][key] = json.loads(raw) if isinstance(raw, str) else raw
    for app in apps:
        folder = out / f"app={app}"
        assert stored[app] == {each["id"]: each for each in map(json.loads, read_raw(folder))}
        rows = database.ask(f"SELECT id FROM messages WHERE app = '{app}' AND deleted_reason IS NOT NULL")
        assert {key for (key,) in rows} == {each.id for each in changes(folder) if each.kind == "deleted"}
        names = {each["uid"]: each["name"] for each in map(json.loads, read_table(folder, "users"))}
        assert dict(database.ask(f"SELECT uid, name FROM users WHERE app = '{app}'")) == names
    assert {app for (app,) in database.ask("SELECT app FROM users")} <= set(apps)


async def test_tables_of_apps_are_loaded_and_removed_with_them(database: Database, tmp_path: Path) -> None:
    out, written = tmp_path / "out", list[int]()
    for seed, app in enumerate(("one", "two"), 1):
        async with Emulator(users=6, messages=40, seed=seed) as service, AsyncSession(service.app) as session:
            report = await export(session, out / f"app={app}", Plan(all_users=True), tables=["users"])
            written.append(report.written)
        loaded = load(out, database.url)
        assert loaded.new + loaded.deleted == written[-1]
        check(database, out)
    shutil.rmtree(out / "app=one")
    assert load(out, database.url).removed == written[0]
    check(database, out)


def test_apps_with_the_same_ids_are_stored_separately(database: Database, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first, second = StoredRuns(out / "app=one"), StoredParts(out / "app=two", 2)
    first.run([record(number, text="first") for number in range(1, 5)])
    second.run(range(1, 5))
    assert load(out, database.url).run == "app=one:1,app=two/part=00:1,app=two/part=01:1"
    check(database, out)
    first.run(changed=[record(1, text="second"), record(3, text="later")])
    second.each[1].run(changed=[record(3, text="edited in two")])
    first.run(deleted=[1])
    report = load(out, database.url)
    assert (report.changed, report.deleted) == (2, 1)
    check(database, out)
    edits = database.ask("SELECT app, before, after FROM edits ORDER BY app, id")
    assert edits == [
        ("one", "first", "second"), ("one", "first", "later"), ("two", "message 3", "edited in two"),
    ]  # fmt: skip
    sums = database.ask("SELECT app, count(*) FROM chat GROUP BY app ORDER BY app")
    assert sums == [("one", 4), ("two", 4)]
    load(out, database.url, deleted="blank")
    texts = database.ask("SELECT app, text FROM messages WHERE id = '1' ORDER BY app")
    assert texts == [("one", None), ("two", "message 1")]
    assert len(database.ask("SELECT app FROM versions")) == 2
    shutil.rmtree(out / "app=one")
    load(out, database.url)
    assert database.ask("SELECT app FROM versions") == [("two",)]


def test_a_message_of_two_parts_is_loaded_once(database: Database, tmp_path: Path) -> None:
    parts = StoredParts(tmp_path / "out", 2)
    parts.run(range(1, 5))
    parts.each[1].run([record(4, text="of another part")])
    load(tmp_path / "out", database.url)
    texts = database.ask("SELECT text FROM messages ORDER BY number")
    assert texts == [("message 1",), ("message 2",), ("message 3",), ("of another part",)]


@pytest.mark.parametrize("other", ["one app of them", "others", "one made again"])
def test_another_folder_is_refused(other: str, chat: Database, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for app in ("one", "two"):
        StoredRuns(out / f"app={app}").run([record(1)])
    load(out, chat.url)
    match other:
        case "one app of them":
            out /= "app=one"
        case "others":
            for app in ("one", "two"):
                (out / f"app={app}").rename(out / f"app=other-{app}")
        case _:
            shutil.rmtree(out / "app=one")
            StoredRuns(out / "app=one").run([record(1)], is_killed=True)
            StoredRuns(out / "app=one").run([record(2, sent_at=START)])
    with pytest.raises(RequestInvalidError, match="was loaded from another export"):
        load(out, chat.url)
