"""The next page of a walk: a ladder of rules, of which the first that applies decides.

A rung is a function of a `PageView`. It returns a `NextPage`, or None where its rule does not apply, and the
first line of its docstring states the rule. `ends` has the rungs that end a walk or report a fault,
`further_pages` those that name a further page. All are pure.

To add a rule, write its rung in one of the two, put it into `RUNGS`, and add its cases to a table of
`tests/core/paging/test_next_page.py`. A fault or an end has its place before the rungs that would hide it by
naming a further page, and after those whose pages it would end too early; the comments in `RUNGS` say which
these are. A property of a page that several rungs need belongs to `PageView`.

- A page is short if it has fewer records than were asked for, and than its own `per_page`.
- After one wrong "last page" such claims are ignored.
- A list by page numbers continues otherwise only where a number returns nothing new.
- No walk goes round in a circle: a rung never names the position that its page was asked for by, and where
  positions cannot be compared, a `landmark` is remembered.
- Nearly all pages never come here: `step` has a short way for them.

A file of its own because the ladder is the table of all rules, and is read before its rungs.
"""

from collections.abc import Callable
from typing import Final

from . import ends, further_pages
from .further_pages import NextPage
from .page_view import PageView

RUNGS: Final[tuple[Callable[[PageView], NextPage | None], ...]] = (
    # Its counts alone: most pages by number get no further.
    ends.missing_items,  # the first: no later rung sees that the page was asked for again
    ends.last_page_by_count,
    further_pages.numbered_page_with_missing_records,  # before the next number, which never leads back
    further_pages.number_after_new_items,
    # Faults and ends that its positions show, before any of them is followed.
    ends.unreadable_position,
    ends.last_page_without_position,
    ends.documented_last_page,
    # A further page: by what the reply names, else again, else by what the walk knows itself.
    further_pages.same_page_in_a_direction,  # before its position, whose direction nothing shows
    further_pages.page_with_missing_records,  # before the position, which leads past them
    further_pages.served_position,
    further_pages.same_page_again,
    further_pages.earlier_page,  # after the same page, and before the last item, which may be gone
    further_pages.item_before_last,
    further_pages.position_of_last_item,
    further_pages.next_number,
    # No further page: the end, or a fault where there must be one.
    ends.empty_page,
    ends.repeated_page_number,
    ends.lost_position,
    ends.only_the_border_item,
    ends.unmoved_position,
    ends.sole_reply,
    ends.records_without_ids,
    ends.nothing_new,
)


def next_page(view: PageView) -> NextPage:
    """Return the answer of the first rung that applies; the last one always does."""
    return next(answer for rung in RUNGS if (answer := rung(view)) is not None)
