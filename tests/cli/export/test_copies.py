"""`verify`: an export in a folder or in an object store, checked."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chatrest._cli.export.copies import PROBLEMS_SHOWN
from chatrest._cli.root import root
from chatrest._texts import missing_extra
from chatrest.export import Plan, export
from chatrest.export.folder.manifest import NAME as MANIFEST
from tests.support.commands import Run, all_ids, summary_of
from tests.support.damaged_exports import change_manifest
from tests.support.export_runs import served

from ..conftest import EmulatorThread, error_line

pytestmark = pytest.mark.usefixtures("called")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "out"

    async def make() -> None:
        async with served(60) as service:
            await export(service.session, folder, Plan())

    asyncio.run(make())
    return folder


@pytest.fixture
def out(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "out"))


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
    assert second.endswith(" checksums: all correct, and complete up to id 60 (all users)")


def test_the_result_as_json_is_one_object_for_success_and_failure(out: Path) -> None:
    result = run_verify(out, "--json")
    members = json.loads(result.stdout)
    assert (result.exit_code, members["ok"], members["count"], members["problems"]) == (0, True, 0, [])
    (out / MANIFEST).unlink()
    result = run_verify(out, "--json")
    members = json.loads(result.stdout)
    assert (result.exit_code, members["ok"], members["count"]) == (1, False, 1)
    [problem] = members["problems"]
    assert (problem["kind"], problem["subject"], problem["text"]) == ("manifest", MANIFEST, "it is not there")
    assert problem["advice"] == "run"
    assert len(result.stderr.splitlines()) == 1


def test_a_note_is_printed_and_is_no_failure(out: Path) -> None:
    (out / ".DS_Store").write_bytes(b"x")
    result = run_verify(out)
    assert result.exit_code == 0
    assert result.stderr.startswith("chatrest: .DS_Store: the system has left it")
    assert len(result.stdout.splitlines()) == 2


def test_each_problem_is_one_line_and_the_last_line_is_a_summary(out: Path) -> None:
    [path] = out.glob("messages/source=user-ann/*.ndjson")
    name = path.relative_to(out).as_posix()
    path.unlink()
    (out / "more.ndjson").write_bytes(b"x\n")
    missing_file, unknown, summary = error_lines(run_verify(out))
    assert missing_file.startswith(f"{name}: it is not there: ")
    assert f"run `/of/a/venv/bin/chatrest export {out}` again" in missing_file
    assert unknown.startswith("more.ndjson: ")
    assert summary.startswith(f"{out} is damaged or not complete: 2 problems; ")


def test_problems_of_one_file_that_are_mended_in_one_way_are_one_line(out: Path) -> None:
    change_manifest(out, complete=False, reasons=["user ann: 403", "user bob: 403"])
    line, summary = error_lines(run_verify(out))
    reasons = [f"the export is not complete: user {name}: 403" for name in ("ann", "bob")]
    assert line == f"manifest.json: {'; '.join(reasons)}; run `/of/a/venv/bin/chatrest export {out}` again"
    assert "2 problems" in summary


def test_many_problems_are_counted(out: Path) -> None:
    for number in range(PROBLEMS_SHOWN + 5):
        (out / f"more-{number:02}.ndjson").write_bytes(b"x\n")
    lines = error_lines(run_verify(out))
    assert len(lines) == PROBLEMS_SHOWN + 1
    assert f"{PROBLEMS_SHOWN + 5} problems, of which 5 are not shown" in lines[-1]
    for path in list(out.glob("more-*"))[1:]:
        path.unlink()
    singular = "is damaged or not complete: 1 problem; 60 messages undamaged"
    assert error_lines(run_verify(out))[-1].endswith(singular)


def test_a_folder_of_several_exports_names_one(command: Run, out: Path) -> None:
    assert error_line(command("status", str(out.parent)), 2).endswith(f"; an export is in '{out}'")


@pytest.mark.parametrize("name", ["verify", "cat", "status"])
@pytest.mark.usefixtures("buckets")
def test_a_folder_without_an_export_is_wrong_usage(command: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    for path, words in (
        ("", "it has no manifest.json and no journal"),
        ("nowhere", "there is no such folder"),
        ("file", "it is a file"),
    ):
        assert f"is not an export: {words}" in error_line(command(name, str(tmp_path / path)), 2)
    assert "the scheme 'https' is unknown" in error_line(command(name, "https://bucket/chat"), 2)
    assert "holds no export" in error_line(command(name, "s3://nowhere/at/all"), 2)
    assert "Missing argument 'OUT'" in error_line(command(name), 2)


@pytest.mark.usefixtures("buckets")
def test_an_export_in_a_store_is_made_read_checked_and_merged(
    service: EmulatorThread, command: Run, tmp_path: Path
) -> None:
    address, state = "s3://bucket/chat", {"XDG_STATE_HOME": str(tmp_path / "state")}
    first = command("export", address, "--partition", "none", **state)
    [root] = (tmp_path / "state" / "chatrest").iterdir()
    assert first.stderr.splitlines()[0] == f"chatrest: the local copy of {address} is in {root}"
    assert summary_of(first)["export"] == f"{address}, ndjson, complete"
    again = command("export", address, "--journal", str(tmp_path / "a"), "--quiet", "--json")
    assert (again.exit_code, again.stderr) == (0, "")
    summary = json.loads(again.stdout)
    assert (summary["export"], summary["complete"], summary["warnings"]) == (address, True, [])
    lines = command("cat", address).stdout.splitlines()
    assert sorted(int(json.loads(line)["id"]) for line in lines) == all_ids(service)
    assert command("verify", address).stdout.startswith(f"{len(lines):,} messages, ids")
    estimate = json.loads(command("export", address, "--dry-run", "--json").stdout)
    assert (estimate["export"], estimate["messages"]) == (address, 0)


def test_a_missing_extra_is_named_with_the_command_to_install_it(
    command: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    for args in (["export", "--journal", str(tmp_path / "a")], ["verify"], ["cat"]):
        line = error_line(command(args[0], "s3://bucket/chat", *args[1:], XDG_STATE_HOME=str(tmp_path)), 2)
        assert line == missing_extra("an object store", "cloud")
    assert list(tmp_path.iterdir()) == []
