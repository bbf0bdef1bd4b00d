"""The record of a conversation, as one of its users sees it."""

from typing import Any

from msgspec.json import decode

from ..store.conversation_views import View
from ..store.directory import SYSTEM
from ..store.message_index import parse_record
from .context import Context
from .message_access import APP


def conversation_record(
    context: Context,
    view: View,
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
            "blockedByMe": store.people.blocks(view.uid, view.party),
            "hasBlockedMe": store.people.blocks(view.party, view.uid),
        }
    if with_tags and view.tags:
        record["tags"] = decode(view.tags)
    return record | pin_fields(context, view)


def updated_at(view: View, last: tuple[int, int] | None) -> int:
    """Return when a conversation last moved: with its last message, or before it was reset."""
    return last[1] if last is not None else view.kept_at or view.created_at


def party_record(context: Context, view: View, *, with_tags: bool = False) -> dict[str, Any]:
    """Return the other side: a user's record, or a group's."""
    people = context.store.people
    if view.kind == "group":
        raw = people.group(view.party)
        return {"guid": view.party} if raw is None else decode(raw, type=dict[str, Any])
    raw = people.user(view.party, with_tags=with_tags)
    if raw is None:
        return dict(SYSTEM) if view.party == APP else {"uid": view.party, "name": view.party}
    return decode(raw, type=dict[str, Any]) | {"conversationId": view.conversation}


def pin_fields(context: Context, view: View) -> dict[str, Any]:
    """Return `pinnedBy` and `pinnedAt`; the app's pin goes before the user's own."""
    for pin in context.store.views.app_pins.all():
        if (pin.kind, pin.party) == (view.kind, view.party):
            return {"pinnedBy": APP, "pinnedAt": pin.pinned_at}
    return {} if view.pinned_at is None else {"pinnedBy": view.uid, "pinnedAt": view.pinned_at}
