"""Progress on standard error, and only where that is a terminal; elsewhere its silent twin."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from . import streams

Count: TypeAlias = Callable[[int], None]


@contextmanager
def counting(what: str) -> Iterator[Count]:
    """Shows how many `what` there are so far, while they go to a file or a pipe."""
    # Where the output is on the same terminal, it is itself the progress.
    if not streams.is_terminal("stderr") or streams.is_terminal("stdout"):
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"0 {what}") as status:
        total = 0

        def count(more: int) -> None:
            nonlocal total
            total += more
            status.update(f"{total:,} {what}")

        yield count
