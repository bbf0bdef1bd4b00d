"""`status`: the state of an export in every condition, for a person and as JSON."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from chatrest._cli.export.status import lines_of
from chatrest.export import Plan, export
from chatrest.export.folder.manifest import encode, read
from chatrest.export.read.facts import facts_of
from tests.support.commands import Run, all_ids
from tests.support.small_service import SmallService, talk
from tests.support.stored_exports import StoredExport, StoredParts, StoredRuns, record

from ..conftest import EmulatorThread

pytestmark = pytest.mark.usefixtures("called")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, service: EmulatorThread) -> Path:
    """The folder of a complete export of two runs with a table, which no test changes."""
    from click.testing import CliRunner

    from chatrest._cli.root import root

    folder = tmp_path_factory.mktemp("template") / "out"
    for _ in range(2):
        args = ["export", str(folder), "--since", "2020-01-01", "--with", "users", "--quiet"]
        assert CliRunner().invoke(root, args, env=service.env).exit_code == 0
    return folder


@pytest.fixture
def out(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "out"))


def facts(command: Run, out: Path | str) -> dict[str, Any]:
    result = command("status", str(out), "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    [line] = result.stdout.splitlines()
    loaded: dict[str, Any] = json.loads(line)
    return loaded


def text(command: Run, out: Path) -> dict[str, str]:
    """Return the lines by their first word; further lines of a fact are added to its first one."""
    result = command("status", str(out))
    assert (result.exit_code, result.stderr) == (0, "")
    members: dict[str, str] = {}
    for line in result.stdout.splitlines():
        name = line[:10].strip() or list(members)[-1]
        members[name] = "; ".join(filter(None, (members.get(name), line[10:].strip())))
    return members


def test_a_complete_export(command: Run, out: Path, service: EmulatorThread) -> None:
    members, lines = facts(command, out), text(command, out)
    ids = all_ids(service)
    assert (members["export"], members["state"], members["app"]) == (str(out), "complete", "emulated")
    assert (members["messages"], members["last_id"]) == (len(ids), str(ids[-1]))
    assert members["sources"] == {"total": 6, "complete": 6, "failed": 0, "left": 0}
    assert (members["plan"]["all_users"], members["next"]) == (True, [])
    assert (members["last_run"]["run"], members["last_run"]["written"]) == (2, 0)
    assert members["bytes"] == sum(path.stat().st_size for path in (out / "messages").rglob("*.ndjson"))
    assert lines["export"] == f"{out}, ndjson, complete as far as the app's own list shows"
    assert lines["plan"].startswith("all users, since=2020-01-01, files by source")
    assert lines["sources"] == "6 complete"
    assert " UTC, a few seconds: nothing new, " in lines["last run"]
    assert lines["last run"].endswith(", complete as far as the app's own list shows")
    assert "next" not in lines
    assert command("verify", str(out)).stdout.endswith(" (all users, since=2020-01-01)\n")


async def test_a_count_from_the_app_list_is_not_called_complete(tmp_path: Path) -> None:
    service = SmallService(talk(20), users=["ann", "bob", *(f"user-{number}" for number in range(9))])
    async with service.session() as session:
        assert (await export(session, tmp_path / "out")).complete
        known = [*lines_of(facts_of(str(tmp_path / "out")))]
        assert (await export(session, tmp_path / "out")).by_app_list
        service.records += talk(1, first=21)
        assert (await export(session, tmp_path / "out")).by_app_list
    assert ("messages", "20, ids 1 to 20, complete up to id 20") in known
    lines = dict(lines_of(facts_of(str(tmp_path / "out"))))
    assert lines["export"].endswith(", complete as far as the app's own list shows")
    assert lines["messages"] == "21, ids 1 to 21"
    assert lines["sources"] == "11 complete"


def test_nothing_is_changed_and_nothing_asked(command: Run, out: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    command("status", str(out), CHATREST_BASE_URL=None, CHATREST_API_KEY=None)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_a_failed_source_is_named_with_the_command_to_continue(command: Run, out: Path) -> None:
    out = out.with_name("other")
    sources = ["--user", "user-001", "--group", "nowhere", "--quiet"]
    command("export", str(out), "--user", "user-002", *sources)
    command("export", str(out), *sources, "--change-plan")
    members, lines = facts(command, out), text(command, out)
    assert members["state"] == "not complete"
    assert members["sources"]["failed"] == 1
    assert members["failed"][0]["source"] == "group nowhere"
    assert "1 failed" in lines["sources"]
    assert "group nowhere: " in lines["sources"]
    assert f" export {out} --change-plan" in lines["next"]


def test_an_export_without_a_journal_is_not_continuable(command: Run, out: Path) -> None:
    for path in out.glob("journal*"):
        path.unlink()
    assert (facts(command, out)["state"]) == "not complete"
    assert "without it nothing is proven" in text(command, out)["export"]


def test_a_file_that_is_gone_or_cut_is_damage(command: Run, out: Path) -> None:
    first, second, *_ = sorted((out / "messages").rglob("*.ndjson"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-1])
    members, lines = facts(command, out), text(command, out)
    assert members["state"] == "damaged"
    names = ", ".join(path.relative_to(out).as_posix() for path in (first, second))
    assert f"2 files not there, or not of their size: {names}" in lines["export"]
    assert f" verify {out} " in lines["next"]


def test_a_damaged_manifest_is_reported(command: Run, out: Path) -> None:
    (out / "manifest.json").write_text("{}")
    members = facts(command, out)
    assert (members["state"], members["plan"]["all_users"]) == ("damaged", True)
    assert members["reasons"][0].startswith("manifest.json: ")
    assert text(command, out)["export"].startswith(f"{out}, ndjson, DAMAGED")


def test_an_export_without_a_first_manifest_is_interrupted(command: Run, out: Path) -> None:
    (out / "manifest.json").unlink()
    assert facts(command, out)["state"] == "interrupted"
    assert text(command, out)["next"].endswith(f" export {out}   # continues it")


def test_a_first_run_counts_messages_before_the_manifest_exists(command: Run, tmp_path: Path) -> None:
    with StoredExport(tmp_path / "out", Plan(users=["ann"])) as stored:
        stored.commit({"user ann": [record(number) for number in range(1, 6)]})
        members = facts(command, tmp_path / "out")
        assert ", a run is writing: the messages are those that" in text(command, tmp_path / "out")["export"]
    assert (members["state"], members["messages"], members["app"], members["last_id"]) == (
        "running", 5, "app-1", "5",
    )  # fmt: skip
    StoredRuns(tmp_path / "killed").run([record(each) for each in (3, 4, 9)], is_killed=True)
    members, lines = facts(command, tmp_path / "killed"), text(command, tmp_path / "killed")
    assert (members["state"], members["messages"]) == ("interrupted", 3)
    assert lines["messages"] == "3, ids 3 to 9"
    assert lines["export"].endswith(", INTERRUPTED: the last run did not come to its end")


def test_parts_are_one_summary_and_a_line_for_each_that_is_not_complete(command: Run, tmp_path: Path) -> None:
    parts = StoredParts(tmp_path / "out", 4, begun=3)
    parts.run(range(1, 9))
    parts.each[1].run([record(101)], is_killed=True)
    members, lines = facts(command, parts.folder), text(command, parts.folder)
    assert (members["state"], members["messages"], members["first_id"]) == ("interrupted", 7, "1")
    assert [(each["export"], each["state"]) for each in members["parts"]] == [
        ("part=00", "complete"), ("part=01", "interrupted"), ("part=02", "complete"),
        ("part=03", "not begun"),
    ]  # fmt: skip
    assert lines["parts"].startswith("4, 2 of them complete; part=01, 3 messages, INTERRUPTED")
    assert lines["parts"].endswith("; part=03, 0 messages, NOT BEGUN: no run has written anything yet")
    assert lines["plan"].startswith("users u0, u1, u2, u3")
    assert lines["next"].endswith(f" export {parts.folder}   # continues it")


def test_control_characters_of_a_manifest_are_escaped(command: Run, out: Path) -> None:
    manifest = read(out / "manifest.json")
    manifest.complete, manifest.reasons = False, ["\x1b[2Jgone\u202e"]
    (out / "manifest.json").write_bytes(encode(manifest))
    output = command("status", str(out)).stdout
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert "\\x1b[2Jgone" in output
