"""The operations of conversations: those of one user's view, and pins: a user's own, and the app's.

The twins for users and groups are one handler each: the path says which of the two it is about. Where the
table is silent, the emulator has chosen:

- A conversation is accessible to its two users, or to the members of its group, once it has a message.
- `mark_read` and `mark_delivered` without `messageId` are about all messages, `mark_unread` about the last
  one of the other side. In a conversation of two they move `readAt` and `deliveredAt` of the messages.
- A reset hides the messages so far from the user; the conversation is not accessible until the next message,
  or stays in its place with `preserveOrder`.
"""

from typing import Any, Final, Literal

from msgspec.json import encode

from ..store.conversation_views import AppPin, ConversationView, Kind, view_of
from ..store.message_index import conversation_list, parse_record
from .context import Call, Context, Handler
from .conversation_list import conversation_record, list_conversations, pin_fields
from .envelopes import ack_reply, one_reply
from .groups import group_record
from .message_access import APP
from .refusals import bad_request, over_limit, refused
from .users import user_record


def own_view(context: Context, call: Call) -> ConversationView:
    """Return the acting user's view of the conversation in the path, with a message or without."""
    kind: Kind = "group" if "guid" in call.path else "user"
    party = call.path["guid" if kind == "group" else "uid"]
    _check_party(context, kind, party)
    return context.store.views.stored(view_of(str(call.acting_user), kind, party))


def _check_party(context: Context, kind: Kind, party: str) -> None:
    if kind == "group":
        group_record(context, party)
    else:
        user_record(context, party)


def accessible_view(context: Context, call: Call) -> ConversationView:
    """Return the acting user's view of the conversation in the path; 403 where it has no message."""
    view = own_view(context, call)
    if view.kind == "group" and context.store.members.member(view.party, view.uid) is None:
        raise refused("ERR_CONVERSATION_NOT_ACCESSIBLE", view.uid)
    views = context.store.views.all(view.uid, view.conversation)
    if not views:
        raise refused("ERR_CONVERSATION_NOT_ACCESSIBLE", view.uid)
    return views[0]


def _record_reply(context: Context, view: ConversationView) -> bytes:
    """Return the reply of one conversation; 403 for one that is empty since it was reset."""
    if context.store.views.is_removed(view):
        raise refused("ERR_CONVERSATION_NOT_ACCESSIBLE", view.uid)
    return one_reply(encode(conversation_record(context, view, with_tags=True)))


def get_conversation(context: Context, call: Call) -> bytes:
    return _record_reply(context, accessible_view(context, call))


def update_conversation(context: Context, call: Call) -> bytes:
    view = accessible_view(context, call)
    tags = call.read()["tags"]
    context.store.views.set(view, tags=encode(tags).decode() if tags else None)
    return get_conversation(context, call)


def reset_conversation(context: Context, call: Call) -> bytes:
    """Empty the user's view of a conversation."""
    view = accessible_view(context, call)
    body = call.read()
    if body.get("conversationWith") not in (None, view.party):
        raise bad_request({"conversationWith": ["The conversationWith must be the one of the path."]})
    _reset(context, view, keeps_place=bool(body.get("preserveOrder")))
    if body.get("deleteMessagesPermanently") and view.kind == "user":
        ids = context.store.ids(conversation=view.conversation)
        context.store.remove(ids)
    return ack_reply(f"The conversation with {view.party} has been reset.")


def _reset(context: Context, view: ConversationView, *, keeps_place: bool = False) -> None:
    store, last = context.store, context.store.views.last(view)
    kept_at = (last[1] if last else view.created_at) if keeps_place else None
    store.views.set(view, reset_id=store.last_id, read_id=store.last_id, kept_at=kept_at, tags=None)


def get_by_id(context: Context, call: Call) -> bytes:
    """One conversation, by its id; deprecated."""
    return _record_reply(context, _view_by_id(context, call))


def delete_by_id(context: Context, call: Call) -> bytes:
    """Remove a conversation from the user's view, by its id; deprecated."""
    _reset(context, _view_by_id(context, call))
    return ack_reply(f"The conversation {call.path['conversationId']} has been deleted.")


def _view_by_id(context: Context, call: Call) -> ConversationView:
    conversation, uid, views = call.path["conversationId"], str(call.acting_user), context.store.views
    if not views.exists(conversation):
        raise refused("ERR_CONVERSATION_NOT_FOUND", conversation)
    own = views.all(uid, conversation)
    if not own:
        raise refused("ERR_CONVERSATION_NOT_ACCESSIBLE", uid)
    return own[0]


def mark_delivered(context: Context, call: Call) -> bytes:
    """Mark the messages of others as delivered, up to one of them."""
    view = accessible_view(context, call)
    number = _message_number(context, call, view) or context.store.last_id
    context.store.views.set(view, delivered_id=max(number, view.delivered_id))
    _stamp(context, view, "delivered", number)
    return _receipt_reply(view, "delivered")


def mark_read(context: Context, call: Call) -> bytes:
    """Mark the messages of others as read, and as delivered, up to one of them."""
    view = accessible_view(context, call)
    number = _message_number(context, call, view) or context.store.last_id
    context.store.views.set(
        view, read_id=max(number, view.read_id), delivered_id=max(number, view.delivered_id)
    )
    _stamp(context, view, "delivered", number)
    _stamp(context, view, "read", number)
    return _receipt_reply(view, "read")


