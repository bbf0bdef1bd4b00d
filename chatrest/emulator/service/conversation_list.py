"""The record of a conversation as one of its users sees it, and GET /conversations: filters, order.

With an acting user: the app's pins, the user's own, then the rest, each from the newest to the oldest.
Without one the views of all users, by uid first. A conversation that its user has reset is left out until a
message comes, unless the reset kept its place. No conversation here is agentic. `useCursoredIndex` changes
nothing: the reply under it is not shown.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.json import decode, encode

from ..store.conversation_views import ConversationView
from ..store.directory import SYSTEM
from ..store.message_index import parse_record
from .arguments import Arguments
from .context import Call, Context
from .message_access import APP
from .pages import numbered_reply, page_number


def conversation_record(
    context: Context,
    view: ConversationView,
    *,
    with_tags: bool = False,
    with_party_tags: bool = False,
    with_blocks: bool = False,
) -> dict[str, Any]:
    """Return the record; `with_party_tags` and `with_blocks` are about the other side."""
    store, last = context.store, context.store.views.last(view)
    record: dict[str, Any] = {
        "conversationId": view.conversation,
        "conversationType": view.kind,
        "unreadMessageCount": str(store.views.unread_count(view)),
        "createdAt": view.created_at,
        "updatedAt": updated_at(view, last),
    }
    if last is not None:
        record["lastMessage"] = parse_record(store.message(last[0]) or b"{}")
    record["conversationWith"] = party_record(context, view, with_tags=with_party_tags)
    if with_blocks and view.kind == "user":
        record["conversationWith"] |= {
            "blockedByMe": store.relations.has("blocked", view.uid, view.party),
            "hasBlockedMe": store.relations.has("blocked", view.party, view.uid),
        }
    if with_tags and view.tags:
        record["tags"] = decode(view.tags)
    return record | pin_fields(context, view)


def updated_at(view: ConversationView, last: tuple[int, int] | None) -> int:
    """Return when a conversation last moved: with its last message, or before it was reset."""
    return last[1] if last is not None else view.kept_at or view.created_at


def party_record(context: Context, view: ConversationView, *, with_tags: bool = False) -> dict[str, Any]:
    """Return the other side: a user's record, or a group's."""
    people = context.store.people
    if view.kind == "group":
        raw = people.group(view.party)
        return {"guid": view.party} if raw is None else decode(raw, type=dict[str, Any])
    raw = people.user(view.party, with_tags=with_tags)
    if raw is None:
        return dict(SYSTEM) if view.party == APP else {"uid": view.party, "name": view.party}
    return decode(raw, type=dict[str, Any]) | {"conversationId": view.conversation}


def pin_fields(context: Context, view: ConversationView) -> dict[str, Any]:
    """Return `pinnedBy` and `pinnedAt`; the app's pin goes before the user's own."""
    for pin in context.store.views.app_pins.all():
        if (pin.kind, pin.party) == (view.kind, view.party):
            return {"pinnedBy": APP, "pinnedAt": pin.pinned_at}
    return {} if view.pinned_at is None else {"pinnedBy": view.uid, "pinnedAt": view.pinned_at}


_OWN_PIN: Final = 10**6
_NO_PIN: Final = 2 * _OWN_PIN


class Row(NamedTuple):
    """A view with what the list is ordered by."""

    view: ConversationView
    updated_at: int
    place: int
    """The place of the app's pin, or what stands for an own one and for none."""


Test: TypeAlias = Callable[[Row], bool]


def list_conversations(context: Context, call: Call) -> bytes:
    query, reader = call.query, call.acting_user
    number = page_number(query)
    tests = [*_plain_tests(context, query), *_tag_tests(context, query)]
    flags = [query.flag(name) for name in ("withTags", "withUserAndGroupTags", "withBlockedInfo")]
    unique, include_blocked = query.flag("unique"), query.flag("includeBlockedUsers")
    query.check()
    if reader and not include_blocked:
        tests.append(lambda row: not context.store.relations.has("blocked", reader, row.view.party))
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


def _pinner(context: Context, view: ConversationView) -> str | None:
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
