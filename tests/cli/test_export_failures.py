"""`export`'s failures: one line each, and how to go on."""

import errno
import os
from pathlib import Path

import pytest

from chatrest.export.disk import Disk
from chatrest.export.journal import Journal
from tests.commands import PATIENCE, Run, Start, ids_of, told

from .conftest import Served, complaint

pytestmark = pytest.mark.usefixtures("called")


def test_a_source_that_fails_is_a_line_and_the_rest_is_written(
    service: Served, command: Run, out: Path
) -> None:
    result = command("export", str(out), "--group", "nowhere", "--user", "user-01", "--quiet")
    assert result.exit_code == 1
    first, last = result.stderr.splitlines()
    assert first.startswith("chatrest: group nowhere: ")
    assert "404" in first
    assert last == ("chatrest: the export is not whole: 1 of 2 sources failed; run the same command again")
    assert told(result)["export"].endswith("NOT WHOLE")
    assert told(result)["sources"] == "2, 1 of them failed"
    assert ids_of(out) == sorted(service.ask(lambda emulator: emulator.store.ids(participant="user-01")))


def test_many_failures_are_cut_short(command: Run, out: Path) -> None:
    groups = [word for each in range(25) for word in ("--group", f"nowhere-{each}")]
    result = command("export", str(out), *groups, "--quiet")
    lines = result.stderr.splitlines()
    assert result.exit_code == 1
    assert len(lines) == 22
    assert lines[20] == f"chatrest: and 5 more: see {out / 'manifest.json'}"


def test_nobody_reads_the_summary_and_the_status_is_right(process: Start, out: Path) -> None:
    for args, status in ((["--user", "user-01"], 0), (["--group", "nowhere"], 1)):
        started = process("export", str(out / args[1]), *args, "--quiet")
        assert started.stdout is not None
        started.stdout.close()
        assert started.wait(PATIENCE) == status


def test_a_wrong_key_says_how_to_go_on(command: Run, out: Path) -> None:
    line = complaint(command("export", str(out), "--quiet", CHATREST_API_KEY="quite-wrong-key"))
    assert "401" in line
    assert line.endswith(
        f"with a key that is allowed in CHATREST_API_KEY, go on with: /of/a/venv/bin/chatrest export {out}"
    )
    assert command("export", str(out), "--quiet").exit_code == 0


def test_a_full_disk_is_one_line(command: Run, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(Disk, "write", write)
        line = complaint(command("export", str(out), "--quiet"))
    assert f"{out}/user-user-0" in line
    assert ".ndjson: No space left on device; make room, and go on with: " in line
    assert command("export", str(out), "--quiet").exit_code == 0


def test_a_folder_in_use_is_one_line(process: Start, out: Path) -> None:
    out.mkdir()
    kept = Journal(out / "journal.sqlite")
    for more in ([], ["--dry-run"]):
        started = process("export", str(out), "--quiet", *more)
        _, line = started.communicate(timeout=PATIENCE)
        assert started.returncode == 2
        assert b"another export is writing here" in line
        assert len(line.splitlines()) == 1
    kept.close()


def test_a_missing_environment_is_named_and_nothing_is_made(command: Run, out: Path) -> None:
    assert "CHATREST_APP_ID" in complaint(command("export", str(out), CHATREST_APP_ID=None), 2)
    assert not out.exists()


def test_a_folder_that_cannot_be_made(command: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is no folder" in complaint(command("export", str(tmp_path / "file")), 2)
    line = complaint(command("export", str(tmp_path / "file" / "deeper"), "--quiet"), 1)
    assert "go on" not in line
