"""Deaths while tables and attachments are replaced: each is the older one or the new one, and never half."""

import json
import shutil
from itertools import product
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator, Status
from chatrest.export import Plan, export, verify
from chatrest.export.folder.tables import read_table
from tests.support.simulated_crashes import Fate, ForgetfulFate, dies, instants

from .file_server import FileServer, file_server

FORMATS = [("ndjson", "none"), ("ndjson", "gzip"), ("parquet", None)]
NAMES = {"users": "uid", "attachments": "url"}


def tables(out: Path) -> dict[str, list[str]]:
    values = {}
    for table, name in NAMES.items():
        [path] = [path for path in (out / table).glob(f"{table}*") if path.is_file()]
        values[table] = sorted(json.loads(raw)[name] for raw in read_table(path, table))
    return values


def faults(out: Path) -> list[str]:
    return [str(each) for each in verify(out).problems if each.kind != "incomplete"]


def send(emulator: Emulator, files: FileServer, path: str) -> None:
    files.files[path] = path.encode()
    data = {
        "attachments": [{"url": files.url(path), "name": "a", "extension": "png", "mimeType": "image/png"}]
    }
    emulator.store.add_message("user-001", "user-002", type="image", data=data)


@pytest.mark.parametrize(
    ("first", "kind", "format", "compress"),
    [
        pytest.param(2 + 5 * number, kind, *shape, marks=[pytest.mark.nightly] if number % 2 else [])
        for number, (kind, shape) in enumerate(product((Fate, ForgetfulFate), FORMATS))
    ],
)
async def test_each_table_is_the_older_one_or_the_new_one(
    emulator: Emulator,
    session: AsyncSession,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    kind: type[Fate],
    format: str,
    compress: str | None,
) -> None:
    async with file_server() as files:
        send(emulator, files, "/1")
        plan = Plan(groups=["group-01"], users=["user-001"], format=format, compress=compress)
        await export(session, out, plan, tables=["users"], attachments=True)
        before = tables(out)
        shutil.copytree(out, older := out.with_name("older"))
        emulator.store.add_user("new")
        send(emulator, files, "/2")
        after = {
            "users": sorted([*before["users"], "new"]),
            "attachments": sorted([*before["attachments"], files.url("/2")]),
        }
        for at in instants(first, 41):
            shutil.rmtree(out)
            shutil.copytree(older, out)
            if await dies(session, fate := kind(out, at), None, monkeypatch, workers=1) is not None:
                break
            place = f"died at {fate.asked[-1]}, call {at}"
            dead = tables(out)
            assert all(dead[table] in (before[table], after[table]) for table in NAMES), place
            assert faults(out) == [], place
            emulator.weather.add(Status(403, route="users.list"))
            report = await export(session, out)
            emulator.weather.clear()
            assert [failure.source for failure in report.failed] == ["users"], place
            later = tables(out)  # a table that the journal has already gets its name
            assert later in (dead | {"attachments": after["attachments"]}, after), place
            assert faults(out) == [], place
            assert (await export(session, out)).complete, place
            assert tables(out) == after, place
            assert not (out / "spool").exists(), place
    assert tables(out) == after
    assert at > first, "it did not die"
