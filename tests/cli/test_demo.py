"""`chatrest demo` from start to end."""

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import chatrest
from chatrest.cli import demo as demo_module, demo_stages
from chatrest.cli.root import root
from chatrest.emulator import Emulator
from tests.commands import ids_of

pytestmark = pytest.mark.usefixtures("called")

SMALL = ("demo", "--users", "5", "--messages", "300")


def demo(out: Path, *args: str) -> Result:
    result = CliRunner().invoke(root, [*SMALL, "--out", str(out), *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the emulator of the demo run in this process."""

    @asynccontextmanager
    async def run(**sizes: int) -> AsyncIterator[chatrest.App]:
        async with Emulator(**sizes) as emulator:
            yield emulator.app

    monkeypatch.setattr(demo_module, "run_emulator", run)


@pytest.mark.usefixtures("in_process")
def test_the_demo_prints_its_results_and_a_second_run_replaces_the_files(tmp_path: Path) -> None:
    out = tmp_path / "chat-export"
    first = demo(out)
    assert (first.exit_code, first.stderr) == (0, "")
    for text in ("300 messages among 5 users", "a conversation", "MB", "requests in", "messages/s"):
        assert text in first.stdout
    assert "300 messages, as many as the service has" in first.stdout
    commands = re.findall(r"^  .*/bin/chatrest (\S+)", first.stdout, re.MULTILINE)
    assert commands == ["verify", "emulator", "export", "messages"]
    assert "\x1b" not in first.stdout
    assert ids_of(out) == list(range(1, 301))
    assert (out / "messages/source=user-user-04").exists()
    again = demo(out, "--seed", "1", "--users", "3")
    assert again.exit_code == 0
    assert ids_of(out) == list(range(1, 301))
    assert not (out / "messages/source=user-user-04").exists()


def test_a_folder_with_other_files_is_an_error_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_module, "run_emulator", None)
    (tmp_path / "mine.txt").write_text("")
    result = demo(tmp_path)
    assert result.exit_code == 2
    assert "is not changed" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_emulator_that_does_not_start_is_one_error_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    result = demo(tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr == "chatrest: the emulator did not start: it printed no error\n"


async def test_the_emulator_stops_at_the_end() -> None:
    async with (
        demo_module.run_emulator(users=2, messages=3, seed=0) as app,
        chatrest.AsyncSession(app) as session,
    ):
        assert len(await session.messages.list().collect()) == 3
    async with chatrest.AsyncSession(app, retry=chatrest.RetryPolicy(attempts=1)) as session:
        with pytest.raises(chatrest.ConnectError):
            await session.users.list().collect()


@pytest.mark.usefixtures("in_process")
def test_an_incomplete_export_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_everything = demo_stages.Demo.export_everything

    async def export_and_delete_a_file(demo: demo_stages.Demo, *args: Any) -> None:
        await export_everything(demo, *args)
        [path] = demo.folder.glob("messages/source=user-user-01/*")
        path.unlink()

    monkeypatch.setattr(demo_stages.Demo, "export_everything", export_and_delete_a_file)
    result = demo(tmp_path / "out")
    assert result.exit_code == 1
    assert "the export is not complete: " in result.stderr
    assert len(result.stderr.splitlines()) == 1
