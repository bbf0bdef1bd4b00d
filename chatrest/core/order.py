"""One order throughout: the new items of a page, ascending or descending by id, each once.

The specification does not say how a page is ordered inside, nor whether the item at a page's border comes
twice. So ids are compared as numbers (they are texts of digits), and what the walk has passed is dropped:
only what the page before held, or what a walk that was taken up again had delivered. An id behind the walk
that it never saw would be lost, so it is a `CursorError`.
"""

from bisect import bisect_right
from collections.abc import Sequence
from operator import lt, neg
from typing import TypeVar

from ..errors import CursorError
from .cursor import Way

T = TypeVar("T")

_LONGEST = 100  # digits, on the average of a page: longer ids are names, and Python reads no number of 4300


def numbers_of(ids: Sequence[str]) -> list[int] | None:
    """The ids as numbers; None where one is not a plain number."""
    joined = "".join(ids)
    if len(joined) > _LONGEST * len(ids) or not (joined.isdecimal() and joined.isascii()):
        return None if ids else []
    try:
        return list(map(int, ids))
    except ValueError:  # an empty one among them
        return None


def rises(ids: Sequence[str]) -> bool:
    """Whether the ids are numbers of one length that ascend: such texts compare as their numbers do."""
    joined = "".join(ids)
    return (
        len(joined) <= _LONGEST * len(ids)
        and joined.isdecimal()
        and joined.isascii()
        and len(set(map(len, ids))) == 1
        and all(map(lt, ids, ids[1:]))
    )


def is_new(ids: Sequence[str], way: Way, last: str | None) -> bool:
    """Whether all of a page's rising ids lie ahead of `last`."""
    if last is None or not last.isdecimal():
        return True
    return int(ids[0]) > int(last) if way == "append" else int(ids[-1]) < int(last)


def ahead(
    items: list[T], numbers: list[int], way: Way, last: str | None, before: Sequence[str] | None
) -> list[T]:
    """The items that a walk going `way` has not passed at id `last`, each once, in its order.

    `before` are the ids of the page before, None where this process has seen none.
    """
    if not all(map(lt, numbers, numbers[1:])):
        unique = dict(zip(reversed(numbers), reversed(items), strict=True))
        numbers = sorted(unique)
        items = [unique[number] for number in numbers]
    if way == "prepend":
        items, numbers = items[::-1], numbers[::-1]
    if last is None or not last.isdecimal() or (passed := _passed(numbers, int(last), way)) == 0:
        return items
    if before is not None:
        _refuse_strays(numbers[:passed], way, last, before)
    return items[passed:]


def _passed(numbers: list[int], last: int, way: Way) -> int:
    """How many of the ordered numbers are at `last` or behind it."""
    if way == "append":
        return bisect_right(numbers, last)
    return bisect_right(numbers, -last, key=neg)


def _refuse_strays(passed: list[int], way: Way, last: str, before: Sequence[str]) -> None:
    known = {int(last), *(int(each) for each in before if each.isdecimal())}
    strays = [number for number in passed if number not in known]
    if strays:
        raise CursorError(
            f"going {way}, the service served id {strays[0]} after id {last}, and not before: "
            "the walk cannot keep its order without losing it"
        )


def split(items: list[T], ids: list[str]) -> tuple[list[T], list[str], dict[int, T]]:
    """Of a mixed page: the items without a number for an id, with their ids, and the numbered ones."""
    loose: list[T] = []
    names: list[str] = []
    numbered: dict[int, T] = {}
    for item, each in zip(items, ids, strict=True):
        if number := numbers_of([each]):
            numbered.setdefault(number[0], item)
        else:
            loose.append(item)
            names.append(each)
    return loose, names, numbered


def fresh(items: list[T], ids: list[str], skip: int, border: set[str]) -> list[T]:
    """Items that keep the service's order: each once, without those of the border, from the `skip`th on."""
    seen = set(border)
    found: list[T] = []
    for item, each in zip(items, ids, strict=True):
        if not each or each not in seen:  # a record without any id is never taken for a repeat
            seen.add(each)
            found.append(item)
    return found[skip:]


def last_of(ids: Sequence[str], before: str | None) -> str | None:
    """The id that a walk has come to with these: their last number, or else the last of them.

    A text never takes the place of a number: what comes twice is told by numbers where there are any.
    """
    for each in reversed(ids):
        if each.isascii() and each.isdecimal():
            return each
    return before if before is not None and before.isdecimal() else (ids[-1] if ids else before)
