"""`export --dry-run`: its estimate, and that it writes nothing."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatrest.cli.exporting.format import estimate_lines
from chatrest.export import Failure, Plan
from tests.commands import Run, summary_of

pytestmark = pytest.mark.usefixtures("called")


def test_a_dry_run_writes_nothing(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run")
    assert (result.exit_code, result.stderr) == (0, "")
    assert not out.exists()
    summary = summary_of(result)
    assert summary["export"] == f"{out}, ndjson; nothing was written"
    assert summary["sources"] == "6"
    assert summary["messages"].startswith("about ")
    assert summary["requests"].startswith("about ")
    assert "with 32 workers" in summary["time"]
    assert summary["limit"] == "the service reported none"


def test_a_dry_run_over_an_existing_export(command: Run, out: Path) -> None:
    assert command("export", str(out), "--quiet").exit_code == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    result = command("export", str(out), "--dry-run", "--recheck", "2w")
    assert summary_of(result)["sources"] == "6, of which 6 are up to date"
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    assert "none to read" in summary_of(command("export", str(out), "--dry-run"))["messages"]


def test_a_dry_run_as_json_states_the_certainty_of_its_numbers(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run", "--json", "--user", "user-01")
    assert (result.exit_code, result.stderr) == (0, "")
    members = json.loads(result.stdout)
    assert (members["known"], members["counted"], members["bounded"]) == ("counted", 1, 0)
    assert members["plan"]["users"] == ["user-01"]
    assert members["messages"] > 0
    assert not out.exists()


def test_an_export_as_json_is_one_object(command: Run, out: Path) -> None:
    result = command("export", str(out), "--json", "--quiet", "--user", "user-01")
    assert (result.exit_code, result.stderr) == (0, "")
    members = json.loads(result.stdout)
    assert (members["complete"], members["format"], members["failed"]) == (True, "ndjson", [])
    assert members["messages"] == members["written"] > 0


def test_an_estimate_states_its_certainty() -> None:
    known: dict[str, Any] = {
        "plan": Plan(), "sources": 100, "sampled": 20, "whole": 0, "refused": [Failure("user x", "404")],
        "counted": 99, "reported": 0, "bounded": 0,
        "messages": 123_456, "written": 70_000, "bytes": 10**8, "requests": 345,
        "seconds": 7000.0, "latency": 0.05, "page_latency": 0.3, "asked": 24, "rate": 485.0,
    }  # fmt: skip
    lines = dict(line.split(maxsplit=1) for line in estimate_lines(SimpleNamespace(**known), "out", 32))  # type: ignore[arg-type]
    assert lines["refused"] == "user x: 404"
    assert lines["messages"].startswith("about 120,000 to read (100.0 MB), about 70,000 of them new")
    assert lines["time"] == "about 2 h, with 32 workers; a request took 50 ms, a page 300 ms"
    assert lines["limit"] == "about 485 requests a minute"
    assert "extrapolated from 20 sources" in lines["basis"]
    lower_bound = SimpleNamespace(**known | {"bounded": 3})
    lines = dict(line.split(maxsplit=1) for line in estimate_lines(lower_bound, "out", 32))  # type: ignore[arg-type]
    assert lines["messages"].startswith("at least about 120,000 to read; 3 sources have more")
    assert lines["requests"].startswith("at least about")
    by_totals = SimpleNamespace(**known | {"reported": 7})
    lines = dict(line.split(maxsplit=1) for line in estimate_lines(by_totals, "out", 32))  # type: ignore[arg-type]
    assert lines["messages"].endswith("7 sources counted by the service's totals, which may be wrong")
