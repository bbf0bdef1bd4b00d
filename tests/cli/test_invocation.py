"""The text to type to run the command again."""

import os
import sys
from pathlib import Path

import pytest

from chatrest.cli.process import invocation


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of an executable file, which is also `sys.argv[0]`."""
    path = tmp_path / "a venv" / "chatrest"
    path.parent.mkdir()
    path.write_text("")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def test_the_name_if_it_is_on_the_path(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    assert invocation() == "chatrest"


def test_the_path_if_the_name_is_unknown_or_another_file(script: Path, tmp_path: Path) -> None:
    assert invocation() == f"'{script}'"
    other = tmp_path / "chatrest"
    other.write_text("")
    other.chmod(0o755)
    assert invocation() == f"'{script}'"


def test_the_call_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/chatrest/__main__.py"])
    monkeypatch.setattr(sys, "executable", "/x/bin/python")
    assert invocation() == "/x/bin/python -m chatrest"
