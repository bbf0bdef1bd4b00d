"""Options that are whole numbers, said the same way in every command."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def number(
    name: str, default: int, *, what: str, least: int = 0, most: int | None = None
) -> Callable[[F], F]:
    """An option for a whole number from `least` to `most`."""
    return click.option(
        name, type=click.IntRange(least, most), default=default, show_default=True, metavar="N", help=what
    )
