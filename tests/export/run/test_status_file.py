"""The status of the newest run in a file, for a monitor."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chatrest import testing
from chatrest.export import Report
from chatrest.export.run.status_file import status_file


def test_the_file_for_a_monitor_has_each_run_and_the_last_complete_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, clock = tmp_path / "status.json", iter([100, 190, 200, 210, 300, 390])
    monkeypatch.setattr(testing, "_clocks", [lambda: next(clock)])

    def write(report: Report | Exception) -> dict[str, Any]:
        with suppress(OSError), status_file(path, "out") as reports:
            if isinstance(report, Exception):
                raise report
            reports.append(report)
        loaded: dict[str, Any] = json.loads(path.read_bytes())
        return loaded

    first = write(Report(run=1, complete=True, started=100, finished=190, messages=7, written=7))
    assert (first["state"], first["messages"]) == ("complete", 7)
    assert (first["finished"], first["last_complete"]) == (190, 190)
    second = write(OSError("the disk is full"))
    assert (second["state"], second["error"], second["last_complete"]) == ("failed", "the disk is full", 190)
    assert (second["started"], second["finished"]) == (200, 210)
    third = write(Report(run=3, started=300, finished=390, reasons=["some sources are not read"]))
    assert (third["state"], third["error"]) == ("not complete", "some sources are not read")
    assert third["last_complete"] == 190
    assert [each.name for each in tmp_path.iterdir()] == ["status.json"]
