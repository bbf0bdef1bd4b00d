"""`export --dry-run`: its estimate, and that it writes nothing."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatrest.cli.export_texts import estimate_lines
from chatrest.export import Failure, Plan
from tests.commands import Run, ids_of, summary_of

pytestmark = pytest.mark.usefixtures("called")


def test_a_dry_run_writes_nothing(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run")
    assert (result.exit_code, result.stderr) == (0, "")
    assert not out.exists()
    summary = summary_of(result)
    assert summary["export"] == f"{out}, ndjson; nothing was written"
    assert summary["sources"] == "6"
    assert "those of two sources count twice" in summary["messages"]
    assert "with 32 workers; no rate limit was reported" in summary["time"]
    assert command("export", str(out), "--quiet").exit_code == 0
    totals = summary_of(command("export", str(out), "--quiet", "--dry-run"))
    assert totals["messages"] == "none to read"
    stored = len(ids_of(out))
    assert summary["new"] == f"{stored:,}"


def test_a_dry_run_over_an_existing_export(command: Run, out: Path) -> None:
    assert command("export", str(out), "--quiet").exit_code == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    result = command("export", str(out), "--dry-run", "--recheck", "2w")
    assert summary_of(result)["sources"] == "6, of which 6 are up to date"
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert "none to read" in summary_of(command("export", str(out), "--dry-run"))["messages"]


def test_a_dry_run_as_json_states_the_certainty_of_its_numbers(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run", "--json", "--user", "user-01")
    assert (result.exit_code, result.stderr) == (0, "")
    members = json.loads(result.stdout)
    assert (members["known"], members["counted"], members["bounded"]) == ("counted", 1, 0)
    assert not members["is_range"]
    assert members["messages_least"] == members["messages"] == members["messages_most"]
    assert members["plan"]["users"] == ["user-01"]
    assert members["messages"] > 0
    assert not out.exists()


def test_a_dry_run_whose_only_source_is_refused_is_a_failure(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run", "--group", "nowhere")
    assert summary_of(result)["refused"].startswith("group nowhere: ")
    assert result.exit_code == 1
    assert "1 of 1 sampled sources are refused" in result.stderr


def test_an_export_as_json_is_one_object(command: Run, out: Path) -> None:
    result = command("export", str(out), "--json", "--quiet", "--user", "user-01")
    assert (result.exit_code, result.stderr) == (0, "")
    members = json.loads(result.stdout)
    assert (members["complete"], members["format"], members["failed"]) == (True, "ndjson", [])
    assert members["messages"] == members["written"] > 0


def test_an_estimate_prints_a_range_where_it_does_not_know() -> None:
    known: dict[str, Any] = {
        "plan": Plan(), "sources": 100, "sampled": 20, "whole": 0, "refused": [Failure("user x", "404")],
        "counted": 99, "reported": 0, "bounded": 0, "bytes": 10**8,
        "messages": 123_456, "messages_least": 20_000, "messages_most": 900_000,
        "written": 70_000, "written_least": 9_000, "written_most": 70_000,
        "requests": 345, "requests_least": 120, "requests_most": None,
        "seconds": 7000.0, "seconds_least": 60.0, "seconds_most": None, "asked": 24, "rate": 485.0,
    }  # fmt: skip
    lines = printed(**known)
    assert lines["refused"] == "user x: 404"
    assert lines["messages"] == (
        "at least 20,000, at most 900,000, probably about 120,000 to read (100.0 MB); "
        "those of two sources count twice"
    )
    assert lines["new"] == "at least 9,000, at most 70,000"
    assert lines["requests"] == "at least 120, no upper bound is known, probably about 340"
    assert lines["time"] == (
        "at least about 60 s, no upper bound is known, probably about 2 h, with 32 workers; "
        "the rate limit is about 485 requests a minute"
    )
    assert lines["basis"] == (
        "24 requests; 20 of 100 sources sampled; wrong if a few of the others hold most messages"
    )
    exact = known | {
        "messages_least": 123_456,
        "messages_most": 123_456,
        "seconds_least": 7e3,
        "seconds_most": 7e3,
    }
    assert printed(**exact)["messages"].startswith("123,456 to read (")
    assert printed(**exact)["time"].startswith("about 2 h, with 32 workers")
    assert printed(**known | {"reported": 7})["basis"].endswith(
        "7 counted by the service's totals, which may be wrong"
    )
    assert printed(**known | {"bounded": 3})["basis"].endswith(
        "3 with more messages than were seen, and without a plausible total"
    )


def printed(**members: Any) -> dict[str, str]:
    lines = estimate_lines(SimpleNamespace(**members), "out", 32)  # type: ignore[arg-type]
    return dict(line.split(maxsplit=1) for line in lines)
