"""`export` from start to end."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from chatrest.cli.export_texts import FileTotals, summary_lines
from chatrest.cli.root import root
from chatrest.export import Progress, Report
from tests.commands import MakeProxy, Run, all_ids, ids_of, summary_of

from .conftest import SECRETS, EmulatorThread, error_line

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


def test_the_next_run_adds_new_messages_without_repeating_the_plan(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    with EmulatorThread(users=3, messages=40) as emulator:

        def run(*args: str) -> dict[str, str]:
            result = CliRunner().invoke(root, args, env=emulator.env)
            assert (result.exit_code, result.stderr) == (0, "")
            return summary_of(result) if args[0] == "export" else {}

        assert run("export", out, "--everything", "--quiet")["messages"] == "40, 40 of them new"
        run("send", "user-01", "one more", "--on-behalf-of", "user-02")
        assert run("export", out, "--quiet")["messages"] == "41, 1 of them new"
        assert run("export", out, "--quiet", "--everything")["messages"] == "41, 0 of them new"
    assert ids_of(Path(out)) == list(range(1, 42))


def test_the_summary_names_the_sources_that_are_no_longer_asked_for(command: Run, out: Path) -> None:
    named = [word for each in range(1, 8) for word in ("--user", f"user-{each:02}")]
    assert "kept" not in summary_of(command("export", str(out), *named, "--quiet"))
    summary = summary_of(command("export", str(out), "--user", "user-01", "--quiet"))
    assert summary["sources"] == "1"
    assert summary["kept"] == (
        "user user-02, user user-03, user user-04, user user-05, user user-06 and 1 more; "
        "no longer asked for, not read by this run"
    )


def test_there_is_no_progress_without_a_terminal(command: Run, proxy: MakeProxy, out: Path) -> None:
    def delay_first(number: int, _: str) -> None:
        time.sleep(0.3 if number == 1 else 0)

    with proxy(delay_first) as url:
        result = command("export", str(out), "--user", "user-01", CHATREST_BASE_URL=url)
    assert (result.exit_code, result.stderr) == (0, "")


def test_filters_and_times_reach_the_service(
    service: EmulatorThread, command: Run, out: Path, tmp_path: Path
) -> None:
    result = command("export", str(out), "--user", "user-01", "--categories", "call", "--quiet")
    assert result.exit_code == 0
    lines = [json.loads(line) for path in out.rglob("*.ndjson") for line in path.read_bytes().splitlines()]
    assert {line["category"] for line in lines} == {"call"}
    half = sorted(line["sentAt"] for line in lines)[len(lines) // 2]
    early = tmp_path / "early"
    command(
        "export", str(early), "--user", "user-01", "--categories", "call", "--until", str(half), "--quiet"
    )
    assert 0 < len(ids_of(early)) < len(lines)


def test_another_plan_is_an_error_that_names_the_difference(command: Run, out: Path) -> None:
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0
    for options in ([], ["--dry-run"]):
        line = error_line(command("export", str(out), "--compress", "gzip", *options), 2)
        assert "was exported with compress=none, and this plan has compress=gzip" in line
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0


def test_a_folder_with_other_files_is_not_changed(command: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    assert "is not touched" in error_line(command("export", str(tmp_path)), 2)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_summary_of_a_recheck_counts_changed_and_deleted_messages(
    service: EmulatorThread, command: Run, out: Path
) -> None:
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0
    result = command("export", str(out), "--recheck", "520w", "--quiet")
    assert result.exit_code == 0
    assert "changed" not in summary_of(result)
    report = Report(complete=True, changed=3, deleted=1)
    lines = list(summary_lines(report, Progress(), "out", FileTotals("ndjson", 1, 10**7), 1.0))
    assert any(line.startswith("changed   3;") for line in lines)
    assert any(line.startswith("deleted   1 that") for line in lines)


def test_no_output_contains_a_key(command: Run, out: Path) -> None:
    result = command("export", str(out), "--group", "nowhere")
    assert not any(secret in result.output for secret in SECRETS)
