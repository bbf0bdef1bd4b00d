"""GET /conversations: the filters, and the order of the list.

With an acting user: the app's pins, the user's own, then the rest, each from the newest to the oldest.
Without one the views of all users, by uid first. A conversation that its user has reset is left out until a
message comes, unless the reset kept its place. No conversation here is agentic. `useCursoredIndex` changes
nothing: the reply under it is not shown.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.json import decode, encode

from ..store.conversation_views import View
from .arguments import Arguments
from .context import Call, Context
from .conversation_record import conversation_record, party_record, pin_fields, updated_at
from .message_access import APP
from .numbered_pages import numbered_reply, page_number

_OWN_PIN: Final = 10**6
_NO_PIN: Final = 2 * _OWN_PIN


class Row(NamedTuple):
    """A view with what the list is ordered by."""

    view: View
    updated_at: int
    place: int
    """The place of the app's pin, or what stands for an own one and for none."""


Test: TypeAlias = Callable[[Row], bool]


def list_conversations(context: Context, call: Call) -> bytes:
    """A page of conversations."""
    query, reader = call.query, call.acting_user
    number = page_number(query)
    tests = [*_plain_tests(context, query), *_tag_tests(context, query)]
    flags = [query.flag(name) for name in ("withTags", "withUserAndGroupTags", "withBlockedInfo")]
    unique, include_blocked = query.flag("unique"), query.flag("includeBlockedUsers")
    query.check()
    if reader and not include_blocked:
        tests.append(lambda row: not context.store.people.blocks(reader, row.view.party))
    rows = [row for row in _rows(context, reader) if all(test(row) for test in tests)]
    if unique and not reader:
        first_views: dict[str, Row] = {}
        for row in rows:
            first_views.setdefault(row.view.conversation, row)
        rows = list(first_views.values())
    begin = (number.page - 1) * number.size
    with_tags, with_party_tags, with_blocks = flags
    records = [
        conversation_record(
            context,
            row.view,
            with_tags=with_tags,
            with_party_tags=with_party_tags,
            with_blocks=with_blocks,
        )
        for row in rows[begin : begin + number.size]
    ]
    return numbered_reply([encode(record) for record in records], len(rows), number)


def _rows(context: Context, reader: str | None) -> list[Row]:
    """The conversations that a user sees, or those of all users, in the order of the list."""
    views = context.store.views
    pins = {(pin.kind, pin.party): place for place, pin in enumerate(views.app_pins.all())}
    rows = []
    for view in views.all(reader):
        if views.is_removed(view):
            continue
        last = views.last(view)
        own = _NO_PIN if view.pinned_at is None else _OWN_PIN
        place = pins.get((view.kind, view.party), own) if reader else 0
        rows.append(Row(view, updated_at(view, last), place))
    rows.sort(key=lambda row: row.view.party)
    rows.sort(key=lambda row: row.updated_at, reverse=True)
    return sorted(rows, key=lambda row: row.place if reader else row.view.uid)


def _plain_tests(context: Context, query: Arguments) -> list[Test]:
    tests: list[Test] = []
    if kind := query.choice("conversationType", ("user", "group")):
        tests.append(lambda row: row.view.kind == kind)
    if text := query.text("searchKey"):
        key = text.casefold()
        tests.append(lambda row: key in str(party_record(context, row.view).get("name")).casefold())
    if query.flag("unread"):
        tests.append(lambda row: context.store.views.unread_count(row.view) > 0)
    if query.flag("onlyAgentic"):
        tests.append(lambda row: False)
    if pinned_by := query.texts("pinnedBy", ("me", "system")):
        tests.append(lambda row: _pinner(context, row.view) in pinned_by)
    return tests


def _pinner(context: Context, view: View) -> str | None:
    pinned_by: Any = pin_fields(context, view).get("pinnedBy")
    return "system" if pinned_by == APP else None if pinned_by is None else "me"


def _tag_tests(context: Context, query: Arguments) -> list[Test]:
    """Tags of the conversation, of the user, and of the group: one of each list must match."""
    tests: list[Test] = []
    if tags := query.texts("tags"):
        tests.append(lambda row: not set(tags).isdisjoint(decode(row.view.tags or "[]")))
    for name, kind in (("userTags", "user"), ("groupTags", "group")):
        if party_tags := query.texts(name):
            tests.append(_party_test(context, kind, set(party_tags)))
    return tests


def _party_test(context: Context, kind: str, tags: set[str]) -> Test:
    def test(row: Row) -> bool:
        record = party_record(context, row.view, with_tags=True)
        return row.view.kind == kind and not tags.isdisjoint(record.get("tags") or ())

    return test
