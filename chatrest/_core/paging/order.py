"""The order of ids: as numbers, in the direction of a walk.

The documents do not say how a page is ordered inside, nor if the item at a page's border is repeated. So ids
are compared as numbers (they are texts of digits), and items that the walk has passed are dropped: those of
the page before, and those that a walk delivered before it was resumed.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise, starmap
from operator import ge, le, lt, neg
from typing import Literal, TypeAlias

Affix: TypeAlias = Literal["append", "prepend"]
"""A walk's direction: `append` goes to higher ids (newer messages), `prepend` to lower ones."""

_MAX = 100  # digits, on the average of a page: longer ids are names, and Python reads no number of 4300


def numbers_of(ids: Sequence[str]) -> list[int] | None:
    """Return the ids as numbers; None if one of them is not a plain number."""
    joined = "".join(ids)
    if len(joined) > _MAX * len(ids) or not (joined.isdecimal() and joined.isascii()):
        return None if ids else []
    try:
        return list(map(int, ids))
    except ValueError:  # an empty one among them
        return None


def is_number(text: str | None) -> bool:
    """Return True for a plain number: ASCII digits, and not too many of them."""
    return text is not None and text.isascii() and text.isdecimal() and len(text) <= _MAX


def is_ahead(text: str, other: str, direction: Affix) -> bool:
    """Return True if both are plain numbers, and `text` is further in the direction than `other`."""
    if text == other or not (is_number(text) and is_number(other)):
        return False
    return int(text) > int(other) if direction == "append" else int(text) < int(other)


def are_ascending(ids: Sequence[str]) -> bool:
    """Return True for numbers without leading zeros that ascend: those of one length compare as texts.

    Every page of every walk passes here, so no check is a loop in Python: each is one call over the page.
    """
    if len(ids) < 2:
        return bool(ids) and is_number(ids[0])
    rest = ids
    while rest:  # numbers of one length, then longer ones
        length = len(rest[0])
        run = rest[: bisect_right(rest, length, key=len)]
        rest = rest[len(run) :]
        if not 0 < length <= _MAX or (len(run) < len(ids) and run[0].startswith("0")):
            return False
        # Texts of one length, joined by line ends, have these at equal distances, and else digits alone.
        lines, ends = "\n".join(run), "\n" * (len(run) - 1)
        if len(lines) != len(run) * (length + 1) - 1 or not lines.isascii():
            return False
        if lines.encode().translate(None, b"0123456789") != ends.encode():
            return False
        if lines[length :: length + 1] != ends or not all(map(lt, run, run[1:])):
            return False
    return True


def are_ahead(ids: Sequence[str], direction: Affix, last: str | None) -> bool:
    """Return True if all of a page's ascending ids are further in the direction than `last`."""
    if last is None or not is_number(last):
        return True
    return int(ids[0]) > int(last) if direction == "append" else int(ids[-1]) < int(last)


def passed_count(numbers: Sequence[int], direction: Affix, last: str | None) -> int:
    """Return the count of the numbers, in the walk's order, that the walk has passed at `last`."""
    if last is None or not is_number(last):
        return 0
    if direction == "append":
        return bisect_right(numbers, int(last))
    return bisect_right(numbers, -int(last), key=neg)


def runs_by_time(times: Sequence[int], previous: int | None, direction: Affix) -> bool:
    """Return True if a page's times only rise or only fall, and continue from the `previous` page's last."""
    falls = times[0] > times[-1]
    in_direction = [*times] if falls is (direction == "prepend") else [*times][::-1]
    known = in_direction if previous is None else [previous, *in_direction]
    if min(known) <= 0 or len(set(known)) < 2:
        return False
    return all(starmap(ge if direction == "prepend" else le, pairwise(known)))


def split_by_number(items: Sequence[object], ids: Sequence[str]) -> tuple[list[int], dict[int, int]]:
    """Return the indexes of items whose id is not a separate number, and number → index of all others.

    A record that differs from another one with the same number is among the first, so that none is lost.
    """
    numbers = numbers_of(ids) or []
    numbered = dict(zip(numbers, range(len(ids)), strict=False))
    if len(numbered) == len(ids):  # as usual: all are plain numbers, and no two the same
        return [], numbered
    unnumbered: list[int] = []
    numbered = {}
    for index, text in enumerate(ids):
        number = int(text) if is_number(text) else None
        first = None if number is None else numbered.setdefault(number, index)
        if first is None or (first != index and (items[first] != items[index] or ids[first] != text)):
            unnumbered.append(index)
    return unnumbered, numbered


def last_id(ids: Sequence[str], before: str | None) -> str | None:
    """Return the id that a walk has reached with these: their last number, or else the last of them.

    A text never takes the place of a number: repeated items are recognised by numbers where there are any.
    """
    for text in reversed(ids):
        if is_number(text):
            return text
    return before if is_number(before) else (ids[-1] if ids else before)
