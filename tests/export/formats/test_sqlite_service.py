"""The database sink in an export: what the service serves is what the file holds, run after run."""

from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.emulator.weather.list_habits import OddRecords
from chatrest.export import Plan, export
from chatrest.export.verify.verify import verify
from tests.databases import PLAN, VIEWS, asked, changed, found
from tests.exporting import assert_whole, edit, served

pytestmark = pytest.mark.usefixtures("fast_ramp")


async def test_an_export_holds_what_the_service_serves(out: Path) -> None:
    async with Emulator(users=8, messages=700, groups=2, seed=4) as emulator:
        expected = emulator.store.records(emulator.store.ids())
        async with AsyncSession(emulator.app) as session:
            report = await export(session, out, PLAN)
    assert report.complete
    assert (report.messages, report.written) == (700, 700)
    assert [
        raw.encode() for (raw,) in asked(out / "messages.sqlite", "SELECT raw FROM messages ORDER BY number")
    ] == expected
    assert_whole(out, expected)
    assert verify(out).ok


@pytest.mark.usefixtures("small_pages", "tidy")
async def test_odd_records_of_overlapping_sources(out: Path) -> None:
    plan = Plan(format="sqlite", all_users=True, groups=("den", "oak"), pairs=(("ann", "bob"),))
    async with served(300) as service:
        report = await export(service.session, out, plan)
        assert report.complete, report
        assert_whole(out, service.expected())
        assert verify(out).ok, verify(out)
        assert [
            source
            for (source,) in asked(out / "messages.sqlite", "SELECT source FROM sources ORDER BY number")
        ]
        again = await export(service.session, out)
        assert (again.complete, again.written) == (True, 0)
        assert_whole(out, service.expected())


@pytest.mark.parametrize("oddity", ["integer-ids", "empty-lists", "lone-surrogate", "nan"])
async def test_records_that_the_service_makes_odd(out: Path, oddity: Any) -> None:
    async with Emulator(users=4, messages=120, groups=1) as emulator:
        emulator.weather.add(OddRecords(oddity, 3))
        async with AsyncSession(emulator.app) as session:
            report = await export(session, out, PLAN)
    assert (report.complete, report.messages) == (True, 120)
    assert verify(out).ok, verify(out)
    for view in VIEWS:
        asked(out / "messages.sqlite", f"SELECT * FROM {view}")


@pytest.mark.usefixtures("small_pages", "tidy")
async def test_a_recheck_keeps_the_older_version(out: Path) -> None:
    async with served(100) as service:
        await export(service.session, out, PLAN)
        [old] = service.store.records([98])
        new = edit(service.store, 98, "quite another text")
        report = await export(service.session, out, recheck=10**8)
        assert (report.complete, report.changed, report.written) == (True, 1, 0)
        assert_whole(out, service.expected())
        path = out / "messages.sqlite"
        assert asked(path, "SELECT CAST(raw AS BLOB) FROM versions") == [(old,)]
        assert asked(path, "SELECT raw FROM messages WHERE number = 98") == [(new.decode(),)]
        assert found(path, '"quite another"') == ["98"]
        assert verify(out).ok


@pytest.mark.usefixtures("small_pages", "tidy")
@pytest.mark.parametrize("damage", ["missing", "garbage", "short"])
async def test_an_export_whose_database_is_lost_is_read_again(out: Path, damage: str) -> None:
    path = out / "messages.sqlite"
    async with served(100) as service:
        await export(service.session, out, PLAN)
        if damage == "missing":
            path.unlink()
        elif damage == "garbage":
            path.write_bytes(b"garbage" * 1000)
        else:
            changed(path, "DELETE FROM messages WHERE number BETWEEN 20 AND 60")
        report = await export(service.session, out)
        assert report.complete, report
        assert_whole(out, service.expected())
        assert verify(out).ok
