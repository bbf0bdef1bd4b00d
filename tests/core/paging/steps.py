"""Short forms of pages, cursors and steps, for tables of cases."""

from typing import Any

from msgspec import UNSET

from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.step import Step, step
from chatrest._core.paging.walk_state import ListFacts, Memory
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_PAGE, BY_THREAD
from chatrest._models.meta import Meta, Position
from tests.walk.service_model import Item, facts_for

BY_IDS = facts_for(2)
PAGED = facts_for(2, "perPage", BY_PAGE)
THREAD = facts_for(2, "perPage", BY_THREAD)


def page(*ids: Any, top_level: Position | None = None, **meta: Any) -> Listing[Item]:
    items = [each if isinstance(each, Item) else Item(str(each)) for each in ids]
    return Listing(items, Meta(**meta), b"{}", cursor=top_level)


def at(**position: str) -> Cursor:
    """The cursor of a list by id."""
    direction: Any = position.pop("affix", "append")
    last = position.pop("last", None)
    return Cursor("q", (("affix", direction), *position.items()), direction, last)


def unordered(**position: str) -> Cursor:
    """The cursor of a list in the service's order, after the item `x`."""
    last = position.pop("last", "x")
    return Cursor("q", tuple(position.items()), "append", last, by_id=False)


def position(id: Any = UNSET, affix: Any = "append", **more: Any) -> Position:
    return Position(affix, id, **more)


def step_over(
    cursor: Cursor, listing: Listing[Item], facts: ListFacts = BY_IDS, largest: int = 0, **memory: Any
) -> Step[Item]:
    return step(cursor, listing, facts, Memory(**memory), largest)


def next_position(
    cursor: Cursor, listing: Listing[Item], facts: ListFacts = BY_IDS, largest: int = 0, **memory: Any
) -> dict[str, str] | str | None:
    """Return the position where the walk continues, the error, or None at the end.

    A position that is asked for again has the member `again`.
    """
    result = step_over(cursor, listing, facts, largest, **memory)
    if result.error is not None:
        assert result.next is None
        return result.error
    if result.next is None:
        return None
    is_again = result.memory.asked_again != "no" and "asked_again" not in memory
    return {"again": "yes"} | dict(result.next.position) if is_again else dict(result.next.position)


def again(**position: str) -> dict[str, str]:
    return {"again": "yes", **position}
