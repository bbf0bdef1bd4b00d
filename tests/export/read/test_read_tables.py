"""Tables and attachments are read back from any format, and only from an export as its manifest has it."""

import asyncio
import json
from pathlib import Path

import pytest

from chatrest import AsyncSession, ChatRestError, RequestInvalidError
from chatrest.emulator import Emulator
from chatrest.export import Plan, attachment_files, export, read_table


@pytest.fixture(params=["ndjson", "parquet"])
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "parquet":
        pytest.importorskip("pyarrow")

    async def run() -> None:
        async with (
            Emulator(users=3, messages=30, groups=1, seed=5) as emulator,
            AsyncSession(emulator.app) as session,
        ):
            plan = Plan(everything=True, format=request.param)
            await export(session, tmp_path / "out", plan, tables=["users"], attachments=True)

    asyncio.run(run())
    return tmp_path / "out"


def test_records_and_files_are_as_they_were_stored(out: Path) -> None:
    assert sorted(json.loads(raw)["uid"] for raw in read_table(out, "users")) == [
        "user-001",
        "user-002",
        "user-003",
    ]
    rows = [json.loads(raw) for raw in read_table(out, "attachments")]
    assert {row["state"] for row in rows} == {"stored"}
    with attachment_files(out) as opened:
        for row in rows:
            with opened(row["file"]) as path:
                assert path.stat().st_size == row["bytes"]


def test_a_table_that_is_not_there_has_no_records(out: Path) -> None:
    assert list(read_table(out, "groups")) == []
    (out / "manifest.json").unlink()
    assert list(read_table(out, "users")) == []


def test_another_name_and_another_folder_are_no_empty_table(out: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match=r"^table = 'usres': expected users, groups"):
        next(read_table(out, "usres"))
    for folder in (tmp_path, tmp_path / "nope"):
        with pytest.raises(RequestInvalidError, match="is not an export"):
            next(read_table(folder, "users"))


def test_what_is_not_the_manifests_is_an_error(out: Path) -> None:
    [path] = [path for path in (out / "users").iterdir() if path.is_file()]
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(ChatRestError, match="is not as the manifest says"):
        list(read_table(out, "users"))
    with attachment_files(out) as opened, pytest.raises(ChatRestError), opened("../../manifest.json"):
        pass
