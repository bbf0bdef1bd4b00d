"""`cat` and `changes`: the messages of an export, and what is new in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from chatrest._cli.root import root
from chatrest._core.replies.rows import row_of
from chatrest.export import Plan
from tests.support.stored_exports import DAY, START, StoredExport, StoredParts, StoredRuns, record

from ..conftest import error_line

RECORDS = [record(number) for number in range(1, 11)]
ODD = b'{"id":"11","data":{"text":"\xff"},"sentAt":1600000000}'


pytestmark = pytest.mark.usefixtures("called")


@pytest.fixture(params=["ndjson", "parquet"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return stored(tmp_path / "out", request.param)


def stored(path: Path, format: Any, count: int = 10) -> Path:
    with StoredExport(path, Plan(users=["ann"], groups=["den"], format=format)) as export:
        export.commit({"user ann": map(record, range(1, count + 1)), "group den": [ODD]})
        export.finish()
    return path


def cat(*args: object) -> Result:
    return CliRunner().invoke(root, ["cat", *map(str, args)])


def test_every_message_is_one_line_with_the_served_bytes(folder: Path) -> None:
    result = cat(folder, "--source", "user ann")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes.splitlines() == RECORDS


def test_bytes_that_are_not_utf_8_are_printed_as_json(folder: Path) -> None:
    [line] = cat(folder, "--source", "group den").stdout_bytes.splitlines()
    assert json.loads(line)["data"]["text"] == "\ufffd"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--source", "ann"], "--source 'ann': expected sources of the export, such as 'user ann'"),
        (["--since", "20260101"], "--since '20260101': it may be a date"),
    ],
)
def test_wrong_usage_is_one_line_with_status_2(tmp_path: Path, args: list[str], words: str) -> None:
    assert words in error_line(cat(stored(tmp_path, "ndjson"), *args), 2)


def ids(result: Result) -> list[str]:
    assert (result.exit_code, result.exception) == (0, None)
    return [json.loads(line)["id"] for line in result.stdout.splitlines()]


@pytest.fixture
def of_people(tmp_path: Path) -> Path:
    runs = StoredRuns(tmp_path / "out")
    runs.run([
        record(1, sender="ann", text="Straße", sent_at=START + DAY),
        record(2, sender="bob", text="an invoice"),
        record(3, sender="ann", text="INVOICE 3", conversationId="group_den", sent_at=START),
        record(4, sentAt=None),
    ])  # fmt: skip
    return runs.folder


def test_cat_selects_by_source_user_and_time(of_people: Path) -> None:
    assert ids(cat(of_people, "--sender", "ann")) == ["1", "3", "4"]
    assert ids(cat(of_people, "--sender", "ann", "--sort", "time")) == ["3", "1", "4"]
    assert ids(cat(of_people, "--conversation", "group_den")) == ["3"]
    assert ids(cat(of_people, "--conversation", "den", "--sender", "ann")) == ["3"]
    assert ids(cat(of_people, "--sender", "nobody")) == []
    assert ids(cat(of_people, "--sender", "ann", "--until", "2020-09-13")) == ["3", "4"]
    assert ids(cat(of_people, "--sort", "time", "--since", START + 3600)) == ["2", "1", "4"]
    assert ids(cat(of_people, "--sort", "time", "--since", START + 3600, "--limit", 2)) == ["2", "1"]


def test_changes_prints_a_line_of_json_for_each_and_since_a_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with StoredExport(out, Plan(users=["ann"])) as stored:
        stored.begin_manifest()
        stored.commit({"user ann": [record(1, text="a"), record(2, text="\udcff")]})
        stored.finish()
    with StoredExport(out, Plan(users=["ann"])) as stored:
        stored.begin_manifest()
        with stored.journal.transaction():
            stored.journal.pending_changes.note([row_of(record(1, text="b"))])
        stored.finish()
    first = CliRunner().invoke(root, ["changes", str(out)])
    assert [json.loads(line)["id"] for line in first.stdout.splitlines()] == ["1", "2"]
    since = CliRunner().invoke(root, ["changes", str(out), "--since-run", "1"])
    assert json.loads(since.stdout) == {
        "run": 2, "kind": "changed", "id": "1", "reason": None,
        "before": json.loads(record(1, text="a")), "after": json.loads(record(1, text="b")),
    }  # fmt: skip
    assert CliRunner().invoke(root, ["changes", str(out), "--since-run", "2"]).stdout == ""
    refused = CliRunner().invoke(root, ["changes", str(out), "--since-run", "-1"])
    assert (refused.exit_code, "expected the number of a run" in refused.stderr) == (2, True)
    later = error_line(CliRunner().invoke(root, ["changes", str(out), "--since-run", "3"]), 2)
    assert later.startswith(f"--since-run 3: expected a run of '{out}', whose newest one is 2")
    refused = CliRunner().invoke(root, ["changes", str(tmp_path)])
    assert (refused.exit_code, "is not an export" in refused.stderr) == (2, True)


def test_changes_of_parts_say_from_where_to_continue(tmp_path: Path) -> None:
    parts = StoredParts(tmp_path / "out", 2)
    parts.run([1, 2, 3])
    first = CliRunner().invoke(root, ["changes", str(parts.folder)])
    assert [json.loads(line)["part"] for line in first.stdout.splitlines()] == ["part=00", *["part=01"] * 2]
    [*_, option, position] = first.stderr.split()
    assert (option, position) == ("--since-run", "part=00:1,part=01:1")
    parts.each[0].run([record(4)])
    later = CliRunner().invoke(root, ["changes", str(parts.folder), option, position])
    assert [json.loads(line)["id"] for line in later.stdout.splitlines()] == ["4"]
