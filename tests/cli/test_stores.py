"""Commands with the address of an object store in the place of a folder."""

import json
import sys
from pathlib import Path

import pytest

from tests.commands import Run, all_ids, summary_of

from .conftest import EmulatorThread, error_line

pytestmark = pytest.mark.usefixtures("called")


def test_an_export_in_a_store_is_made_read_checked_and_merged(
    service: EmulatorThread, command: Run, tmp_path: Path
) -> None:
    address, state = f"file://{tmp_path}/store", {"XDG_STATE_HOME": str(tmp_path / "state")}
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
    assert command("compact", address, **state).stdout == "no small files to merge\n"
    estimate = json.loads(command("export", address, "--dry-run", "--json").stdout)
    assert (estimate["export"], estimate["written"]) == (address, 0)


def test_without_the_extra_one_sentence_says_what_to_install(
    command: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    for args in (["export", "--journal", str(tmp_path / "a")], ["verify"], ["cat"], ["compact"]):
        line = error_line(command(args[0], "s3://bucket/chat", *args[1:], XDG_STATE_HOME=str(tmp_path)), 2)
        assert line == "an object store needs the extra 'cloud': pip install 'chatrest-client[cloud]'"
    assert list(tmp_path.iterdir()) == []
