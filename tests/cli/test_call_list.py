"""`call --list`: all operations with their help, and a search in them."""

from collections.abc import Callable

import pytest
from click.testing import Result

from chatrest.cli.call import FIRST, ordered
from chatrest.resources import COLLECTIONS, OPERATIONS

from .conftest import error_line, rows

Run = Callable[..., Result]


def entries(result: Result) -> list[tuple[str, str, str, str]]:
    """Return name, method, path and help of the printed operations."""
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    heads = [line.split() for line in lines[::2]]
    assert all(line.startswith("    ") for line in lines[1::2])
    return [
        (name, method, path, text.strip())
        for (name, method, path), text in zip(heads, lines[1::2], strict=True)
    ]


def test_the_list_has_every_operation_with_its_help_and_the_most_used_first(command: Run) -> None:
    listed = entries(command("call", "--list"))
    assert sorted(each[:3] for each in listed) == sorted(
        (name, each.method, each.path) for name, each in OPERATIONS.items()
    )
    collections = list(dict.fromkeys(name.partition(".")[0] for name, *_ in listed))
    assert collections == [*FIRST, *(name for name in COLLECTIONS if name not in FIRST)]
    assert [name for name, *_ in listed] == [each.name for each in ordered(OPERATIONS.values())]
    assert all(text.endswith(".") and len(text) > 5 for *_, text in listed)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["users.create"], ["users.create"]),  # a name
        (["BANNEDUSERS/{uid}"], ["banned_users.ban", "banned_users.unban"]),  # a path, in any case
        (["who is no member from then on"], ["banned_users.ban"]),  # a first sentence
        (["bannedusers", "end", "ban"], ["banned_users.unban"]),  # all of several
    ],
)
def test_a_search(command: Run, words: list[str], names: list[str]) -> None:
    assert [name for name, *_ in entries(command("call", "--list", *words))] == names


def test_the_list_as_json(command: Run) -> None:
    [operation] = rows(command("call", "--list", "banned_users.ban", "--json"))
    assert operation == {
        "name": "banned_users.ban",
        "method": "POST",
        "path": "/groups/{guid}/bannedusers/{uid}",
        "help": "Ban a user, who is no member from then on.",
        "required": ["guid=TEXT", "uid=TEXT"],
        "optional": ["body=JSON", "on_behalf_of=TEXT"],
    }
    assert len(rows(command("call", "--list", "--json"))) == len(OPERATIONS)


def test_a_search_that_finds_nothing_is_wrong_usage(command: Run) -> None:
    result = command("call", "--list", "no-such", "words", "--json")
    assert error_line(result, 2) == "no operation has 'no-such' and 'words' in its name, path or help"
    assert result.stdout == ""


def test_the_search_has_a_help_text(command: Run) -> None:
    assert "WORDS" in command("call", "--list", "--help").stdout
