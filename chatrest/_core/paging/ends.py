"""The rungs of `next_page` that name no further page: the end of a walk, or a fault."""

from typing import Final

from ..requests.dialects import MAX_PAGE_SIZE, MIN_DEFAULT, ONE_LIMITED_REPLY, ONE_REPLY
from .further_pages import NextPage, before_last, own_id
from .page_view import PageView, describe, location_of

_END: Final = NextPage()


def missing_items(view: PageView) -> NextPage | None:
    """Items that came, and did not when their page was asked for again: a fault."""
    if view.memory.asked_again != "withheld" or view.ids:
        return None
    return NextPage(error="a page with items came empty when it was asked for again")


def last_page_by_count(view: PageView) -> NextPage | None:
    """A short page, smaller than the list's largest, that claims to be the last: the end."""
    is_last = view.position_fault is None and view.claims_last and view.is_believably_short
    return _END if is_last else None


def unreadable_position(view: PageView) -> NextPage | None:
    """A position that cannot be read, in a list that does not go by numbers: a fault."""
    # Of a list that is counted by pages positions do not matter.
    is_counted = view.page.meta.pagination is not None and not view.facts.paging.positions
    is_fault = view.position_fault is not None and not view.leading_positions and not is_counted
    return NextPage(error=view.position_fault) if is_fault else None


def last_page_without_position(view: PageView) -> NextPage | None:
    """A short page without a next position and without a higher total: the end."""
    shows_no_more = view.leads_nowhere and not view.goes_by_number and not view.claims_more
    return _END if (view.claims_last or shows_no_more) and view.is_believably_short else None


def documented_last_page(view: PageView) -> NextPage | None:
    """A reply without the position that is documented for all but the last: the end."""
    meta, paging = view.page.meta, view.facts.paging
    positions = (meta.next, meta.cursor, view.page.cursor)
    if "page" in view.asked_position or view.page.position_fault is not None or view.lacks_records:
        return None
    if positions != (None, None, None):
        return None
    if paging.shows_end:
        is_end = view.cursor.earlier is None and (meta.current, meta.previous) != (None, None)
        return _END if is_end else None
    # It leads back alone, with fewer records than any page that was cut off.
    is_tiny = 0 < len(view.ids) < min(paging.smallest_cap, view.facts.size)
    is_end = is_tiny and meta.previous is not None and not view.facts.thorough and not view.claims_more
    return _END if is_end else None


def empty_page(view: PageView) -> NextPage | None:
    """An empty page: the end, or a fault where there must be more."""
    if view.ids:
        return None
    memory, pagination = view.memory, view.pagination
    if memory.empty_positions and memory.empty_pages and not view.cursor.is_at_number:
        words = "an empty page, from an earlier position, too, though the page before it announced more"
        return NextPage(error=words)
    if view.page.is_refusal and "page" not in view.asked_position and not _is_shown_last(view):
        words = "the service has no such item, which it has listed, and leads to it again"
        asked = describe(view.asked_location)
        return NextPage(error=f"{words}: what follows {asked} cannot be asked for")
    pages = f"{pagination.current_page} of {pagination.total_pages}"
    words = f"an empty page, twice, though the service says that it is page {pages}"
    return NextPage(error=words) if view.claims_more else _END


def _is_shown_last(view: PageView) -> bool:
    """Return True if it was seen that nothing follows the walk's last item.

    Either the page before counted all that was given, or the item before the last one was asked from, and its
    page showed that nothing follows. A last page of one item has none before it: there its being short is all
    that can be known.
    """
    before, memory = before_last(view), view.memory
    if memory.total:
        return memory.total == view.cursor.delivered
    if len(memory.ids or ()) == 1 < view.facts.size:
        return view.largest > 1 or view.cursor.delivered == 1
    return before in memory.visited and before not in memory.empty_positions


def repeated_page_number(view: PageView) -> NextPage | None:
    """A page number that repeats what was given: the end, or a fault where there must be more."""
    if not view.goes_by_number:
        return None
    paging, pages = view.facts.paging, view.pagination.total_pages
    words = f"page {view.page_number} holds nothing but what the page before it held"
    if view.claims_more and view.page_number <= (pages or 0):
        return NextPage(error=f"{words}, though the service says that there are {pages} pages")
    if paging.filters and pages is None and view.leading_positions:
        names = ", ".join(name for name, _ in paging.filters)
        return NextPage(error=f"{words}, and the service continues by what the list is filtered by ({names})")
    if not paging.positions or view.is_short:
        return _END
    return NextPage(
        error="after a full page the list cannot be continued, as it has no position and page numbers are "
        "ignored: give the query a direction, such as MessageQuery(affix='append')"
    )


def lost_position(view: PageView) -> NextPage | None:
    """A position that is lost, asked for twice: a fault."""
    if not view.has_lost_position or view.facts.paging.own_member:
        return None
    asked = describe(view.asked_location)
    return NextPage(error=f"the page at {asked} has no position that leads on, asked for twice")


def only_the_border_item(view: PageView) -> NextPage | None:
    """A short page with nothing but the item that was asked from: the end, as the service includes it."""
    is_alone = set(view.ids) == {view.asked_position.get("id")}
    if not view.ordered.by_id:
        # Nothing but items of the time that was asked from, and fewer of them than fit into a page of this
        # service, so that none is hidden after them.
        is_alone = len(view.ids) < max(view.largest, 2) and not view.ordered.items
    return _END if view.is_short and is_alone else None


def unmoved_position(view: PageView) -> NextPage | None:
    """A position that does not move, of a page that is not empty: a fault."""
    if not view.served_position or view.leads_inside:
        return None
    served = describe(location_of(view.served_position))
    words = f"the walk stood at {describe(view.asked_location)}, and its page's cursor was {served}"
    return NextPage(error=f"the cursor does not move: {words}, though the page was not empty")


def sole_reply(view: PageView) -> NextPage | None:
    """A list that is documented as one reply: the end, or a fault where a full one may lack records."""
    if view.facts.paging.positions:
        return None
    # The largest page that is documented, or the service's own (`meta.current.limit`), if that can be one; a
    # reply may have as many records as the caller asked for.
    current, count = view.page.meta.current, len(view.ids)
    served = 0 if current is None or current.limit is None else current.limit
    limit = served if MIN_DEFAULT <= served <= MAX_PAGE_SIZE else MAX_PAGE_SIZE
    is_what_was_asked = view.facts.size_asked and count >= view.facts.size
    if view.facts.paging not in (ONE_REPLY, ONE_LIMITED_REPLY) or is_what_was_asked or count < limit:
        return _END
    return NextPage(
        error=f"the only reply of this list is full ({count} records), and leads to no further one"
    )


def records_without_ids(view: PageView) -> NextPage | None:
    """Records without the member that orders the list: the end of a short page, and a fault of a full one."""
    member = view.facts.paging.own_member
    if not member and not (view.ordered.by_id and not own_id(view)):
        return None
    words = f"after a full page the list cannot be continued: none of its records has a new {member or 'id'}"
    return _END if view.is_short else NextPage(error=words)


def nothing_new(view: PageView) -> NextPage:
    """Any other page: a fault, as there must be more."""
    asked = describe(view.asked_location)
    return NextPage(error=f"the page at {asked} holds nothing new, and no position that leads on")
