"""`export` as a process that is interrupted, and what a terminal shows until then."""

import os
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from chatrest.cli.export import _resume_hint
from chatrest.export import Phase, Progress
from tests.commands import PATIENCE, MakeProxy, Start, all_ids, ids_of

from .conftest import EmulatorThread


@pytest.fixture
def stuck(proxy: MakeProxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Event]]:
    """The URL of a service whose ninth reply never comes, and an event that its request sets."""
    # Its late reply finds a closed connection; the error text would appear in the next test.
    monkeypatch.setattr(socketserver.BaseServer, "handle_error", lambda *_: None)
    end, requested = Event(), Event()

    def answer(number: int, _: str) -> None:
        if number == 9:
            requested.set()
            end.wait()

    with proxy(answer) as url:
        yield url, requested
        end.set()
        for thread in threading.enumerate():
            if "process_request_thread" in thread.name:
                thread.join(PATIENCE)


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by a signal")],
)
def test_an_interrupted_export_can_be_continued(
    process: Start,
    service: EmulatorThread,
    stuck: tuple[str, Event],
    out: Path,
    number: signal.Signals,
    status: int,
    word: str,
) -> None:
    url, requested = stuck
    started = process("export", str(out), "--workers", "1", "--all-users", "--quiet", CHATREST_BASE_URL=url)
    assert requested.wait(PATIENCE)
    started.send_signal(number)
    _, line = started.communicate(timeout=PATIENCE)
    assert started.returncode == status
    assert line.decode() == (f"chatrest: {word}; continue with: {sys.executable} -m chatrest export {out}\n")
    exported = ids_of(out)
    assert 0 < len(exported) < len(all_ids(service))
    rest = process("export", str(out), "--quiet")
    assert rest.communicate(timeout=PATIENCE)[1] == b""
    assert rest.returncode == 0
    assert ids_of(out) == all_ids(service)


@pytest.mark.parametrize("phase", Phase)
def test_an_interrupt_in_any_phase_says_how_to_continue(phase: Phase) -> None:
    progress = Progress()
    progress.enter(phase)
    with pytest.raises(KeyboardInterrupt) as caught, _resume_hint(["a b", "--dask=local:4"], progress):
        raise KeyboardInterrupt
    [advice] = caught.value.__notes__
    if phase in (Phase.BEGINNING, Phase.WAITING_FOR_LEASE, Phase.COPYING_FROM_STORE):
        assert advice == "run the same command again"
    else:
        assert advice.startswith("continue with: ")
        assert advice.endswith(" export 'a b' --dask=local:4")


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
    assert b"user user-0" in shown
    assert shown.rstrip().endswith(f"export {out}".encode())
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") == 1  # the cursor is visible again
