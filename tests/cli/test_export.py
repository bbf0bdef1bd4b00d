"""`export` from beginning to end: here, and in processes of its own."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from chatrest.cli import export as command_module
from chatrest.cli.exporting.words import summary
from chatrest.cli.root import root
from chatrest.export import Progress, Report
from tests.commands import Fronted, Run, all_ids, ids_of, told

from .conftest import SECRETS, Served, complaint

pytestmark = pytest.mark.usefixtures("called")


def test_all_users_is_the_default_and_a_second_run_has_nothing_to_do(
    service: Served, command: Run, out: Path
) -> None:
    first = command("export", str(out))
    assert first.exit_code == 0
    assert ids_of(out) == all_ids(service)
    count = len(all_ids(service))
    found = told(first)
    assert found["export"] == f"{out}, ndjson, whole"
    assert found["messages"] == f"{count:,}, of them {count:,} new"
    assert found["sources"] == "6"
    assert found["requests"].endswith(", 0 answered 429")
    assert "messages/s" in found["time"]
    assert "MB" in found["files"]
    assert "\x1b" not in first.output
    again = command("export", str(out))
    assert told(again)["messages"] == f"{count:,}, of them 0 new"
    assert "messages/s" not in told(again)["time"]


def test_what_is_new_comes_with_the_next_run_and_the_plan_need_not_be_said_again(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    with Served(users=3, messages=40) as served:

        def run(*args: str) -> dict[str, str]:
            result = CliRunner().invoke(root, args, env=served.env)
            assert (result.exit_code, result.stderr) == (0, "")
            return told(result) if args[0] == "export" else {}

        assert run("export", out, "--everything", "--quiet")["messages"] == "40, of them 40 new"
        run("send", "user-01", "one more", "--on-behalf-of", "user-02")
        assert run("export", out, "--quiet")["messages"] == "41, of them 1 new"
        assert run("export", out, "--quiet", "--everything")["messages"] == "41, of them 0 new"
    assert ids_of(Path(out)) == list(range(1, 42))


@pytest.mark.parametrize("args", [["--quiet"], []])
def test_progress_elsewhere_is_plain_lines_and_quiet_is_none(
    command: Run, front: Fronted, out: Path, args: list[str]
) -> None:
    def slow(number: int, _: str) -> None:
        time.sleep(0.3 if number == 1 else 0)

    with front(slow) as url:
        result = command("export", str(out), "--user", "user-01", *args, CHATREST_BASE_URL=url)
    lines = result.stderr.splitlines()
    assert result.exit_code == 0
    assert bool(lines) != bool(args)
    assert all(line.startswith("chatrest: ") for line in lines)


def test_filters_and_times_reach_the_service(
    service: Served, command: Run, out: Path, tmp_path: Path
) -> None:
    result = command("export", str(out), "--user", "user-01", "--categories", "call", "--quiet")
    assert result.exit_code == 0
    lines = [json.loads(line) for path in out.glob("*.ndjson") for line in path.read_bytes().splitlines()]
    assert {line["category"] for line in lines} == {"call"}
    half = sorted(line["sentAt"] for line in lines)[len(lines) // 2]
    early = tmp_path / "early"
    command(
        "export", str(early), "--user", "user-01", "--categories", "call", "--until", str(half), "--quiet"
    )
    assert 0 < len(ids_of(early)) < len(lines)


def test_another_plan_is_refused_by_name(command: Run, out: Path) -> None:
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0
    for more in ([], ["--dry-run"]):
        line = complaint(command("export", str(out), "--user", "user-02", *more), 2)
        assert "was exported with users=user-01, and this plan has users=user-02" in line
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0


def test_somebody_elses_folder_is_not_touched(command: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    assert "is not touched" in complaint(command("export", str(tmp_path)), 2)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_recheck_tells_what_it_found(service: Served, command: Run, out: Path) -> None:
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0
    result = command("export", str(out), "--recheck", "520w", "--quiet")
    assert result.exit_code == 0
    assert "changed" not in told(result)
    report = Report(complete=True, changed=3, vanished=1)
    lines = list(summary(report, Progress(), "out", command_module.Files("ndjson", 1, 10**7), 1.0))
    assert any(line.startswith("changed   3;") for line in lines)
    assert any(line.startswith("vanished  1 that") for line in lines)


def test_no_output_holds_a_key(command: Run, out: Path) -> None:
    result = command("export", str(out), "--group", "nowhere")
    assert not any(secret in result.output for secret in SECRETS)
