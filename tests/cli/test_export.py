"""`export` from start to end."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatrest.cli.export import TABLES
from chatrest.cli.export_texts import FileTotals, attachments_line, estimate_lines, summary_lines
from chatrest.export import AttachmentCounts, Failure, Plan, Progress, Report
from chatrest.export.dataset.tables import TABLES as OF_THE_PACKAGE
from tests.commands import Run, all_ids, ids_of, summary_of

from .conftest import EmulatorThread, error_line

pytestmark = pytest.mark.usefixtures("called")


def test_all_users_is_the_default_and_a_second_run_has_nothing_to_do(
    service: EmulatorThread, command: Run, out: Path
) -> None:
    first = command("export", str(out))
    assert first.exit_code == 0
    assert ids_of(out) == all_ids(service)
    count = len(all_ids(service))
    summary = summary_of(first)
    assert summary["export"] == f"{out}, ndjson, complete"
    assert summary["messages"] == f"{count:,}, {count:,} of them new"
    assert summary["sources"] == "6"
    assert summary["requests"].endswith(", 0 answered 429")
    assert "messages/s" in summary["time"]
    assert "MB" in summary["files"]
    assert "\x1b" not in first.output
    again = command("export", str(out))
    assert summary_of(again)["messages"] == f"{count:,}, 0 of them new"
    assert "messages/s" not in summary_of(again)["time"]


def test_the_summary_names_the_sources_that_are_no_longer_asked_for(command: Run, out: Path) -> None:
    named = [word for each in range(1, 8) for word in ("--user", f"user-{each:02}")]
    assert "kept" not in summary_of(command("export", str(out), *named, "--quiet"))
    summary = summary_of(command("export", str(out), "--user", "user-01", "--quiet"))
    assert summary["sources"] == "1"
    assert summary["kept"] == (
        "user user-02, user user-03, user user-04, user user-05, user user-06 and 1 more; "
        "no longer asked for, not read by this run"
    )


def test_another_plan_is_an_error_that_names_the_difference(command: Run, out: Path) -> None:
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0
    for options in ([], ["--dry-run"]):
        line = error_line(command("export", str(out), "--compress", "gzip", *options), 2)
        assert "was exported with compress=none, and this plan has compress=gzip" in line
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0


def test_the_names_are_those_of_the_package() -> None:
    assert TABLES == OF_THE_PACKAGE


def test_a_name_of_no_table_is_refused(command: Run, out: Path) -> None:
    line = error_line(command("export", str(out), "--with", "groups,user"), 2)
    assert "'user' is not a table: allowed are users, groups" in line
    assert not out.exists()


def test_tables_are_in_the_folder_and_in_the_summary(command: Run, out: Path) -> None:
    first = command("export", str(out), "--user", "user-01", "--with", "users")
    assert first.exit_code == 0
    lines = (out / "users" / "users.ndjson").read_bytes().splitlines()
    assert summary_of(first)["tables"] == f"{len(lines)} users"
    again = command("export", str(out), "--json")
    assert json.loads(again.stdout)["tables"] == {"users": len(lines)}


def test_attachments_are_in_the_summary_and_the_limit_needs_them(command: Run, out: Path) -> None:
    first = command("export", str(out), "--type", "text", "--attachments", "--max-attachment", "5")
    assert first.exit_code == 0
    assert summary_of(first)["attached"] == "0, 0 of them new (0.0 MB)"
    wrong = command("export", str(out), "--max-attachment", "5")
    assert wrong.exit_code == 2
    assert "--max-attachment needs --attachments" in wrong.stderr


def test_the_summary_names_what_is_not_there() -> None:
    counts = AttachmentCounts(stored=1200, fetched=3, bytes=2_500_000, gone=2, failed=1)
    expected = "1,200, 3 of them new (2.5 MB), 2 no longer on their server, 1 failed"
    assert attachments_line(counts) == expected
    report = Report(complete=True, changed=3, deleted=1, missing=2)
    lines = list(summary_lines(report, Progress(), "out", FileTotals("ndjson", 1, 10**7), 1.0))
    for begin in ("missing   2 from", "changed   3;", "deleted   1 that"):
        assert any(line.startswith(begin) for line in lines)


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


def test_a_dry_run_as_json_states_the_certainty_of_its_numbers(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run", "--json", "--user", "user-01")
    assert (result.exit_code, result.stderr) == (0, "")
    members = json.loads(result.stdout)
    assert members["is_exact"]
    assert members["messages_least"] == members["messages"]
    assert members["plan"]["users"] == ["user-01"]
    assert members["messages"] > 0
    assert not out.exists()


def test_a_dry_run_whose_only_source_is_refused_is_a_failure(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run", "--group", "nowhere")
    assert summary_of(result)["refused"].startswith("group nowhere: ")
    assert result.exit_code == 1
    assert "1 of 1 sampled sources are refused" in result.stderr


def test_an_estimate_says_what_it_does_not_know() -> None:
    known: dict[str, Any] = {
        "plan": Plan(), "sources": 100, "sampled": 20, "whole": 0, "refused": [Failure("user x", "404")],
        "is_exact": False, "bytes": 10**8, "messages": 123_456, "messages_least": 20_000,
        "written": 70_000, "requests": 345, "seconds": 7000.0, "asked": 24, "rate": 485.0,
    }  # fmt: skip
    lines = printed(**known)
    assert lines["refused"] == "user x: 404"
    assert lines["messages"] == (
        "about 120,000 (at least 20,000) to read (100.0 MB); those of two sources count twice"
    )
    assert lines["new"] == "about 70,000"
    assert lines["requests"] == "about 345"
    assert lines["time"] == "about 2 h, with 32 workers; the rate limit is about 485 requests a minute"
    assert lines["basis"] == (
        "24 requests; 20 of 100 sources sampled; wrong if a few of the others hold most messages"
    )
    assert printed(**known | {"is_exact": True})["messages"].startswith("123,456 to read (")


def printed(**members: Any) -> dict[str, str]:
    lines = estimate_lines(SimpleNamespace(**members), "out", 32)  # type: ignore[arg-type]
    return dict(line.split(maxsplit=1) for line in lines)
