"""Options that are whole numbers, in one form for all commands."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def number_option(
    name: str, default: int, *, help_text: str, least: int = 0, most: int | None = None
) -> Callable[[F], F]:
    """Return a decorator that adds an option for a whole number from `least` to `most`."""
    return click.option(
        name,
        type=click.IntRange(least, most),
        default=default,
        show_default=True,
        metavar="N",
        help=help_text,
    )
