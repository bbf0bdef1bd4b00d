"""The operations of conversations: the list of them, those of one user's view, and the app's own pins.

The path says if a user or a group is meant. Where the table is silent, the emulator has chosen:
- The list with an acting user: the app's pins, the user's own, then the rest, each from the newest to the
  oldest. Without one the views of all users, by uid first.
- `mark_read` and `mark_delivered` without `messageId` are about all messages, `mark_unread` about the last
  one of the other side. In a conversation of two they move `readAt` and `deliveredAt` of the messages.
- A reset hides the messages so far from the user; the conversation is not accessible until the next message,
  except with `preserveOrder`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec import UNSET

from ..store.directory import SYSTEM, untagged
from ..store.documents import Document
from ..store.message_index import conversation_list
from ..store.views import ConversationView, PartyKind, Receipt
from .groups import APP, party_record
from .handler_input import Context, Handler, ServiceCall, has_tag, has_text
from .refusals import bad_request, refusal
from .reply_forms import LazyRecords, ack


def conversation_record(context: Context, query: Document, view: ConversationView) -> Document:
    store, last = context.store, context.store.views.last_message(view)
    party = _party_record(context, view)
    if view.kind == "user" and not query.get("withUserAndGroupTags"):
        party = untagged(party)
    if query.get("withBlockedInfo") and view.kind == "user":
        party |= {
            "blockedByMe": view.party in store.relations.of("blocked", view.uid),
            "hasBlockedMe": view.uid in store.relations.of("blocked", view.party),
        }
    record: Document = {
        "conversationId": view.conversation,
        "conversationType": view.kind,
        "unreadMessageCount": str(store.views.unread_count(view)),
        "createdAt": view.created_at,
        "updatedAt": store.views.last_activity_at(view),
        "conversationWith": party,
    }
    if last is not None:
        record["lastMessage"] = store.record(last.number)
    if query.get("withTags"):
        record["tags"] = view.tags
    return record | pin_fields(context, view)


def _party_record(context: Context, view: ConversationView) -> Document:
    people = context.store.people
    if view.kind == "group":
        return people.groups.get(view.party, {"guid": view.party})
    if people.user(view.party) is None:
        return dict(SYSTEM) if view.party == APP else {"uid": view.party, "name": view.party}
    return people.users[view.party] | {"conversationId": view.conversation}


def pin_fields(context: Context, view: ConversationView) -> Document:
    """Return `pinnedBy` and `pinnedAt`; the app's pin goes before the user's own."""
    own = {} if view.pinned_at is None else {"pinnedBy": view.uid, "pinnedAt": view.pinned_at}
    return context.store.views.app_pins.get((view.kind, view.party), own)


_Filter: TypeAlias = Callable[[Context, ConversationView, Any], bool]
"""Says if a view is in the list, by the value of a query parameter."""


def _is_tagged(kind: PartyKind, context: Context, view: ConversationView, tags: tuple[str, ...]) -> bool:
    return view.kind == kind and has_tag(_party_record(context, view), tags)


def _is_pinned_by(context: Context, view: ConversationView, names: tuple[str, ...]) -> bool:
    pinned_by = pin_fields(context, view).get("pinnedBy")
    return pinned_by is not None and ("system" if pinned_by == APP else "me") in names


_FILTERS: Final[Mapping[str, _Filter]] = {
    "conversationType": lambda _, view, kind: bool(view.kind == kind),
    "searchKey": lambda context, view, text: has_text(
        _party_record(context, view), text, ("name",), anywhere=True
    ),
    "unread": lambda context, view, _: context.store.views.unread_count(view) > 0,
    "onlyAgentic": lambda *_: False,
    "pinnedBy": _is_pinned_by,
    "tags": lambda _, view, tags: not set(tags).isdisjoint(view.tags),
    "userTags": partial(_is_tagged, "user"),
    "groupTags": partial(_is_tagged, "group"),
}


def list_conversations(call: ServiceCall) -> LazyRecords:
    query, reader, all_views = call.query, call.acting_user, call.store.views
    filters = [(test, query[name]) for name, test in _FILTERS.items() if query.get(name)]
    blocked = call.store.relations.of("blocked", reader) if reader else {}
    views = [
        view
        for view in all_views.all(reader)
        if not all_views.is_removed(view)
        and (view.party not in blocked or query.get("includeBlockedUsers"))
        and all(test(call, view, value) for test, value in filters)
    ]
    pin_ranks = {key: index for index, key in enumerate(all_views.app_pins)}

    def rank(view: ConversationView) -> tuple[Any, ...]:
        pin_rank = pin_ranks.get((view.kind, view.party), len(pin_ranks) + (view.pinned_at is None))
        return pin_rank if reader else view.uid, -all_views.last_activity_at(view), view.party

    views.sort(key=rank)
    if query.get("unique") and not reader:
        first_views = {view.conversation: view for view in reversed(views)}
        views = [view for view in views if first_views[view.conversation] is view]
    return LazyRecords(views, partial(conversation_record, call, query))


def own_view(call: ServiceCall) -> ConversationView:
    kind: PartyKind = "group" if "guid" in call.path else "user"
    party = call.path["guid" if kind == "group" else "uid"]
    party_record(call, kind, party)
    return call.store.views.view(str(call.acting_user), kind, party)


def accessible_view(call: ServiceCall) -> ConversationView:
    """Return the acting user's view of the conversation in the path; 403 where it has no message."""
    uid, views = str(call.acting_user), call.store.views
    conversation = call.path.get("conversationId")  # of the operations that are deprecated
    if conversation is not None and not views.all(None, conversation):
        raise refusal("ERR_CONVERSATION_NOT_FOUND", conversation)
    own = views.all(uid, conversation or own_view(call).conversation)
    if not own:
        raise refusal("ERR_CONVERSATION_NOT_ACCESSIBLE", uid)
    return own[0]


