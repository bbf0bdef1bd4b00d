"""An emulator for tests of the command, and a proxy before it that can fail, hang or give fixed replies.

The command starts its own event loops, so the emulator runs in a thread.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest
from click.testing import CliRunner, Result

from chatrest._cli.root import root
from chatrest._cli.streams import ProgressLine
from chatrest.emulator import Emulator

T = TypeVar("T")

Answer = Callable[[int, str], tuple[int, bytes] | None]

SECRETS = ("test-full-access-key", "emulated-management-key", "emulated-management-secret")


class EmulatorThread:
    def __init__(self, **options: Any) -> None:
        self.emulator = Emulator(api_key=SECRETS[0], **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.emulator.start(), self._loop).result()
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self.emulator.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, question: Callable[[Emulator], T]) -> T:
        async def answer() -> T:
            return question(self.emulator)

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result()

    @property
    def env(self) -> dict[str, str]:
        return {
            "CHATREST_BASE_URL": self.emulator.base_url,
            "CHATREST_APP_ID": self.emulator.app.app_id,
            "CHATREST_API_KEY": SECRETS[0],
            "CHATREST_MANAGEMENT_URL": self.emulator.management_url,
            "CHATREST_MANAGEMENT_KEY": SECRETS[1],
            "CHATREST_MANAGEMENT_SECRET": SECRETS[2],
        }


class ProxyServer(ThreadingHTTPServer):
    """A server that prints nothing where a client has left.

    A thread of it may write its reply when the next test captures the streams of this process already.
    """

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Proxy:
    """An HTTP proxy: `answer(number, path)` gives (status, body) for a request, or None to forward it.

    `number` counts requests from 1. Used as a context manager, which gives the base URL.
    """

    def __init__(self, port: int, answer: Answer) -> None:
        self.requests = 0
        self.headers: list[dict[str, str]] = []
        """Those of each request, names in lower case."""
        self.reply_headers: dict[str, str] = {}
        self.bodies: list[Any] = []
        """The JSON bodies of the requests that had one."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy.requests += 1
                proxy.headers.append({name.lower(): value for name, value in self.headers.items()})
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if body:
                    proxy.bodies.append(json.loads(body))
                status, reply = answer(proxy.requests, self.path) or self.forward(body)
                self.send_response(status)
                for name, value in {**proxy.reply_headers, "Content-Length": str(len(reply))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply)

            do_POST = do_DELETE = do_GET  # noqa: N815

            def forward(self, body: bytes) -> tuple[int, bytes]:
                connection = HTTPConnection("127.0.0.1", port)
                connection.request(self.command, self.path, body or None, dict(self.headers.items()))
                reply = connection.getresponse()
                result = reply.status, reply.read()
                connection.close()
                return result

            def log_message(self, *args: object) -> None:
                pass

        self._server = ProxyServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_address[1]}/v3"

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


MakeProxy = Callable[[Answer], Proxy]


@pytest.fixture(scope="session")
def service() -> Iterator[EmulatorThread]:
    """One emulator for all tests that accept the messages of other tests."""
    with EmulatorThread(users=6, messages=400, seed=7) as served:
        yield served


@pytest.fixture
def fresh() -> Iterator[EmulatorThread]:
    with EmulatorThread(users=0, messages=0, groups=0) as served:
        yield served


@pytest.fixture
def proxy(service: EmulatorThread) -> MakeProxy:
    return lambda answer: Proxy(service.emulator.port, answer)


@pytest.fixture
def stuck(proxy: MakeProxy, request: pytest.FixtureRequest) -> Iterator[tuple[str, threading.Event]]:
    """The URL of a service, and an event that the module's request `STUCK_AT` sets; it has no reply."""
    release, requested = threading.Event(), threading.Event()

    def answer(number: int, _: str) -> None:
        if number == request.module.STUCK_AT:
            requested.set()
            release.wait()

    with proxy(answer) as url:
        yield url, requested
        release.set()
        for thread in threading.enumerate():  # it may still write to the output that it was started with
            if "process_request_thread" in thread.name:
                thread.join(120)


@pytest.fixture(autouse=True)
def no_waits(fast_ramp: None) -> None:
    """Let no command wait for the slots of a ramp."""


@pytest.fixture(autouse=True)
def no_log_of_progress(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a command of this process write no lines of progress: which there are depends on its speed."""
    show = ProgressLine.show

    def show_live(line: ProgressLine, text: str, phase: str = "", **given: bool) -> None:
        if line._is_live:
            show(line, text, phase, **given)

    if request.module.__name__ != "tests.cli.test_streams_progress":
        monkeypatch.setattr(ProgressLine, "show", show_live)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("CHATREST_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def command(service: EmulatorThread) -> Callable[..., Result]:
    """Return a function that runs the command in this process; `env` overrides its environment."""

    def run(*args: str, **env: str | None) -> Result:
        result = CliRunner().invoke(root, args, env={**service.env, **env})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def process(service: EmulatorThread) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Return a function that starts the command as a process with pipes; the test's end kills it."""
    all_started: list[subprocess.Popen[bytes]] = []

    def start(*args: str, **env: str) -> subprocess.Popen[bytes]:
        started = subprocess.Popen(
            [sys.executable, "-m", "chatrest", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **service.env, **env},
        )
        all_started.append(started)
        return started

    yield start
    for started in all_started:
        started.kill()
        with started:  # closes its pipes and waits for its end
            pass


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/of/a/venv/bin/chatrest"])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return [json.loads(line) for line in result.stdout_bytes.decode().splitlines()]


def error_line(result: Result, status: int = 1) -> str:
    assert result.exit_code == status, result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    [line] = lines
    assert line.startswith("chatrest: ")
    assert "Traceback" not in result.output
    for secret in SECRETS:
        assert secret not in result.output
    return line.removeprefix("chatrest: ")
