"""`cat`: the messages of an export as JSON lines, of any format."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from chatrest.cli.root import root
from chatrest.export.plan import Plan
from tests.stored import START, StoredExport, record

from .conftest import error_line

RECORDS = [record(number) for number in range(1, 11)]
ODD = b'{"id":"11","data":{"text":"\xff"},"sentAt":1600000000}'


@pytest.fixture(params=["ndjson", "parquet", "sqlite"])
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return stored(tmp_path / "out", request.param)


def stored(folder: Path, format: Any, count: int = 10) -> Path:
    with StoredExport(folder, Plan(users=["ann"], groups=["den"], format=format)) as export:
        export.commit({"user ann": map(record, range(1, count + 1)), "group den": [ODD]})
        export.finish()
    return folder


def cat(*args: object) -> Result:
    return CliRunner().invoke(root, ["cat", *map(str, args)])


def test_every_message_is_a_line_as_it_was_served(out: Path) -> None:
    result = cat(out, "--source", "user ann")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes.splitlines() == RECORDS


def test_what_is_not_utf_8_can_be_read_as_json_or_exactly(out: Path) -> None:
    [line] = cat(out, "--source", "group den").stdout_bytes.splitlines()
    assert json.loads(line)["data"]["text"] == "\ufffd"
    assert cat(out, "--source", "group den", "--raw").stdout_bytes == ODD + b"\n"


def test_times_and_sources_choose(out: Path) -> None:
    since, until = START + 3 * 3600, START + 5 * 3600
    lines = cat(out, "--since", since, "--until", until, "--source", "user ann").stdout_bytes.splitlines()
    assert lines == RECORDS[2:5]
    lines = cat(out, "--since", "2020-09-14", "--source", "user ann", "--source", "group den").stdout_bytes
    assert all(json.loads(line)["sentAt"] >= 1_600_041_600 for line in lines.splitlines())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--source", "ann"], "source = 'ann': allowed are sources of the export, such as 'user ann'"),
        (["--since", "20260101"], "'--since': '20260101': it may be a date"),
    ],
)
def test_wrong_usage_is_one_line_with_status_2(tmp_path: Path, args: list[str], words: str) -> None:
    assert words in error_line(cat(stored(tmp_path, "ndjson"), *args), 2)


def test_a_folder_that_is_no_export_is_one_line(tmp_path: Path) -> None:
    assert "is not an export: it has no manifest.json" in error_line(cat(tmp_path), 2)
    assert "the scheme 'https' is unknown" in error_line(cat("https://bucket/chat"), 2)


def test_a_file_that_is_missing_is_one_line_that_names_verify(tmp_path: Path) -> None:
    folder = stored(tmp_path, "ndjson")
    next(folder.glob("messages/**/*.ndjson")).unlink()
    line = error_line(cat(folder), 1)
    assert "No such file or directory; " in line
    assert f"verify {folder}' says what can safely be done" in line


def test_a_reader_that_leaves_ends_it_without_a_word(tmp_path: Path) -> None:
    folder = stored(tmp_path, "ndjson", count=5_000)
    command = [sys.executable, "-m", "chatrest", "cat", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["id"]
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0