def mark_unread(context: Context, call: Call) -> bytes:
    """Mark the messages of others as unread, from one of them on."""
    view, store = accessible_view(context, call), context.store
    number = _message_number(context, call, view) or store.views.last_of_others(view)
    versions = _records(context, store.views.read_since(view, number))
    for version in versions.values():
        version.pop("readAt", None)
    store.rewrite(versions)
    store.views.set(view, read_id=min(view.read_id, max(0, number - 1)))
    return ack_reply(f"The conversation with {view.party} has been marked as unread.")


def _message_number(context: Context, call: Call, view: ConversationView) -> int | None:
    """The message that the body names; 404 where the conversation has no such message."""
    number: int | None = call.read().get("messageId")
    if number is None:
        return None
    if not context.store.contains(conversation_list(view.conversation), number):
        raise refused("ERR_MESSAGE_ID_NOT_FOUND", str(number))
    return number


def _stamp(
    context: Context, view: ConversationView, column: Literal["read", "delivered"], number: int
) -> None:
    """Write the time into the messages of a conversation of two, for their sender to see."""
    if view.kind == "group":
        return
    store = context.store
    versions = _records(context, store.views.unmarked(view, column, number))
    for version in versions.values():
        version[f"{column}At"] = max(context.now, store.last_sent_at)
    store.rewrite(versions)


def _records(context: Context, ids: list[int]) -> dict[int, dict[str, Any]]:
    return {number: parse_record(context.store.message(number) or b"{}") for number in ids}


def _receipt_reply(view: ConversationView, action: str) -> bytes:
    name = "Message" if view.kind == "user" else "message"
    return ack_reply(f"The conversation with {view.party} has been marked as {action}.", name)


def _of_both(name: str, handler: Handler) -> dict[str, Handler]:
    return {f"conversations.{name}_user": handler, f"conversations.{name}_group": handler}


# ── pins ──


OWN_PINS: Final = 5
"""The documented limit."""


def pin_conversation(context: Context, call: Call) -> bytes:
    """Pin a conversation for the acting user, with a message or without; the first `pinnedAt` stays."""
    view, views = _pinnable(context, call), context.store.views
    if view.pinned_at is None:
        if views.pinned_count(view.uid) >= OWN_PINS:
            raise over_limit("ERR_PINNED_CONVERSATIONS", "pinned conversations", OWN_PINS)
        views.set(view, pinned_at=context.now)
    return _pin_reply(context, views.stored(view))


def unpin_conversation(context: Context, call: Call) -> bytes:
    """Unpin a conversation of the acting user, if it is pinned."""
    view, views = _pinnable(context, call), context.store.views
    if view.pinned_at is not None:
        views.set(view, pinned_at=None)
    return _pin_reply(context, views.stored(view))


def _pinnable(context: Context, call: Call) -> ConversationView:
    """The acting user's view of the conversation in the path; 403 where the app has pinned it."""
    view = own_view(context, call)
    if pin_fields(context, view).get("pinnedBy") == APP:
        raise refused("ERR_SYSTEM_PINNED_CONVERSATION")
    return view


def _pin_reply(context: Context, view: ConversationView) -> bytes:
    record = {"conversationId": view.conversation, "conversationType": view.kind}
    return one_reply(encode(record | pin_fields(context, view)))


def list_pinned(context: Context, call: Call) -> bytes:
    """The app's pins, in their order, without `meta`."""
    return one_reply(encode([_app_pin(pin) for pin in context.store.views.app_pins.all()]))


def replace_pinned(context: Context, call: Call) -> bytes:
    """Pin other conversations for everybody, in the place of all."""
    parties: list[tuple[Kind, str]] = []
    for pin in call.read()["pinnedConversations"]:
        party = pin.get("uid") or pin.get("guid")
        if not party:
            raise bad_request({"pinnedConversations": ["Each entry must have a uid or a guid."]})
        parties.append(("user" if pin.get("uid") else "group", party))
    for kind, party in parties:
        _check_party(context, kind, party)
    context.store.views.app_pins.replace(parties, context.now)
    return list_pinned(context, call)


def _app_pin(pin: AppPin) -> dict[str, Any]:
    """The pin's record; there is no one conversation with a user, so the id is the uid."""
    return {
        "conversationId": f"group_{pin.party}" if pin.kind == "group" else pin.party,
        "conversationType": pin.kind,
        "pinnedBy": APP,
        "pinnedAt": pin.pinned_at,
    }


HANDLERS: Final[dict[str, Handler]] = {
    "conversations.list": list_conversations,
    "conversations.get": get_by_id,
    "conversations.delete": delete_by_id,
    **_of_both("get", get_conversation),
    **_of_both("update", update_conversation),
    **_of_both("reset", reset_conversation),
    **_of_both("mark_delivered", mark_delivered),
    **_of_both("mark_read", mark_read),
    **_of_both("mark_unread", mark_unread),
    "conversations.list_pinned": list_pinned,
    "conversations.replace_pinned": replace_pinned,
    **dict.fromkeys(("conversations.pin_user", "conversations.pin_group"), pin_conversation),
    **dict.fromkeys(("conversations.unpin_user", "conversations.unpin_group"), unpin_conversation),
}