def get_conversation(call: ServiceCall) -> Document:
    view = accessible_view(call)
    if call.store.views.is_removed(view):
        raise refusal("ERR_CONVERSATION_NOT_ACCESSIBLE", view.uid)
    return conversation_record(call, {"withTags": True}, view)


def update_conversation(call: ServiceCall) -> Document:
    accessible_view(call).tags = tuple(call.body["tags"])
    return get_conversation(call)


def reset_conversation(call: ServiceCall) -> Document:
    """Empty the user's view of a conversation; `preserveOrder` keeps it in the list."""
    view, body, store = accessible_view(call), call.body, call.store
    if body.get("conversationWith") not in (None, view.party):
        raise bad_request({"conversationWith": ["The conversationWith must be the one of the path."]})
    view.reset_id = view.read_id = store.last_id
    view.is_listed_after_reset = body.get("preserveOrder", False)
    view.tags = ()
    if body.get("deleteMessagesPermanently"):
        store.remove(store.ids(conversation=view.conversation))
    return ack(f"The conversation with {view.party} has been reset.")


def _mark_received(receipt: Receipt, call: ServiceCall) -> Document:
    view, store = accessible_view(call), call.store
    number = _message_number(call, view) or store.last_id
    # A message that is read is delivered, too.
    view.delivered_id = max(number, view.delivered_id)
    if receipt == "read":
        view.read_id = max(number, view.read_id)
    at, versions = max(call.now, store.last_sent_at), {}
    for each in store.views.messages_of_others(view) if view.kind == "user" else ():
        if each.number <= number and (each.delivered_at is UNSET or each.read_at is UNSET):
            record = store.record(each.number)
            times = {name: record.get(name, at) for name in ("deliveredAt", f"{receipt}At")}
            versions[each.number] = record | times
    store.rewrite(versions)
    name = "Message" if view.kind == "user" else "message"
    return ack(f"The conversation with {view.party} has been marked as {receipt}.", name)


def mark_unread(call: ServiceCall) -> Document:
    view, store = accessible_view(call), call.store
    others = store.views.messages_of_others(view)
    last = max((each.number for each in others if each.category != "action"), default=0)
    number = _message_number(call, view) or last
    versions = {each.number: store.record(each.number) for each in others if each.number >= number}
    for version in versions.values():
        version.pop("readAt", None)
    store.rewrite(versions)
    view.read_id = min(view.read_id, max(0, number - 1))
    return ack(f"The conversation with {view.party} has been marked as unread.")


def _message_number(call: ServiceCall, view: ConversationView) -> int | None:
    number: int | None = call.body.get("messageId")
    if number is not None and number not in call.store.matching(conversation_list(view.conversation)):
        raise refusal("ERR_MESSAGE_ID_NOT_FOUND", number)
    return number


def change_pin(call: ServiceCall) -> Document:
    view, is_pin = own_view(call), call.endpoint.method == "POST"
    if pin_fields(call, view).get("pinnedBy") == APP:
        raise refusal("ERR_SYSTEM_PINNED_CONVERSATION")
    if is_pin is (view.pinned_at is None):
        view.pinned_at = call.now if is_pin else None
    record = {"conversationId": view.conversation, "conversationType": view.kind}
    return record | pin_fields(call, view)


def list_pinned(call: ServiceCall) -> list[Document]:
    return [
        {"conversationId": f"group_{party}" if kind == "group" else party, "conversationType": kind, **pin}
        for (kind, party), pin in call.store.views.app_pins.items()
    ]


def replace_pinned(call: ServiceCall) -> list[Document]:
    views, new = call.store.views, {"pinnedBy": APP, "pinnedAt": call.now}
    bodies = call.body["pinnedConversations"]
    keys = [("user", pin["uid"]) if "uid" in pin else ("group", pin["guid"]) for pin in bodies]
    for kind, party in keys:
        party_record(call, kind, party)
    views.app_pins = {key: views.app_pins.get(key, new) for key in keys}
    return list_pinned(call)


_OF_USERS_AND_GROUPS: Final[dict[str, Handler]] = {
    "get": get_conversation,
    "update": update_conversation,
    "reset": reset_conversation,
    "mark_delivered": partial(_mark_received, "delivered"),
    "mark_read": partial(_mark_received, "read"),
    "mark_unread": mark_unread,
    "pin": change_pin,
    "unpin": change_pin,
}
HANDLERS: Final[dict[str, Handler]] = {
    "conversations.list": list_conversations,
    "conversations.get": get_conversation,
    "conversations.delete": reset_conversation,
    "conversations.list_pinned": list_pinned,
    "conversations.replace_pinned": replace_pinned,
    **{
        f"conversations.{name}_{kind}": each
        for name, each in _OF_USERS_AND_GROUPS.items()
        for kind in ("user", "group")
    },
}
