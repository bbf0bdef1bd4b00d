"""`completion`: the text that makes a shell complete commands, operations, and their parameters."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from .invocation import NAME

_SHELLS: Final = ("bash", "zsh", "fish")
_ADD: Final = "COMPREPLY+=($value)"
_NO_SPACE: Final = "[[ $value == *= ]] && compopt -o nospace"
"""Bash would set a space between `KEY=` and its value."""


@click.command(short_help="Print the completion of a shell.")
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the text that makes SHELL complete commands, options, operations and their parameters.

    SHELL is bash (4.4 or later), zsh or fish.

    \b
    Examples:
      eval "$(chatrest completion bash)"                     in ~/.bashrc
      eval "$(chatrest completion zsh)"                      in ~/.zshrc
      chatrest completion fish > ~/.config/fish/completions/chatrest.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = ctx.find_root().command
    source = kind(root, {}, NAME, f"_{NAME.upper()}_COMPLETE").source()
    click.echo(source.replace(_ADD, f"{_ADD}\n            {_NO_SPACE}"))
