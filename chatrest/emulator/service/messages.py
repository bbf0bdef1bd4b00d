"""Single messages: read by their reader, changed, and marked.

An edit or a deletion writes an action message, and moves the times of the message. A deleted message stays
in its lists, with `deletedAt`, unless the deletion is permanent. The action is sent in the name of the
message's sender, so that it is in the same lists; `data.entities.by` is the one who acted.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.json import encode

from ..store import Store
from ..store.documents import Document
from ..store.message_index import number_of, parse_record, thread_list
from ..store.views import Mark
from .groups import APP
from .handler_input import Context, Handler, ServiceCall
from .refusals import refusal
from .reply_forms import ack


class NumberedMessage(NamedTuple):
    number: int
    record: Document
    """Its JSON, with tags."""


def message_record(context: Context, id: str) -> bytes:
    number = number_of(id)
    record = None if number is None else context.store.message(number)
    if record is None:
        raise refusal("ERR_MESSAGE_ID_NOT_FOUND", id)
    return record


def readable_message(call: ServiceCall) -> NumberedMessage:
    """Return the message of the path; 403 where the acting user has no part in its conversation."""
    number, reader = call.path["id"], call.acting_user
    record = parse_record(message_record(call, number))
    parties = (record.get("sender"), record.get("receiver"))
    if reader and record.get("receiverType") == "user" and reader not in parties:
        raise refusal("ERR_MESSAGE_NO_ACCESS", number)
    return NumberedMessage(int(number), record)


def changeable_message(call: ServiceCall) -> NumberedMessage:
    """Return the message of the path, if it may be changed: 403 for an action, or for another one's message.

    The app may change any message; so may admins and moderators of the group that it was sent to.
    """
    message, actor = readable_message(call), call.acting_user
    record, members = message.record, call.store.members
    if record.get("category") == "action":
        raise refusal("ERR_MESSAGE_ACTION_NOT_ALLOWED", call.path["id"])
    guid = str(record.get("receiver")) if record.get("receiverType") == "group" else ""
    member = members.of(guid).get(actor or "")
    is_moderator = member is not None and member.scope in ("admin", "moderator")
    if actor and actor != record.get("sender") and not is_moderator:
        raise refusal("ERR_MESSAGE_NOT_A_SENDER", call.path["id"], actor)
    return message


def message_reply(call: ServiceCall, message: NumberedMessage) -> bytes:
    [record] = personal_records(call.store, [message.number], [encode(message.record)], call.acting_user)
    return b'{"data":%b}' % record


def personal_records(
    store: Store, ids: Sequence[int], records: list[bytes], reader: str | None
) -> list[bytes]:
    """Return the records with what the reader alone sees: `savedAt`, `threadSubscribed`, `reactedByMe`."""
    if reader is None:
        return records
    marks_of_reader = ([mark for mark in store.marks.on(number) if mark.owner == reader] for number in ids)
    return [
        _personal_record(record, marks) if marks else record
        for record, marks in zip(records, marks_of_reader, strict=True)
    ]


def _personal_record(raw: bytes, marks: list[Mark]) -> bytes:
    record, emojis = parse_record(raw), [mark.value for mark in marks if mark.kind == "reaction"]
    for mark in marks:
        if mark.kind == "save":
            record["savedAt"] = mark.at
        elif mark.kind == "subscription":
            record["threadSubscribed"] = True
    for count in _reaction_counts(record):
        if count.get("reaction") in emojis:
            count["reactedByMe"] = True
    return encode(record)


def _data_of(record: Document) -> Document:
    data = record.get("data")
    return data if isinstance(data, dict) else {}


def _reaction_counts(record: Document) -> list[Document]:
    counts = _data_of(record).get("reactions")
    return [each for each in counts if isinstance(each, dict)] if isinstance(counts, list) else []


_CONTENT: Final[dict[str, tuple[str, type, str]]] = {
    "text": ("text", str, "ERR_EMPTY_MESSAGE_TEXT"),
    "media": ("attachments", list, "ERR_EMPTY_MESSAGE_FILE"),
    "custom": ("customData", dict, "ERR_EMPTY_CUSTOM_DATA"),
    "interactive": ("interactiveData", dict, "ERR_INVALID_MESSAGE_DATA"),
}
"""By kind of message: the member that its data needs, its type, and the code where it is not there."""


def check_content(data: Document, kind: str) -> None:
    member, content_type, code = _CONTENT[kind]
    content = data.get(member)
    items = content if isinstance(content, list) else [{}]
    is_of_type = isinstance(content, content_type) and all(isinstance(each, dict) for each in items)
    if not is_of_type or not content or str(content).isspace():
        raise refusal(code)


def update_message(call: ServiceCall) -> Document:
    message, body = changeable_message(call), call.body
    if "data" in body:
        if "text" in body["data"]:
            check_content(body["data"], "text")
        message.record["data"] = _data_of(message.record) | body["data"]
    if "tags" in body:
        message.record["tags"] = body["tags"]
    return _store_change(call, message, "edited")


def delete_message(call: ServiceCall) -> Document:
    message = changeable_message(call)
    action = _store_change(call, message, "deleted")
    if call.body.get("permanent"):
        call.store.remove([message.number])
        count_replies(call.store, str(message.record.get("parentId")))
    return action


def _store_change(call: ServiceCall, message: NumberedMessage, action: str) -> Document:
    store, actor = call.store, call.acting_user or APP
    at = max(call.now, store.last_sent_at)
    message.record.update({"updatedAt": at, f"{action}At": at, f"{action}By": actor})
    store.rewrite({message.number: message.record})
    on = {"entity": message.record, "entityType": "message"}
    return store.add_action(actor, action, on, message.record, sent_at=at)


def count_replies(store: Store, parent: str) -> None:
    number = number_of(parent) or 0
    if number in store.messages:
        count = len(store.matching(thread_list(number)))
        store.rewrite({number: store.record(number) | {"replyCount": count}})


def change_pin(call: ServiceCall) -> bytes:
    """Pin a message for everybody, or unpin it; without an acting user the app does. `pinnedAt` stays."""
    message, is_pin = readable_message(call), call.endpoint.method == "POST"
    record = message.record
    if is_pin is not bool(record.get("pinnedAt")):
        pin = {"pinnedAt": call.now, "pinnedBy": call.acting_user or APP} if is_pin else {}
        unpinned = {name: value for name, value in record.items() if name not in ("pinnedAt", "pinnedBy")}
        message = message._replace(record=unpinned | pin)
        call.store.rewrite({message.number: message.record})
    return message_reply(call, message)


def change_save(call: ServiceCall) -> bytes:
    message = readable_message(call)
    _change_mark(call, "save", message)
    return message_reply(call, message)


def change_subscription(call: ServiceCall) -> Document:
    """Begin or end the acting user's subscription; a later reply of that user subscribes again."""
    _change_mark(call, "subscription", readable_message(call))
    return ack()


