"""The way on after a page: by position, by page number, or nowhere. The rules are in `core.paging.step`."""

from ..requests.endpoint import Pairs
from .by_number import by_number
from .by_position import ask_with_direction, by_last_item, by_position, lost_position, without_position
from .page_view import END, Onward, PageView, empty_end, served_position


def onward(view: PageView) -> Onward:
    """Decide where the walk goes on."""
    fault = view.page.position_fault
    if not view.ids and view.memory.is_withheld:
        return Onward(error="a page with items came empty when it was asked for once more")
    if view.is_numbered:
        return by_number(view)
    if fault is None and (view.is_believed_last or view.shows_end):
        return END
    served = served_position(view)
    if fault is not None and served is None and not _is_counted(view):
        return Onward(error=fault)
    if view.is_believed_last:
        return END
    return _by_list(view, served)


def _by_list(view: PageView, served: tuple[Pairs, bool] | None) -> Onward:
    """Decide where a page that is not the last leads: by its position, by numbers, or by its own items."""
    ordered = view.ordered
    if not ordered.by_id and (served is None or not served[1]):
        if view.ids and view.rules.paging.own_member:
            return by_last_item(view)
        served = None  # a way back is none onward, where no id of ours leads on
    if served is not None and ordered.by_id and not ordered.is_stated and "affix" not in view.asked:
        return ask_with_direction(view)  # the position says no direction, and the page shows none
    if served is None and view.was_asked_at_position and not ordered.by_id:
        return lost_position(view) if view.ids else empty_end(view)
    if served is not None and (view.rules.paging.positions or view.cursor.position):
        return by_position(view, served)
    if _goes_by_number(view):
        return by_number(view)
    return without_position(view) if served is None else by_position(view, served)


def _goes_by_number(view: PageView) -> bool:
    """Return True for a list whose next page is asked for by its number."""
    paging = view.rules.paging
    is_numbered = paging.numbered and (paging.order == "service" or view.page.meta.pagination is not None)
    return is_numbered or _is_counted(view)


def _is_counted(view: PageView) -> bool:
    """Return True where a list by page numbers has pagination: then positions beside it do not matter."""
    return not view.rules.paging.positions and view.page.meta.pagination is not None
