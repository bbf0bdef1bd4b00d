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
