"""Records that a walk drops as given before, although they differ from the record of their id. Pure.

An id may come again: at a page's border, or where the service ignores a position. Usually the record is the
same. Where it is not, or where two texts of an id are one number (`05` and `5`), the page's repairs say it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from ..replies.decode import Listing
from .order import is_number
from .step import Step, record_of
from .walk_state import Memory

T = TypeVar("T")


def conflicts(
    page: Listing[T], step: Step[T], memory: Memory, identify: Callable[[Any], str]
) -> tuple[str, ...]:
    """Return a line for each record of `page` that the step drops and that differs from what was given.

    It is compared with the other records of its page and with the last one that was given before it.
    """
    if len(step.items) == len(page.items) or step.next == step.start:  # the same page is asked for again
        return ()
    given = set(map(id, step.items))
    records: dict[str, Any] = {identify(item): record_of(item) for item in step.items}
    if memory.last_record is not None:
        records.setdefault(*memory.last_record)
    lines = []
    for index, item in enumerate(page.items):
        text = identify(item)
        if id(item) in given or not text:
            continue
        first = records.get(text)
        if first is not None and first != record_of(item):
            lines.append(f"data[{index}]: another record of the id {text[:100]} came before, which is given")
        elif first is None and _is_other_text(text, memory):
            lines.append(f"data[{index}]: its id {text[:100]} is the number of another id, which is given")
    return tuple(lines)


def _is_other_text(text: str, memory: Memory) -> bool:
    """Return True for the number of an id of the page before, written in another way."""
    if memory.ids is None or not is_number(text) or text in memory.ids:
        return False
    return int(text) in {int(each) for each in memory.ids if is_number(each)}
