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

from tests.commands import PATIENCE, Fronted, Start, all_ids, ids_of

from .conftest import Served


@pytest.fixture
def stuck(front: Fronted, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Event]]:
    """A service whose ninth reply never comes."""
    # It finds nobody there when it is let go, and would complain into whichever test comes next.
    monkeypatch.setattr(socketserver.BaseServer, "handle_error", lambda *_: None)
    release, heard = Event(), Event()

    def answer(number: int, _: str) -> None:
        if number == 9:
            heard.set()
            release.wait()

    with front(answer) as url:
        yield url, heard
        release.set()
        for thread in threading.enumerate():
            if "process_request_thread" in thread.name:
                thread.join(PATIENCE)


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by a signal")],
)
def test_an_interrupted_export_goes_on(
    process: Start,
    service: Served,
    stuck: tuple[str, Event],
    out: Path,
    number: signal.Signals,
    status: int,
    word: str,
) -> None:
    url, heard = stuck
    started = process("export", str(out), "--workers", "1", "--all-users", "--quiet", CHATREST_BASE_URL=url)
    assert heard.wait(PATIENCE)
    started.send_signal(number)
    _, line = started.communicate(timeout=PATIENCE)
    assert started.returncode == status
    assert line.decode() == (f"chatrest: {word}; go on with: {sys.executable} -m chatrest export {out}\n")
    kept = ids_of(out)
    assert 0 < len(kept) < len(all_ids(service))
    rest = process("export", str(out), "--quiet")
    assert rest.communicate(timeout=PATIENCE)[1] == b""
    assert rest.returncode == 0
    assert ids_of(out) == all_ids(service)


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own")
def test_a_terminal_shows_lines_that_are_gone_at_the_end(
    service: Served, stuck: tuple[str, Event], out: Path
) -> None:
    url, heard = stuck
    terminal, end = os.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "chatrest", "export", str(out), "--workers", "1"],
        env={**os.environ, **service.env, "TERM": "xterm", "CHATREST_BASE_URL": url, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=end,
    )
    assert heard.wait(PATIENCE)
    shown = b""
    while b"of 6 sources" not in shown:
        shown += os.read(terminal, 1 << 16)
    started.send_signal(signal.SIGINT)
    written, _ = started.communicate(timeout=PATIENCE)
    shown += os.read(terminal, 1 << 16)
    os.close(end)
    os.close(terminal)
    assert started.returncode == 130
    assert written == b""
    assert b"walking" in shown
    assert b"user user-0" in shown
    assert shown.rstrip().endswith(f"export {out}".encode())
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") == 1  # the cursor is there again
