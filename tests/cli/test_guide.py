"""The command `guide`: pages, their list, and the search."""

import pytest

from chatrest._cli.guide import FOLDER, contents, page_text, search
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


def test_the_search_finds_sections_that_have_all_words(command: Run) -> None:
    matches = search(["UNKNOWN", "muid"])
    assert matches == search(["muid", "unknown"])
    assert "muid" in "\n".join(matches[0].lines)
    result = command("guide", "--search", "outcome unknown")
    assert "sending: Sends whose outcome is unknown\n" in result.stdout
    first = result.stdout.splitlines()[0]
    assert "outcome" in first.lower() or "unknown" in first.lower()


def test_a_question_is_searched_without_its_small_words_and_the_best_hits_come_first(command: Run) -> None:
    result = command("guide", "--search", "How do I find out if the outcome of a send is unknown?")
    assert "sending: Sends whose outcome is unknown" in result.stdout.splitlines()[:9]
    partial = command("guide", "--search", "xyzzy webhooks")
    assert partial.exit_code == 0
    assert partial.stdout.startswith("webhooks: ")
    assert search(["the", "export"]) == search(["export"])


def test_the_search_in_one_page_shows_no_other(command: Run) -> None:
    result = command("guide", "errors", "--search", "deadline")
    heads = [line for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert heads
    assert all(head.startswith("errors: ") for head in heads)


def test_a_search_without_words_or_matches_is_an_error(command: Run) -> None:
    assert "expected one word or more" in error_line(command("guide", "--search", " "), 2)
    assert "no section of the guide has half of these words: xyzzy" in error_line(
        command("guide", "--search", "xyzzy")
    )
