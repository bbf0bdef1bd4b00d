"""The lines of the guide for DuckDB, dlt and Delta, each run over an export where it is installed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatrest.export import read_raw
from tests.pages import PAGES, blocks
from tests.stored_exports import StoredRuns, record

pytestmark = pytest.mark.nightly

LINES = {
    code.split()[1].strip(","): code
    for path, code in blocks("python3", {path: text for path, text in PAGES.items() if "database" in path})
}


def run_lines(name: str, folder: Path, format: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Export two runs, and execute the lines after each."""
    pytest.importorskip(name)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DLT_DATA_DIR", str(folder))
    (folder / "program.py").write_text(LINES[name])
    runs = StoredRuns(folder / "OUT", format=format)
    runs.run([record(1), record(2)])
    subprocess.run([sys.executable, "program.py"], check=True)
    runs.run([record(3)], changed=[record(1, text="edited")])
    subprocess.run([sys.executable, "program.py"], check=True)
    assert len(list(read_raw("OUT"))) == 3


def test_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    run_lines("duckdb", tmp_path, "ndjson", monkeypatch)
    assert "ann" in capfd.readouterr().out


def test_dlt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    run_lines("dlt", tmp_path, "ndjson", monkeypatch)
    import duckdb

    [database] = tmp_path.glob("*.duckdb")
    with duckdb.connect(str(database)) as db:
        assert db.execute("SELECT id, run, kind FROM messages_of_chat.messages ORDER BY id").fetchall() == [
            ("1", 2, "changed"), ("2", 1, "new"), ("3", 2, "new"),
        ]  # fmt: skip


def test_delta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_lines("deltalake", tmp_path, "parquet", monkeypatch)
    import deltalake

    table = deltalake.DeltaTable(tmp_path / "OUT_delta")
    assert (table.version(), table.to_pyarrow_dataset().count_rows()) == (1, 3)
