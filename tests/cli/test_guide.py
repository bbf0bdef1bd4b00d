"""The command `guide`: pages, and their list."""

import pytest

from chatrest._cli.guide import FOLDER, contents, page_text
from tests.cases import loop_over
from tests.commands import Run

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
    assert "expected backends, blocking" in line


def test_a_terminal_gets_the_page_with_a_pager(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("chatrest._cli.streams.is_terminal", lambda name: True)
    monkeypatch.setattr("click.echo_via_pager", shown.append)
    assert command("guide", "examples").stdout == ""
    assert "Programs to start from" in shown[0]
    assert "|---" not in shown[0]
