"""`emulator`: a process that serves until a signal or the end of its input stops it; `demo`; `guide`."""

import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

import chatrest
from chatrest._cli import trial
from chatrest._cli.root import root
from chatrest._cli.trial import contents, page_text
from chatrest._resources import OPERATIONS
from tests.support.cases import loop_over
from tests.support.commands import Run, Start, finish, ids_of
from tests.support.reference import reference

from .conftest import EmulatorThread, error_line, rows


def read_environment(started: subprocess.Popen[bytes]) -> dict[str, str]:
    """Return the variables that the emulator prints; it must print nothing else on standard output."""
    assert started.stdout is not None
    words = [shlex.split(line) for line in started.stdout.read().decode().splitlines()]
    assert all(word == "export" and name.startswith("CHATREST_") for word, name in words)
    return {name: value for name, _, value in (word.partition("=") for _, word in words)}


def test_the_emulator_prints_variables_and_runs_until_a_signal(process: Start, command: Run) -> None:
    args = ("emulator", "--users", "3", "--messages", "20", "--host", "127.0.0.4")
    started = process(*args, CHATREST_APP="shop")
    env = read_environment(started)
    assert env["CHATREST_APP"] == ""  # an app that the shell has chosen gives way to the emulator
    assert len(rows(command("users", **{"CHATREST_APP": "shop"} | env))) == 3
    assert len(rows(command("apps", **env))) == 1
    assert env["CHATREST_EMULATOR_PID"] == str(started.pid)
    assert urlsplit(env["CHATREST_BASE_URL"]).hostname == "127.0.0.4"
    started.send_signal(signal.SIGINT)
    status, _, error = finish(started)
    assert status == 0
    assert error.startswith(f"chatrest: emulator at {env['CHATREST_BASE_URL']} with 3 users and 20 messages")
    assert len(error.splitlines()) == 1


def test_a_used_port_is_one_error_line(command: Run, service: EmulatorThread) -> None:
    result = command("emulator", "--messages", "1", "--port", str(service.emulator.port))
    assert error_line(result, 1)
    assert result.stdout == ""


pytestmark = pytest.mark.usefixtures("called")

SMALL = ("demo", "--users", "5", "--messages", "300")


def demo(*args: str) -> Result:
    result = CliRunner().invoke(root, [*SMALL, *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_demo_prints_results_and_next_steps(tmp_path: Path) -> None:
    out = tmp_path / "chat-export"
    result = demo("--out", str(out))
    assert (result.exit_code, result.stderr) == (0, "")
    for text in ("300 messages among 5 users", "a conversation", "MB", "requests in", "in the same process"):
        assert text in result.stdout
    assert "300 messages, as many as the service has" in result.stdout
    commands = re.findall(r"^  .*/bin/chatrest (\S+)", result.stdout, re.MULTILINE)
    assert commands == ["verify", "load", "html", "view", "guide"]
    assert f"load {out} {out}.sqlite" in result.stdout  # a database of each export
    assert "\x1b" not in result.stdout
    assert ids_of(out) == list(range(1, 301))


def test_each_demo_has_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert demo().exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chat-export", "chat-export-2"]


def test_a_folder_with_files_is_an_error_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_run", None)
    (tmp_path / "mine.txt").write_text("")
    for out in (tmp_path, tmp_path / "mine.txt"):
        result = demo("--out", str(out))
        assert result.exit_code == 2
        assert result.stderr == f"chatrest: --out {str(out)!r}: expected a new or empty folder\n"


def test_an_incomplete_export_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_everything = trial._export_everything

    async def export_and_delete_a_file(session: Any, out: Path, *args: Any) -> None:
        await export_everything(session, out, *args)
        next(out.glob("messages/*/*")).unlink()  # noqa: ASYNC240

    monkeypatch.setattr(trial, "_export_everything", export_and_delete_a_file)
    result = demo("--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "the export is not complete: " in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_list_has_every_page_once() -> None:
    files = {path.stem for path in trial.GUIDE.glob("*.md")} - {"README"}
    files |= {path.parent.name for path in trial.GUIDE.glob("*/README.md")}
    assert set(contents()) == files
    assert len(contents()) == len(files)


def test_without_a_page_the_command_lists_all(command: Run) -> None:
    result = command("guide")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(contents())


@loop_over("page", contents())
def test_a_page_is_printed_as_it_is(page: str, command: Run) -> None:
    result = command("guide", page)
    assert result.exit_code == 0
    assert result.stdout_bytes.decode() == page_text(page)


def test_an_unknown_page_is_wrong_usage_and_names_the_nearest(command: Run) -> None:
    line = error_line(command("guide", "webhook"), 2)
    assert "did you mean 'webhooks'?" in line
    assert "expected 'backends', 'blocking'" in line


def test_a_terminal_gets_the_page_with_a_pager(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("chatrest._cli.streams.is_terminal", lambda name: True)
    monkeypatch.setattr("click.echo_via_pager", shown.append)
    assert command("guide", "examples").stdout == ""
    assert "Programs to start from" in shown[0]
    assert "|---" not in shown[0]


FILE = Path(chatrest.__file__).parent / "guide" / "operations.md"


def test_the_guide_file_matches_the_page_table() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == reference(), "run: python -m tests.support.reference > chatrest/guide/operations.md"


def test_the_first_page_leads_to_operations() -> None:
    page = FILE.read_text(encoding="utf-8").partition("## I want to")[2].partition("\n## ")[0]
    names = re.findall(r"\[([a-z_.]+)\]\(#([a-z_]+)\)", page)
    assert len(names) > 40
    assert {name for name, _ in names} <= set(OPERATIONS)
    assert all(anchor == name.replace(".", "") for name, anchor in names)


def test_the_filters_of_the_first_page_exist() -> None:
    page = FILE.read_text(encoding="utf-8").partition("## I want to")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+)\((\w+)=([^)]+)\)`", page)
    assert len(named) > 3
    for kind, field, value in named:
        text = "text" if value == "…" else value.strip('"')
        assert getattr(getattr(chatrest, kind)(**{field: text}), field) == text
