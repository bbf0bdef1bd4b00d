"""The command `guide`: pages, and their list."""

import re
from pathlib import Path

import pytest

import chatrest
from chatrest._cli.guide import FOLDER, contents, page_text
from chatrest._resources import OPERATIONS
from tests.cases import loop_over
from tests.commands import Run
from tests.reference import reference

from .conftest import error_line


def test_the_list_has_every_page_once() -> None:
    files = {path.stem for path in FOLDER.glob("*.md")} - {"README"}
    files |= {path.parent.name for path in FOLDER.glob("*/README.md")}
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
    assert text == reference(), "run: python -m tests.reference > chatrest/guide/operations.md"


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
