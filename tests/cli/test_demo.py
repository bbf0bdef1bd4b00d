"""`chatrest demo` from start to end."""

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from chatrest._cli import demo as demo_module
from chatrest._cli.root import root
from tests.commands import ids_of

pytestmark = pytest.mark.usefixtures("called")

SMALL = ("demo", "--users", "5", "--messages", "300")


def demo(*args: str) -> Result:
    result = CliRunner().invoke(root, [*SMALL, *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_demo_prints_its_results_and_what_to_try_next(tmp_path: Path) -> None:
    out = tmp_path / "chat-export"
    result = demo("--out", str(out))
    assert (result.exit_code, result.stderr) == (0, "")
    for text in ("300 messages among 5 users", "a conversation", "MB", "requests in", "in the same process"):
        assert text in result.stdout
    assert "300 messages, as many as the service has" in result.stdout
    commands = re.findall(r"^  .*/bin/chatrest (\S+)", result.stdout, re.MULTILINE)
    assert commands == ["verify", "emulator", "load", "messages", "html", "view"]
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
    monkeypatch.setattr(demo_module, "_run", None)
    (tmp_path / "mine.txt").write_text("")
    for out in (tmp_path, tmp_path / "mine.txt"):
        result = demo("--out", str(out))
        assert result.exit_code == 2
        assert result.stderr == f"chatrest: {out} is not an empty folder: choose another one with --out\n"


def test_an_incomplete_export_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_everything = demo_module._export_everything

    async def export_and_delete_a_file(session: Any, out: Path, *args: Any) -> None:
        await export_everything(session, out, *args)
        next(out.glob("messages/*/*")).unlink()  # noqa: ASYNC240

    monkeypatch.setattr(demo_module, "_export_everything", export_and_delete_a_file)
    result = demo("--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "the export is not complete: " in result.stderr
    assert len(result.stderr.splitlines()) == 1
