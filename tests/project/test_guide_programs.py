"""Programs that the guide shows, each run as it is: the examples, and code for webhooks, Dask, databases."""

import asyncio
import re
import runpy
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer

from chatrest import examples
from chatrest.emulator import Emulator
from chatrest.export import read_raw
from chatrest.webhooks import parse
from tests.support.pages import GUIDE, PAGES, blocks
from tests.support.stored_exports import StoredRuns, record

FOLDER = Path(examples.__path__[0])
PROGRAMS = sorted(file.stem for file in FOLDER.glob("*.py") if "__main__" in file.read_text(encoding="utf-8"))
LINES = {
    code.split()[1].strip(","): code
    for path, code in blocks("python3", {path: text for path, text in PAGES.items() if "database" in path})
}
"""The blocks that hand an export on, each by the package that it imports first."""


def test_the_guide_lists_every_example_with_one_line() -> None:
    page = (GUIDE / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| \w.* \|$", page, re.MULTILINE)
    assert sorted(rows) == ["NAME", *PROGRAMS]


@pytest.mark.usefixtures("fast_ramp")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_runs_without_arguments(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CHATREST_APP_ID", "CHATREST_API_KEY", "WEBHOOK_USERNAME", "WEBHOOK_PASSWORD"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr()
    assert printed.out.count("\n") >= 1
    assert "Traceback" not in printed.out + printed.err


async def test_a_repeated_event_is_stored_once_before_the_acknowledgement(tmp_path: Path) -> None:
    [code] = [code for _, code in blocks("python") if "def store_event" in code]
    names: dict[str, Any] = {}
    exec(code, names)
    path = str(tmp_path / "events.sqlite")
    async with (
        Emulator(users=2, messages=1, groups=0) as emulator,
        TestServer(names["make_app"](path, "hook", "s3cret")) as server,
    ):
        url = str(server.make_url("/webhook"))
        for _ in range(2):
            assert await emulator.post_event(url, username="hook", password="s3cret") == 200
        assert await emulator.post_event(url, username="hook", password="wrong") == 401
    with closing(sqlite3.connect(path)) as database:
        [(raw,)] = database.execute("SELECT raw FROM events")
    assert parse(raw).trigger == "message_sent"


async def test_dask_maps_the_guides_function_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    [code] = [code for path, code in blocks("python") if "client.map(count_unread" in code]
    names: dict[str, Any] = {}
    exec(code, names)
    uids = [f"user-{number:03}" for number in range(1, 5)]
    async with Emulator(users=4, messages=40) as emulator:
        for name, value in (("APP_ID", emulator.app.app_id), ("BASE_URL", emulator.base_url)):
            monkeypatch.setenv(f"CHATREST_{name}", value)
        monkeypatch.setenv("CHATREST_API_KEY", emulator.app.api_key)
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, asynchronous=True, dashboard_address=":0",
            memory_limit=0, silence_logs=50,
        )  # fmt: skip
        async with (
            asyncio.timeout(60), cluster, distributed.Client(cluster, asynchronous=True) as client,
        ):  # fmt: skip
            counts = await client.gather(client.map(names["count_unread"], [uids[:2], uids[2:]]))
    assert sorted(uid for each in counts for uid in each) == uids


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "format"), [("duckdb", "ndjson"), ("dlt", "ndjson"), ("deltalake", "parquet")]
)
def test_the_lines_of_the_guide_follow_an_export(
    name: str, format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    Path("program.py").write_text(LINES[name])
    runs = StoredRuns(tmp_path / "OUT", format=format)
    for new, changed in (([1, 2], []), ([3], [record(1, text="edited")])):
        runs.run(map(record, new), changed=changed)
        subprocess.run([sys.executable, "program.py"], check=True)
    assert len(list(read_raw("OUT"))) == 3
    match name:
        case "duckdb":
            assert "ann" in capfd.readouterr().out
        case "dlt":
            sql = "SELECT id, run, kind FROM messages_of_chat.messages ORDER BY id"
            with pytest.importorskip("duckdb").connect(str(next(tmp_path.glob("*.duckdb")))) as db:
                assert db.execute(sql).fetchall() == [("1", 2, "changed"), ("2", 1, "new"), ("3", 2, "new")]
        case _:
            table = program.DeltaTable(tmp_path / "OUT_delta")
            assert (table.version(), table.to_pyarrow_dataset().count_rows()) == (1, 3)
