"""Lists that come in one reply, with a limit that the caller may name."""

from typing import TypeVar

from ...walk import Walk

T = TypeVar("T")


def bounded(walk: Walk[T], limit: int | str | None) -> Walk[T]:
    """Return a walk that ends after `limit` records (a number, or digits), or `walk` where it is None.

    Without a limit of the caller's, a full reply is a `CursorError`: there may be more records.
    """
    return walk if limit is None or not str(limit).isdecimal() else walk.limit(int(limit))
