"""Loads of a folder of many apps, whose messages, users and conversations have the same ids."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, MessageChanges, NewMessage, RequestInvalidError
from chatrest.database import load
from chatrest.emulator import Emulator
from chatrest.export import Plan, changes, export, read_raw, read_table
from tests.stored_exports import START, StoredParts, StoredRuns, record

from .conftest import Database


def check(database: Database, out: Path) -> None:
    """Compare the database with the files of each app."""
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


@pytest.mark.usefixtures("fast_ramp")
async def test_night_after_night_apps_of_the_same_ids_are_what_their_exports_are(
    database: Database, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    async with (
        Emulator(users=6, messages=90, seed=1) as first_service,
        Emulator(users=6, messages=80, seed=2) as second_service,
        AsyncSession(first_service.app) as first,
        AsyncSession(second_service.app) as second,
    ):
        sessions = {"one": first, "two": second}
        senders = {app: session.as_user("user-001") for app, session in sessions.items()}
        sent = {
            app: [
                await sender.messages.send(NewMessage.text("user-002", f"{text} of {app}"))
                for text in ("a", "b", "c")
            ]
            for app, sender in senders.items()
        }

        async def night(*apps: str) -> tuple[int, int, int, int]:
            for app in apps:
                plan = Plan(all_users=True)
                await export(sessions[app], out / f"app={app}", plan, tables=["users"], recheck=86_400)
            report = load(out, database.url)
            check(database, out)
            return report.new, report.changed, report.deleted, report.removed

        new, _, deleted, _ = await night("one")
        assert new + deleted == 93
        assert sum(await night("two")) == 83, "an app that was added later"
        await senders["one"].messages.update(
            sent["one"][0].id, MessageChanges(data={"text": "edited in one"})
        )
        await senders["two"].messages.delete(sent["two"][1].id, permanent=True)
        assert await night("one", "two") == (2, 1, 1, 0), (
            "with a message each about the edit and the deletion"
        )
        assert await night() == (0, 0, 0, 0)
    edits = database.ask("SELECT app, before, after FROM edits ORDER BY app")
    assert edits == [("one", "a of one", "edited in one"), ("two", "b of two", "b of two")]
    shutil.rmtree(out / "app=one")
    assert await night() == (0, 0, 0, 94)
    assert database.ask("SELECT app FROM versions") == [("two",)]


def test_an_app_may_have_parts(database: Database, tmp_path: Path) -> None:
    whole_runs, part_runs = (
        StoredRuns(tmp_path / "out" / "app=one"),
        StoredParts(tmp_path / "out" / "app=two", 2),
    )
    whole_runs.run([record(number) for number in range(1, 5)])
    part_runs.run(range(1, 5))
    assert load(tmp_path / "out", database.url).run == "app=one:1,app=two/part=00:1,app=two/part=01:1"
    part_runs.each[1].run(changed=[record(3, text="edited in two")])
    assert load(tmp_path / "out", database.url).changed == 1
    check(database, tmp_path / "out")
    sums = database.ask("SELECT app, count(*) FROM chat GROUP BY app ORDER BY app")
    assert sums == [("one", 4), ("two", 4)]


def test_contents_are_removed_of_what_one_app_has_deleted(database: Database, tmp_path: Path) -> None:
    runs = [StoredRuns(tmp_path / "out" / f"app={app}") for app in ("one", "two")]
    for each in runs:
        each.run([record(1, text="first"), record(2)])
        each.run(changed=[record(1, text="later")])
    runs[0].run(deleted=[1])
    load(tmp_path / "out", database.url, deleted="blank")
    texts = database.ask("SELECT app, text FROM messages WHERE id = '1' ORDER BY app")
    assert texts == [("one", None), ("two", "later")]
    assert database.ask("SELECT app, text FROM versions") == [("two", "first")]


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
