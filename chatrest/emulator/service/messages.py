"""The operations of messages: their lists here, what changes them in the files beside."""

from typing import Final

from msgspec import structs
from msgspec.json import encode

from ..store.message_index import (
    ALL,
    conversation_id,
    conversation_list,
    group_list,
    participant_list,
    thread_list,
)
from ..store.message_lists import Condition
from . import message_changes, message_marks, reactions, sending, threads
from .context import Call, Context, Handler
from .envelopes import one_reply
from .groups import group_record
from .list_request import ListRequest, list_request
from .message_access import message_record, message_reply, readable_message
from .message_pages import count_reply, page_reply
from .users import user_record

_OWN_FLAGS: Final = ("unread", "undelivered", "saved")
_HIDES_BLOCKED: Final = "hideMessagesFromBlockedUsers"
_OWN: Final = """(m.sender = ? OR (m.receiver_type = 'user' AND m.receiver = ?)
    OR (m.receiver_type = 'group' AND m.receiver IN (SELECT value FROM json_each(?))))"""
_NOT_BLOCKED: Final = "m.sender NOT IN (SELECT value FROM json_each(?))"
_NOT_RESET: Final = """m.id > coalesce(
    (SELECT reset_id FROM views v WHERE v.uid = ? AND v.conversation = m.conversation), 0)"""


def list_user(context: Context, call: Call) -> bytes:
    """With an acting user the conversation of the two; without, all messages that the user takes part in."""
    uid, reader, store = call.path["uid"], call.acting_user, context.store
    user_record(context, uid)
    sizes, default = (("limit", "perPage"), 10) if reader else (("perPage", "limit"), 100)
    request = visible(context, call, list_request(call.query, reader, uid, sizes, default))
    name = conversation_list(conversation_id(uid, reader)) if reader else participant_list(uid)
    if request.count:
        return count_reply(store, name, request, uid, context.user_lists)
    return page_reply(store, name, request, reader, context.user_lists)


def list_group(context: Context, call: Call) -> bytes:
    """The messages of a group."""
    guid = call.path["guid"]
    group_record(context, guid)
    return _list(context, call, group_list(guid), 10)


def list_all(context: Context, call: Call) -> bytes:
    """The messages of the app; with an acting user those that this user takes part in.

    Those that the user has not read, not got or saved may also have been sent to the user's groups.
    """
    reader = call.acting_user
    if reader is None or any(call.query.flag(name) for name in _OWN_FLAGS):
        return _list(context, call, ALL, 10)
    return _list(context, call, participant_list(reader), 10)


def list_thread(context: Context, call: Call) -> bytes:
    """The replies to a message."""
    parent = call.path["id"]
    message_record(context, parent)
    return _list(context, call, thread_list(str(int(parent))), 100)


def _list(context: Context, call: Call, name: str, default_size: int) -> bytes:
    reader = call.acting_user
    request = list_request(call.query, reader, None, ("limit", "perPage"), default_size)
    request = visible(context, call, request)
    if reader is not None and name == ALL:
        guids = encode(context.store.members.guids(reader)).decode()
        request = narrowed(request, _OWN, (reader, reader, guids))
    if request.count:
        return count_reply(context.store, name, request, reader, context.other_lists)
    return page_reply(context.store, name, request, reader, context.other_lists)


def visible(context: Context, call: Call, request: ListRequest) -> ListRequest:
    """The request without what the acting user has reset, and on demand without messages of blocked users.

    What may change meanwhile is in the values of a condition, as its matches are cached.
    """
    reader, store, hides_blocked = call.acting_user, context.store, call.query.flag(_HIDES_BLOCKED)
    call.query.check()
    if reader is None:
        return request
    if store.views.has_resets(reader):
        request = narrowed(request, _NOT_RESET, (reader,))
    if hides_blocked:
        blocked = encode(store.relations.uids("blocked", reader)).decode()
        request = narrowed(request, _NOT_BLOCKED, (blocked,))
    return request


def narrowed(request: ListRequest, sql: str, values: tuple[str, ...]) -> ListRequest:
    """The request with one more condition."""
    before = request.condition
    terms = " AND ".join(filter(None, (before.sql, sql)))
    return structs.replace(request, condition=Condition(terms, (*before.values, *values)))


def get_message(context: Context, call: Call) -> bytes:
    """One message, with its tags; 403 for an acting user who has no part in its conversation."""
    message = readable_message(context, call)
    if call.acting_user is None:
        return one_reply(message_record(context, call.path["id"]))
    return message_reply(context, message, call.acting_user)


HANDLERS: Final[dict[str, Handler]] = {
    "messages.list_user": list_user,
    "messages.list_group": list_group,
    "messages.list": list_all,
    "messages.list_thread": list_thread,
    "messages.get": get_message,
    **message_changes.HANDLERS,
    **message_marks.HANDLERS,
    **reactions.HANDLERS,
    **sending.HANDLERS,
    **threads.HANDLERS,
}
