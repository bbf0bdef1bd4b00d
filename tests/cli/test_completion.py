"""Completion in shells: the text that starts it, and what is offered."""

import pytest
from click.testing import CliRunner

from chatrest.cli.root import root
from chatrest.resources import OPERATIONS


def offered(*words: str) -> list[str]:
    """Return the completions of the last of `words`, as bash asks for them."""
    env = {
        "COMP_WORDS": " ".join(("chatrest", *words)), "COMP_CWORD": str(len(words)),
        "_CHATREST_COMPLETE": "bash_complete",
    }  # fmt: skip
    result = CliRunner().invoke(root, env=env, prog_name="chatrest")
    return [line.removeprefix("plain,") for line in result.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_text_for_a_shell_names_the_command(shell: str) -> None:
    result = CliRunner().invoke(root, ["completion", shell])
    assert result.exit_code == 0
    assert f"_CHATREST_COMPLETE={shell}_complete" in result.stdout


def test_bash_sets_no_space_between_a_key_and_its_value() -> None:
    lines = CliRunner().invoke(root, ["completion", "bash"]).stdout.splitlines()
    added = [index for index, line in enumerate(lines) if "COMPREPLY+=" in line]
    assert [lines[index + 1].strip() for index in added] == ["[[ $value == *= ]] && compopt -o nospace"]


def test_another_shell_is_a_usage_error() -> None:
    assert CliRunner().invoke(root, ["completion", "tcsh"]).exit_code == 2


def test_commands_are_completed() -> None:
    assert offered("us") == ["users"]


@pytest.mark.parametrize("prefix", ["", "groups.", "messages.list_"])
def test_operations_are_completed(prefix: str) -> None:
    assert offered("call", prefix) == [name for name in OPERATIONS if name.startswith(prefix)]


def test_parameters_are_completed_that_are_not_there_yet() -> None:
    names = offered("call", "members.change_scope", "guid=a", "")
    assert {"uid=", "scope=", "body=", "on_behalf_of="} <= set(names)
    assert "guid=" not in names


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["users.list", "status="], ["status=available", "status=offline"]),
        (["users.list", "status=o"], ["status=offline"]),
        (["users.list", "status", "="], ["available", "offline"]),
        (["users.list", "status", "=", "o"], ["offline"]),
        (["users.list", "with_tags=t"], ["with_tags=true"]),
        (["members.list", "scopes=m"], ["scopes=moderator"]),
        (["users.list", "search_key="], []),
        (["users.list", "nothing="], []),
    ],
)
def test_values_are_completed_where_they_are_few(words: list[str], values: list[str]) -> None:
    assert offered("call", *words) == values
