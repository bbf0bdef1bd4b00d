"""An export into a database that dies at every instant: nothing is lost, and no version is kept twice."""

import shutil
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chatrest.export import Plan, export
from chatrest.export.store import converters
from tests.databases import PLAN, asked
from tests.dying import Fate, dies, instants, wrap_connections
from tests.exporting import assert_whole, edit, records, served


class _Dying:
    """A connection whose every commit may be the process's last statement."""

    def __init__(self, db: sqlite3.Connection, fate: Fate) -> None:
        self._db, self._fate = db, fate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> Any:
        if self._fate.dead or sql == "COMMIT" or sql.startswith("PRAGMA"):
            self._fate.step(f"database {sql}")
        found = self._db.execute(sql, *values)
        if sql == "COMMIT":
            self._fate.step("database committed")
        return found


@pytest.mark.usefixtures("small_pages", "tidy")
async def test_killed_at_every_instant_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(format="sqlite", all_users=True, groups=("den",))
    steps: set[str] = set()
    async with served(60) as service:
        expected = service.expected()
        for at in instants(1, 19):
            fate = Fate(tmp_path / str(at), at)
            with monkeypatch.context() as patched:
                wrap_connections(patched, converters, partial(_Dying, fate=fate))
                report = await dies(service.session, fate, plan, monkeypatch, workers=2)
            steps.update(fate.asked)
            if report is not None:
                break
            report = await export(service.session, fate.out, plan)
            assert report.complete, (at, fate.asked[-1], report)
            assert_whole(fate.out, expected)
            shutil.rmtree(fate.out)
    assert {"COMMIT", "database COMMIT", "database committed"} <= steps
    assert at > 30


@pytest.mark.usefixtures("small_pages", "tidy")
async def test_a_recheck_that_is_killed_keeps_each_version_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path / "before", PLAN)
        old = service.store.records([8, 30, 58])
        for number in (8, 30, 58):
            edit(service.store, number, f"edited {number}")
        service.store.add_records(records(30, first=61))
        expected = service.expected()
        for at in instants(8, 19):
            fate = Fate(tmp_path / str(at), at)
            shutil.copytree(tmp_path / "before", fate.out)
            with monkeypatch.context() as patched:
                wrap_connections(patched, converters, partial(_Dying, fate=fate))
                report = await dies(service.session, fate, PLAN, monkeypatch, recheck=10**9)
            report = report or await export(service.session, fate.out, recheck=10**9)
            assert report.complete, (at, fate.asked[-1], report)
            assert_whole(fate.out, expected)
            path = fate.out / "messages.sqlite"
            assert asked(path, "SELECT CAST(raw AS BLOB) FROM versions ORDER BY CAST(id AS INT)") == [
                (raw,) for raw in old
            ]
            if not fate.dead:
                break
            shutil.rmtree(fate.out)
    assert at > 30
