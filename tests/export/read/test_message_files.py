"""One message: the file, the line and the hashes that lead from its id to a sealed bag."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chatrest import ChatRestError
from chatrest._cli.root import root
from chatrest.export import seal
from chatrest.export.read.message_files import find_lines
from chatrest.export.seal.bag import hashes_of
from tests.stored_exports import StoredParts, StoredRuns, record

SHAPES = [{"compress": "none"}, {"compress": "zstd", "partition": "day"}, {"format": "parquet"}]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_message_and_its_older_versions(shape: dict[str, Any], tmp_path: Path) -> None:
    stored = StoredRuns(tmp_path / "out", **shape)
    stored.run([record(n, text="a") for n in range(1, 8)])
    stored.run(changed=[record(4, text="b")])
    new, old = find_lines(stored.folder, "4")
    assert ((new.raw, new.older), (old.raw, old.older)) == (
        (record(4, text="b"), False), (record(4, text="a"), True),
    )  # fmt: skip
    for each in (new, old):
        path = stored.folder / each.file
        assert each.file_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert each.sha256 == hashlib.sha256(each.raw).hexdigest()
        if path.suffix == ".ndjson":
            assert path.read_bytes().splitlines()[each.line - 1] == each.raw
    assert list(find_lines(stored.folder, "44")) == []


def test_in_a_bag_of_parts_the_file_is_that_of_its_manifest(tmp_path: Path) -> None:
    stored = StoredParts(tmp_path / "out", 2)
    stored.run(range(1, 9))
    seal(stored.folder, tmp_path / "bag")
    [line] = find_lines(tmp_path / "bag", "5")
    assert hashes_of(tmp_path / "bag")[line.file] == line.file_sha256
    assert (line.file.startswith("data/part=01/messages/"), line.line) == (True, 3)


def test_of_a_run_that_was_killed_and_of_ids_that_are_no_numbers(tmp_path: Path) -> None:
    stored = StoredRuns(tmp_path / "out", format="parquet")
    stored.run([record(1, id="m-1"), record(2, id="m-2")], is_killed=True)
    [line] = find_lines(stored.folder, "m-2")
    assert (line.line, line.file_sha256, line.raw) == (2, "", record(2, id="m-2"))
    (stored.folder / "journal.sqlite").unlink()
    with pytest.raises(ChatRestError, match="only it says which file"):
        list(find_lines(stored.folder, "m-2"))


def test_the_command_shows_it(tmp_path: Path) -> None:
    stored = StoredRuns(tmp_path / "out")
    stored.run([record(n) for n in range(1, 8)])

    def call(*args: str) -> Any:
        return CliRunner().invoke(root, ["cat", str(stored.folder), *args])

    shown = json.loads(call("--id", "3").stdout)
    assert (shown["line"], shown["older"], json.loads(shown["record"])["id"]) == (3, False, "3")
    lines = call("--id", "3", "--format", "text").stdout.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [
        "id",
        "file",
        "line",
        "sha256",
        "file_sha256",
        "older",
    ]
    assert (call("--id", "9").exit_code, call("--id", "3", "--search", "x").exit_code) == (1, 2)
