"""A counter on standard error while a list is printed elsewhere; silent without a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from . import streams

Count: TypeAlias = Callable[[int], None]


@contextmanager
def counter(noun: str) -> Iterator[Count]:
    """Show how many `noun` are printed so far; yields a function that takes how many more there are."""
    # If the output is on the same terminal, it shows the progress itself.
    if not streams.is_terminal("stderr") or streams.is_terminal("stdout"):
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"0 {noun}") as status:
        total = 0

        def count(more: int) -> None:
            nonlocal total
            total += more
            status.update(f"{total:,} {noun}")

        yield count
