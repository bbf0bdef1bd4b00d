"""When a walk that is followed asks again: sooner while items come, later while none do.

| the last request             | the next interval                            |
|------------------------------|----------------------------------------------|
| none yet, at the list's end  | an eighth of `longest`                       |
| brought something            | half of the one before, an eighth at least   |
| brought nothing              | twice the one before, `longest` at most      |

The wait is between three quarters of the interval and all of it, so that many followers do not ask in step;
it is never longer than `longest`.
"""

from typing import Final

from msgspec import Struct, structs

from ..core.paging.cursor import Cursor
from ..core.paging.order import is_number
from ..core.paging.paging import Paging
from ..core.requests.endpoint import Pairs

_SHORTEST: Final = 1 / 8
_POSITION: Final = frozenset({"affix", "id", "sentAt"})


class Polling(Struct, frozen=True):
    """The interval between two requests for what is new, in seconds."""

    longest: float
    interval: float

    @classmethod
    def begin(cls, longest: float) -> "Polling":
        """The first interval."""
        return cls(longest, longest * _SHORTEST)

    def after(self, *, has_new: bool) -> "Polling":
        """The interval after a request that brought something new, or nothing."""
        interval = self.interval / 2 if has_new else self.interval * 2
        return structs.replace(self, interval=min(max(interval, self.longest * _SHORTEST), self.longest))

    def wait(self, roll: float) -> float:
        """The seconds to wait; `roll` is from 0 to 1."""
        return self.interval * (0.75 + roll / 4)


def follow_fault(cursor: Cursor, paging: Paging) -> str | None:
    """Return the reason why a list cannot be followed from `cursor`; None where it can.

    What is new has to come behind the last item: so it is in a list by id or by the time of change that goes
    `append`. By page numbers it may come on any page, and going `prepend` before the first item.
    """
    if not paging.positions:
        return (
            "the service gives it by page numbers or in one reply, and what is new may stand anywhere in it"
        )
    if "page" in dict(cursor.position):
        return "it is read by page numbers, and what is new may stand on any page"
    if cursor.direction == "prepend":
        return "it goes from new to old (affix='prepend'); ask with affix='append'"
    if cursor.direction is None:
        return "its direction is the service's choice; ask with affix='append'"
    return None


def behind_last(cursor: Cursor) -> Cursor:
    """The cursor that asks behind its last item, where the list goes by id; any other as it is.

    A walk that ended within a page would ask for that whole page again, each time.
    """
    last, position = cursor.last, dict(cursor.position)
    if last is None or not (cursor.by_id and cursor.inside and is_number(last)) or cursor.skip:
        return cursor
    sizes = tuple(pair for pair in cursor.position if pair[0] in ("perPage", "limit"))
    if position.keys() - _POSITION - dict(sizes).keys() or cursor.direction is None:
        return cursor
    place: Pairs = (("affix", cursor.direction), ("id", last))
    if "sentAt" in position:
        if cursor.time is None or cursor.time <= 0:
            return cursor
        place += (("sentAt", str(cursor.time)),)
    return structs.replace(cursor, position=(*place, *sizes), inside=False)
