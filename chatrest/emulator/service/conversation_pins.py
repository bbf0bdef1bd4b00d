"""The operations of conversation pins: a user's own, and those of the app for everybody."""

from typing import Any, Final

from msgspec.json import encode

from ..store.conversation_views import AppPin, Kind, View, view_of
from .context import Call, Context, Handler
from .conversation_record import pin_fields
from .envelopes import one_reply
from .groups import group_record
from .message_access import APP
from .refusals import bad_request, over_limit, refused
from .users import user_record

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


def _pinnable(context: Context, call: Call) -> View:
    """The acting user's view of the conversation in the path; 403 where the app has pinned it."""
    kind: Kind = "group" if "guid" in call.path else "user"
    party = call.path["guid" if kind == "group" else "uid"]
    _check_party(context, kind, party)
    view = context.store.views.stored(view_of(str(call.acting_user), kind, party))
    if pin_fields(context, view).get("pinnedBy") == APP:
        raise refused("ERR_SYSTEM_PINNED_CONVERSATION")
    return view


def _check_party(context: Context, kind: Kind, party: str) -> None:
    if kind == "group":
        group_record(context, party)
    else:
        user_record(context, party)


def _pin_reply(context: Context, view: View) -> bytes:
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
    "conversations.list_pinned": list_pinned,
    "conversations.replace_pinned": replace_pinned,
    **dict.fromkeys(("conversations.pin_user", "conversations.pin_group"), pin_conversation),
    **dict.fromkeys(("conversations.unpin_user", "conversations.unpin_group"), unpin_conversation),
}
