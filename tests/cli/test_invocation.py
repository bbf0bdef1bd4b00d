"""What to type to call the command again."""

import os
import sys
from pathlib import Path

import pytest

import chatrest
from chatrest.cli.invocation import typed, version


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command's own file, called by its path."""
    path = tmp_path / "a venv" / "chatrest"
    path.parent.mkdir()
    path.write_text("")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def test_its_name_where_that_leads_to_it(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    assert typed() == "chatrest"


def test_its_path_where_the_name_leads_nowhere_or_elsewhere(script: Path, tmp_path: Path) -> None:
    assert typed() == f"'{script}'"
    other = tmp_path / "chatrest"
    other.write_text("")
    other.chmod(0o755)
    assert typed() == f"'{script}'"


def test_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/chatrest/__main__.py"])
    monkeypatch.setattr(sys, "executable", "/x/bin/python")
    assert typed() == "/x/bin/python -m chatrest"


def test_the_version_is_the_packages() -> None:
    assert version() == chatrest.__version__