def list_reactions(call: ServiceCall) -> list[Document]:
    emoji, people = call.path.get("reaction"), call.store.people
    return [
        {
            "id": str(mark.id),
            "messageId": str(mark.message),
            "reaction": mark.value,
            "uid": mark.owner,
            "reactedAt": mark.at,
            "reactedBy": people.entity("user", mark.owner)["entity"],
        }
        for mark in call.store.marks.on(readable_message(call).number)
        if mark.kind == "reaction" and emoji in (None, mark.value)
    ]


def change_reaction(call: ServiceCall) -> bytes:
    message, emoji = readable_message(call), call.path["reaction"]
    if _change_mark(call, "reaction", message, emoji):
        counts = {each["reaction"]: each["count"] for each in _reaction_counts(message.record)}
        counts[emoji] = counts.get(emoji, 0) + (1 if call.endpoint.method == "POST" else -1)
        reactions = [{"reaction": name, "count": count} for name, count in counts.items() if count > 0]
        message.record["data"] = _data_of(message.record) | {"reactions": reactions}
        call.store.rewrite({message.number: message.record})
    return message_reply(call, message)


def _change_mark(call: ServiceCall, kind: str, message: NumberedMessage, value: str = "") -> bool:
    """Add or remove a mark of the acting user; the first time stays. False where nothing changes."""
    marks, uid = call.store.marks, str(call.acting_user)
    if call.endpoint.method == "POST":
        return marks.add(kind, message.number, uid, call.now, value)
    return marks.remove(kind, message.number, uid, value)


HANDLERS: Final[dict[str, Handler]] = {
    "messages.update": update_message,
    "messages.delete": delete_message,
    "messages.pin": change_pin,
    "messages.unpin": change_pin,
    "messages.save": change_save,
    "messages.unsave": change_save,
    # Interactions are shown by no operation.
    "messages.mark_interacted": lambda call: ack(f"The message {readable_message(call).number} is noted."),
    "messages.subscribe_thread": change_subscription,
    "messages.unsubscribe_thread": change_subscription,
    "messages.list_reactions": list_reactions,
    "messages.list_reaction": list_reactions,
    "messages.add_reaction": change_reaction,
    "messages.remove_reaction": change_reaction,
}
