"""`verify`: a summary of a correct export, and one line for each problem of another."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chatrest.cli import streams
from chatrest.cli.root import root
from chatrest.cli.stored_export import PROBLEMS_SHOWN
from chatrest.export import Plan, export
from chatrest.export.journal import NAME as JOURNAL
from chatrest.export.manifest import NAME as MANIFEST, encode, read
from tests.exporting import served

from .conftest import error_line


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of a small export."""

    async def make() -> None:
        async with served(60) as service:
            await export(service.session, tmp_path / "out", Plan())

    asyncio.run(make())
    return tmp_path / "out"


def run_verify(*args: object) -> Result:
    return CliRunner().invoke(root, ["verify", *map(str, args)])


def error_lines(result: Result) -> list[str]:
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    lines = result.stderr.splitlines()
    assert all(line.startswith("chatrest: ") for line in lines)
    return [line.removeprefix("chatrest: ") for line in lines]


def test_a_correct_export(out: Path) -> None:
    result = run_verify(out)
    assert (result.exit_code, result.stderr) == (0, "")
    first, second = result.stdout.splitlines()
    assert first == "60 messages, ids 1 to 60"
    assert second.startswith("4 files, ")
    assert second.endswith(" checksums: all correct, and complete up to id 60")


def test_the_result_as_json_is_one_object_for_success_and_failure(out: Path) -> None:
    result = run_verify(out, "--json")
    members = json.loads(result.stdout)
    assert (result.exit_code, members["ok"], members["count"], members["problems"]) == (0, True, 0, [])
    (out / MANIFEST).unlink()
    result = run_verify(out, "--json")
    members = json.loads(result.stdout)
    assert (result.exit_code, members["ok"], members["count"]) == (1, False, 1)
    [problem] = members["problems"]
    assert (problem["kind"], problem["place"], problem["text"]) == ("manifest", MANIFEST, "it is not there")
    assert "it writes a new one" in problem["remedy"]
    assert len(result.stderr.splitlines()) == 1


def test_quiet_prints_only_problems(out: Path) -> None:
    for option in ("--quiet", "-q"):
        result = run_verify(out, option)
        assert (result.exit_code, result.output) == (0, "")
    (out / MANIFEST).unlink()
    assert len(error_lines(run_verify(out, "--quiet"))) == 2


def test_a_note_is_printed_and_is_no_failure(out: Path) -> None:
    (out / JOURNAL).unlink()
    result = run_verify(out)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"chatrest: {JOURNAL}: it is not there")
    assert len(result.stdout.splitlines()) == 2


def test_each_problem_is_one_line_and_the_last_line_is_a_summary(out: Path) -> None:
    name = "messages/source=user-ann/messages.ndjson"
    (out / name).unlink()
    (out / "more.ndjson").write_bytes(b"x\n")
    missing_file, unknown, summary = error_lines(run_verify(out))
    assert missing_file.startswith(f"{name}: it is not there: ")
    assert f"run `chatrest export {out}` again" in missing_file
    assert unknown.startswith("more.ndjson: ")
    assert summary.startswith(f"{out} is damaged or not complete: 2 problems; ")


def test_one_problem_is_in_the_singular(out: Path) -> None:
    (out / "more.ndjson").write_bytes(b"x\n")
    assert error_lines(run_verify(out))[-1].endswith(
        "is damaged or not complete: 1 problem; 60 messages are undamaged"
    )


def test_many_problems_are_counted(out: Path) -> None:
    for number in range(PROBLEMS_SHOWN + 5):
        (out / f"more-{number:02}.ndjson").write_bytes(b"x\n")
    lines = error_lines(run_verify(out))
    assert len(lines) == PROBLEMS_SHOWN + 1
    assert f"{PROBLEMS_SHOWN + 5} problems, of which 5 are not shown" in lines[-1]


@pytest.mark.parametrize("name", [JOURNAL, MANIFEST])
@pytest.mark.parametrize("content", [b"", b"x" * 5000, b"SQLite format 3\x00" + b"x" * 5000, b'{"files": 5}'])
def test_a_damaged_journal_or_manifest_is_a_line(out: Path, name: str, content: bytes) -> None:
    (out / name).write_bytes(content)
    problem, summary = error_lines(run_verify(out))
    assert problem.startswith(f"{name}: ")
    assert "restore" in problem
    assert "1 problem" in summary


def test_an_export_of_version_1_is_wrong_usage(out: Path) -> None:
    manifest = read(out / MANIFEST)
    manifest.version = 1
    (out / MANIFEST).write_bytes(encode(manifest))
    assert "into another folder" in error_line(run_verify(out), 2)


def test_an_incomplete_export_is_a_failure(tmp_path: Path) -> None:
    async def make() -> None:
        async with served(20) as service:
            await export(service.session, tmp_path, Plan(users=["ann", "nobody"]))

    asyncio.run(make())
    lines = error_lines(run_verify(tmp_path))
    assert any("the export is not complete: user nobody" in line for line in lines)


def test_a_folder_without_an_export_is_wrong_usage(tmp_path: Path) -> None:
    assert "is not an export: it has no manifest.json and no journal" in error_line(run_verify(tmp_path), 2)
    assert "is not an export: it has no manifest.json and no journal" in error_line(
        run_verify(tmp_path / "nowhere"), 2
    )
    assert "Missing argument 'OUT'" in error_line(run_verify(), 2)


def test_control_characters_in_file_names_are_escaped(out: Path) -> None:
    (out / "\x1b[2J\n.ndjson").write_bytes(b"x")
    first, _ = error_lines(run_verify(out))
    assert first.startswith("\\x1b[2J .ndjson: ")


def test_a_progress_bar_on_a_terminal(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda name: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    result = run_verify(out)
    assert result.exit_code == 0
    assert "verifying" in result.stderr
    assert "verifying" not in result.stdout
    assert "verifying" not in run_verify(out, "--quiet").output


def test_help_imports_neither_aiohttp_nor_rich() -> None:
    code = (
        "import sys; from chatrest.cli.root import root\n"
        "try: root.main(['verify', '--help'])\n"
        "except SystemExit: assert not {'aiohttp', 'rich'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_ctrl_c_ends_the_check(out: Path) -> None:
    code = (
        "import sys, time\n"
        "from chatrest.cli import main\n"
        "from chatrest.export.verify import file_check\n"
        "file_check.block_batch = lambda *_: (print('begun', flush=True), time.sleep(60))\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "verify", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"begun\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130
        assert running.stderr.read() == b"chatrest: interrupted\n"
