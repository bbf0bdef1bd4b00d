"""The promise of a page that more follows: an empty page right after it is no proof of the list's end.

The item that a page is asked from may have been deleted or moved meanwhile, and a service that looks for its
place answers an empty page then. So the walk asks again from the position of the page before.

| the page                                           | its promise |
|----------------------------------------------------|-------------|
| counts more pages, or more records than it holds   | `stated`    |
| … but the whole list, of which all were given      | `none`      |
| counts otherwise, and was not wrong so far         | `none`      |
| does not count, is full, and has a position        | `likely`    |
| any other                                          | `none`      |

A likely promise is meant where the empty page has no position: then the service gives one only where more
follows. Where it always gives one, a full last page would cost a request, and only a `thorough` walk pays it.
A file of its own because a promise is judged for ordinary pages, too, which never come to `onward`.
"""

from typing import Any, Literal, TypeAlias

from ..replies.decode import Listing
from .cursor import Cursor
from .walk_state import Memory, Rules

Promise: TypeAlias = Literal["none", "likely", "stated"]


def promise_of(
    cursor: Cursor, page: Listing[Any], given: int, rules: Rules, memory: Memory, largest: int
) -> Promise:
    """Return what a page promises, which was asked for at `cursor` and gave `given` new items.

    `largest` is the count of records of the largest page before it.
    """
    count, pagination = len(page.items), page.meta.pagination
    if pagination is not None:
        total, current, pages = pagination.total or 0, pagination.current_page, pagination.total_pages
        if total > count or (current is not None and pages is not None and current < pages):
            # A total of what is left falls from page to page; one of the whole list stays, unless it changes.
            is_whole = total == cursor.delivered + given and memory.total == total and not memory.has_changed
            return "none" if is_whole else "stated"
        # A service that says "last" on every page may still count right what is left.
        is_counting = total > 0 and (memory.total or 0) > len(memory.ids or ())
        if is_counting or ((total or pages) and not (memory.is_doubted or memory.claimed_last)):
            return "none"
    is_full = count >= rules.size or 0 < largest <= count
    has_position = (page.meta.cursor, page.meta.next, page.cursor) != (None, None, None)
    return "likely" if is_full and has_position else "none"
