"""Failures and interruptions of `export`: one line each, how to go on, what a terminal shows until then."""

import errno
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from chatrest import ExportIncompleteError
from chatrest._cli.export.export_command import _resume_hint
from chatrest.export import Phase, Progress
from chatrest.export.folder.folder_access import FolderLock
from chatrest.export.store.disk import Disk
from tests.support.cases import loop_over
from tests.support.commands import PATIENCE, Run, Start, all_ids, ids_of, summary_of

from ..conftest import EmulatorThread, error_line

pytestmark = pytest.mark.usefixtures("called")
STUCK_AT = 9


def test_a_failed_source_is_one_error_line_and_the_others_are_exported(
    service: EmulatorThread, command: Run, out: Path
) -> None:
    result = command("export", str(out), "--group", "nowhere", "--user", "user-001")
    assert result.exit_code == 1
    first, last = result.stderr.splitlines()
    assert first.startswith("chatrest: group nowhere: ")
    assert "404" in first
    assert last == (
        "chatrest: the export is not complete: 1 of 2 sources failed; "
        "another run would end the same way: name other sources with --change-plan"
    )
    assert summary_of(result)["export"].endswith("NOT COMPLETE")
    assert summary_of(result)["sources"] == "2, 1 of them failed"
    assert ids_of(out) == sorted(service.ask(lambda emulator: emulator.store.ids(participant="user-001")))


@pytest.mark.parametrize("failed", [0, 1])
def test_another_plan_is_advised_only_where_it_leaves_out_a_failed_source(failed: int) -> None:
    progress, error = Progress(), ExportIncompleteError("the ids of the app begin again")
    progress.failed, error.can_continue = failed, False
    with pytest.raises(ExportIncompleteError), _resume_hint("out", {}, progress):
        raise error
    assert any("--change-plan" in note for note in getattr(error, "__notes__", [])) == bool(failed)


def test_only_the_first_20_failures_are_printed(command: Run, out: Path) -> None:
    groups = [word for each in range(25) for word in ("--group", f"nowhere-{each}")]
    result = command("export", str(out), *groups, "--quiet")
    lines = result.stderr.splitlines()
    assert result.exit_code == 1
    assert len(lines) == 22
    assert lines[20] == f"chatrest: and 5 more failed sources: see {out / 'manifest.json'}"


def test_a_closed_standard_output_does_not_change_the_exit_status(process: Start, out: Path) -> None:
    started = process("export", str(out), "--group", "nowhere", "--quiet")
    assert started.stdout is not None
    started.stdout.close()
    assert started.wait(PATIENCE) == 1


def test_the_error_for_a_wrong_key_says_how_to_continue(command: Run, out: Path) -> None:
    line = error_line(command("export", str(out), "--quiet", CHATREST_API_KEY="quite-wrong-key"))
    assert "401" in line
    assert line.endswith(
        "; check CHATREST_APP_ID, CHATREST_API_KEY and CHATREST_REGION; "
        f"continue with: /of/a/venv/bin/chatrest export {out}"
    )
    shown = command("status", str(out)).stdout
    assert "NOT BEGUN: no run has written anything yet" in shown
    assert "AUTH_ERR_APIKEY_NOT_FOUND" in shown
    assert command("export", str(out), "--quiet").exit_code == 0


def test_the_error_of_a_run_that_fails_says_how_many_messages_it_has_stored() -> None:
    progress, error = Progress(), OSError("the disk fails")
    progress.written = 1_234
    with pytest.raises(OSError, match="the disk fails"), _resume_hint("out", {}, progress):
        raise error
    assert error.__notes__[0] == "this run has stored 1,234 new messages"


def test_a_full_disk_is_one_line(command: Run, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full_disk:
        full_disk.setattr(Disk, "write", write)
        line = error_line(command("export", str(out), "--quiet"))
    assert f"{out}/" in line
    assert ": No space left on device; free some space and continue with: " in line
    assert command("export", str(out), "--quiet").exit_code == 0


def test_a_folder_in_use_is_one_line(command: Run, out: Path) -> None:
    out.mkdir()
    with ExitStack() as locked:
        locked.callback(FolderLock(out).release)
        for options in ([], ["--dry-run"]):
            line = error_line(command("export", str(out), "--quiet", *options), 2)
            assert "another export is writing here" in line


def test_a_folder_that_cannot_be_created(command: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a folder" in error_line(command("export", str(tmp_path / "file")), 2)
    line = error_line(command("export", str(tmp_path / "file" / "deeper"), "--quiet"), 1)
    assert "continue" not in line


def test_an_interrupted_export_can_be_continued(
    process: Start, command: Run, service: EmulatorThread, stuck: tuple[str, Event], out: Path
) -> None:
    url, requested = stuck
    started = process("export", str(out), "--workers", "1", "--all-users", "--quiet", CHATREST_BASE_URL=url)
    assert requested.wait(PATIENCE)
    started.send_signal(signal.SIGTERM)
    _, line = started.communicate(timeout=PATIENCE)
    assert started.returncode == 143
    again = f"{sys.executable} -m chatrest export {out}"
    assert line.decode() == f"chatrest: ended by a signal; continue with: {again}\n"
    exported = ids_of(out)
    assert 0 < len(exported) < len(all_ids(service))
    rest = command("export", str(out), "--quiet")
    assert (rest.exit_code, rest.stderr) == (0, "")
    assert ids_of(out) == all_ids(service)


@loop_over("phase", Phase)
def test_an_interrupt_in_any_phase_says_how_to_continue(phase: Phase) -> None:
    progress, options = Progress(), {"--journal": None, "--dask": "local:4"}
    progress.enter(phase)
    with pytest.raises(KeyboardInterrupt) as caught, _resume_hint("a b", options, progress):
        raise KeyboardInterrupt
    [advice] = caught.value.__notes__
    has_no_plan = (
        Phase.BEGINNING,
        Phase.WAITING_FOR_LEASE,
        Phase.WAITING_FOR_PROCESS,
        Phase.COPYING_FROM_STORE,
    )
    if phase in has_no_plan:
        assert advice == "run the same command again"
    else:
        assert advice.startswith("continue with: ")
        assert advice.endswith(" export 'a b' --dask local:4")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudoterminal")
def test_the_lines_on_a_terminal_are_removed_at_the_end(
    service: EmulatorThread, stuck: tuple[str, Event], out: Path
) -> None:
    url, requested = stuck
    terminal, child_end = os.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "chatrest", "export", str(out), "--workers", "1"],
        env={**os.environ, **service.env, "TERM": "xterm", "CHATREST_BASE_URL": url, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=child_end,
    )
    assert requested.wait(PATIENCE)
    shown = b""
    while b"of 6 sources" not in shown or b"walking" not in shown:
        shown += os.read(terminal, 1 << 16)
    started.send_signal(signal.SIGINT)
    written, _ = started.communicate(timeout=PATIENCE)
    shown += os.read(terminal, 1 << 16)
    os.close(child_end)
    os.close(terminal)
    assert started.returncode == 130
    assert written == b""
    assert shown.rstrip().endswith(f"export {out}".encode())
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") == 1  # the cursor is visible again
