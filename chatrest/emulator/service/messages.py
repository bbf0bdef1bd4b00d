"""The operations of messages."""

from typing import Any, Final

from msgspec.json import encode

from ..store.directory import SYSTEM
from ..store.message_index import (
    ALL,
    conversation_id,
    conversation_list,
    group_list,
    participant_list,
    thread_list,
)
from .bodies import read_body
from .context import Call, Context, Handler
from .envelopes import one_reply
from .groups import group_record
from .list_request import list_request
from .message_body import MESSAGE_BYTES, MessageBody, check_addressee, checked_data
from .message_pages import count_reply, page_reply
from .refusals import bad_request, no_message
from .users import user_record


def message_record(context: Context, id: str) -> bytes:
    """Return a message's record with its tags; 404 for no such message."""
    is_number = id.isascii() and id.isdigit() and len(id) < 19
    record = context.store.message(int(id)) if is_number else None
    if record is None:
        raise no_message(id)
    return record


def list_user(context: Context, call: Call) -> bytes:
    """With an acting user the conversation of the two; without, all messages that the user takes part in."""
    uid, reader, store = call.path["uid"], call.acting_user, context.store
    user_record(context, uid)
    sizes, default = (("limit", "perPage"), 10) if reader else (("perPage", "limit"), 100)
    request = list_request(call.query, reader, uid, sizes, default)
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
    """The messages of the app; with an acting user those that this user takes part in."""
    return _list(context, call, participant_list(call.acting_user) if call.acting_user else ALL, 10)


def list_thread(context: Context, call: Call) -> bytes:
    """The replies to a message."""
    parent = call.path["id"]
    message_record(context, parent)
    return _list(context, call, thread_list(str(int(parent))), 100)


def _list(context: Context, call: Call, name: str, default_size: int) -> bytes:
    reader = call.acting_user
    request = list_request(call.query, reader, None, ("limit", "perPage"), default_size)
    if request.count:
        return count_reply(context.store, name, request, reader, context.other_lists)
    return page_reply(context.store, name, request, reader, context.other_lists)


def get_message(context: Context, call: Call) -> bytes:
    """One message, with its tags."""
    return one_reply(message_record(context, call.path["id"]))


def send_message(context: Context, call: Call) -> bytes:
    """Store a message with the next id, sent by the acting user, or by the app itself.

    `sentAt` is never below that of the message before. Creations answer 200 (operations table, `media`).
    """
    if len(call.body) > MESSAGE_BYTES:
        raise bad_request({"data": [f"The message may not be longer than {MESSAGE_BYTES} bytes of JSON."]})
    body, sender = read_body(call.body, MessageBody), call.acting_user or str(SYSTEM["uid"])
    receiver = check_addressee(context, body)
    fields: dict[str, Any] = {"muid": body.muid, "tags": body.tags}
    record = context.store.add_message(
        sender,
        receiver,
        receiver_type=body.receiver_type,
        category=body.category,
        type=body.type,
        data=checked_data(body),
        sent_at=context.now,
        **{name: value for name, value in fields.items() if value},
    )
    return one_reply(encode(record))


HANDLERS: Final[dict[str, Handler]] = {
    "messages.list_user": list_user,
    "messages.list_group": list_group,
    "messages.list": list_all,
    "messages.list_thread": list_thread,
    "messages.get": get_message,
    "messages.send": send_message,
}
