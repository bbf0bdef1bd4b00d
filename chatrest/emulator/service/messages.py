"""Single messages: found, allowed to their reader, shown with what that reader alone sees, changed, and sent.

An edit or a deletion writes an action message, and moves the times of the message. A deleted message stays
in its lists, with `deletedAt`, unless the deletion is permanent. The action is sent in the name of the
message's sender, so that it is in the same lists; `data.entities.by` is the one who acted. A message to
several receivers is stored once for each, and answered with an outcome for each: `{uids: {uid: {success,
data}}, guids: {…}}`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple, get_args

from msgspec.json import encode

from ..._parameters.messages import MediaType
from ..store import Store
from ..store.documents import Document, selected
from ..store.message_index import conversation_id, number_of, parse_record, thread_list
from ..store.views import Mark
from .context import Context, Handler, ServiceCall
from .groups import APP, party_record
from .refusals import outcomes, refused
from .replies import ack


class NumberedMessage(NamedTuple):
    number: int
    record: Document
    """Its JSON, with tags."""


def message_record(context: Context, id: str) -> bytes:
    number = number_of(id)
    record = None if number is None else context.store.message(number)
    if record is None:
        raise refused("ERR_MESSAGE_ID_NOT_FOUND", id)
    return record


def readable_message(call: ServiceCall) -> NumberedMessage:
    """Return the message of the path; 403 where the acting user has no part in its conversation."""
    name, reader = call.path["id"], call.acting_user
    record = parse_record(message_record(call, name))
    parties = (record.get("sender"), record.get("receiver"))
    if reader and record.get("receiverType") == "user" and reader not in parties:
        raise refused("ERR_MESSAGE_NO_ACCESS", name)
    return NumberedMessage(int(name), record)


def changeable_message(call: ServiceCall) -> NumberedMessage:
    """Return the message of the path, if it may be changed: 403 for an action, or for another one's message.

    The app may change any message; so may admins and moderators of the group that it was sent to.
    """
    message, actor = readable_message(call), call.acting_user
    record, members = message.record, call.store.members
    if record.get("category") == "action":
        raise refused("ERR_MESSAGE_ACTION_NOT_ALLOWED", call.path["id"])
    guid = str(record.get("receiver")) if record.get("receiverType") == "group" else ""
    member = members.of(guid).get(actor or "")
    moderates = member is not None and member.scope in ("admin", "moderator")
    if actor and actor != record.get("sender") and not moderates:
        raise refused("ERR_MESSAGE_NOT_A_SENDER", call.path["id"], actor)
    return message


def count_replies(store: Store, parent: str) -> None:
    number = number_of(parent) or 0
    if number in store.messages:
        store.rewrite({number: store.record(number) | {"replyCount": store.size(thread_list(number))}})


def message_reply(call: ServiceCall, message: NumberedMessage) -> bytes:
    [record] = with_personal(call.store, [message.number], [encode(message.record)], call.acting_user)
    return b'{"data":%b}' % record


def with_personal(store: Store, ids: Sequence[int], records: list[bytes], reader: str | None) -> list[bytes]:
    """Return the records with what the reader alone sees: `savedAt`, `threadSubscribed`, `reactedByMe`."""
    if reader is None:
        return records
    every = ([mark for mark in store.marks.on(number) if mark.owner == reader] for number in ids)
    return [_personal(raw, own) if own else raw for raw, own in zip(records, every, strict=True)]


def _personal(raw: bytes, marks: list[Mark]) -> bytes:
    record, emojis = parse_record(raw), [mark.value for mark in marks if mark.kind == "reaction"]
    for mark in marks:
        if mark.kind == "save":
            record["savedAt"] = mark.at
        elif mark.kind == "subscription":
            record["threadSubscribed"] = True
    counts = _data(record).get("reactions")
    for count in counts if isinstance(counts, list) else ():
        if isinstance(count, dict) and count.get("reaction") in emojis:
            count["reactedByMe"] = True
    return encode(record)


def _data(record: Document) -> Document:
    data = record.get("data")
    return data if isinstance(data, dict) else {}


_CONTENT: Final[dict[str, tuple[str, type, str]]] = {
    "text": ("text", str, "ERR_EMPTY_MESSAGE_TEXT"),
    "media": ("attachments", list, "ERR_EMPTY_MESSAGE_FILE"),
    "custom": ("customData", dict, "ERR_EMPTY_CUSTOM_DATA"),
    "interactive": ("interactiveData", dict, "ERR_INVALID_MESSAGE_DATA"),
}
"""By kind of message: the member that its data needs, its type, and the code where it is not there."""


def check_data(data: Document, kind: str) -> None:
    member, content_type, code = _CONTENT[kind]
    content = data.get(member)
    items = content if isinstance(content, list) else [{}]
    is_of_type = isinstance(content, content_type) and all(isinstance(each, dict) for each in items)
    if not is_of_type or not content or str(content).isspace():
        raise refused(code)


def update_message(call: ServiceCall) -> Document:
    message, body = changeable_message(call), call.body
    if "data" in body:
        if "text" in body["data"]:
            check_data(body["data"], "text")
        message.record["data"] = _data(message.record) | body["data"]
    if "tags" in body:
        message.record["tags"] = body["tags"]
    return _changed(call, message, "edited")


def delete_message(call: ServiceCall) -> Document:
    message = changeable_message(call)
    action = _changed(call, message, "deleted")
    if call.body.get("permanent"):
        call.store.remove([message.number])
        count_replies(call.store, str(message.record.get("parentId")))
    return action


def _changed(call: ServiceCall, message: NumberedMessage, action: str) -> Document:
    store, actor = call.store, call.acting_user or APP
    at = max(call.now, store.last_sent_at)
    message.record.update({"updatedAt": at, f"{action}At": at, f"{action}By": actor})
    store.rewrite({message.number: message.record})
    on = {"entity": message.record, "entityType": "message"}
    return store.add_action(actor, action, on, message.record, sent_at=at)


def change_pin(call: ServiceCall) -> bytes:
    """Pin a message for everybody, or unpin it; without an acting user the app does. `pinnedAt` stays."""
    message, is_wanted = readable_message(call), call.endpoint.method == "POST"
    if is_wanted is not bool(message.record.get("pinnedAt")):
        pin = {"pinnedAt": call.now, "pinnedBy": call.acting_user or APP} if is_wanted else {}
        rest = {name: value for name, value in message.record.items() if not name.startswith("pinned")}
        message = message._replace(record=rest | pin)
        call.store.rewrite({message.number: message.record})
    return message_reply(call, message)


def change_mark(call: ServiceCall, kind: str, message: NumberedMessage, value: str = "") -> bool:
    """Add or remove a mark of the acting user; the first time stays. False where nothing changes."""
    marks, uid = call.store.marks, str(call.acting_user)
    if call.endpoint.method == "POST":
        return marks.add(kind, message.number, uid, call.now, value)
    return marks.remove(kind, message.number, uid, value)


def change_save(call: ServiceCall) -> bytes:
    message = readable_message(call)
    change_mark(call, "save", message)
    return message_reply(call, message)


def change_subscription(call: ServiceCall) -> Document:
    """Begin or end the acting user's subscription; a later reply of that user subscribes again."""
    change_mark(call, "subscription", readable_message(call))
    return ack()


def list_reactions(call: ServiceCall) -> list[Document]:
    """The reactions to a message; those of one emoji where the path has one."""
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
    if change_mark(call, "reaction", message, emoji):
        data = _data(message.record)
        known = [each for each in data.get("reactions") or () if isinstance(each, dict)]
        counts = {each["reaction"]: each["count"] for each in known}
        counts[emoji] = counts.get(emoji, 0) + (1 if call.endpoint.method == "POST" else -1)
        reactions = [{"reaction": name, "count": count} for name, count in counts.items() if count > 0]
        message.record["data"] = data | {"reactions": reactions}
        call.store.rewrite({message.number: message.record})
    return message_reply(call, message)


# ── sending: a message, a bot's message, a reply in a thread ──


_TYPES: Final = ("text", *get_args(MediaType))


def checked_data(data: Document, category: str, kind: str) -> Document:
    """Return the data of a message as it is shown; 400 where it is not right for its category and type."""
    if category == "message" and kind not in _TYPES:
        raise refused("ERR_INVALID_MESSAGE_TYPE", ", ".join(_TYPES))
    is_media = category == "message" and kind != "text"
    check_data(data, "media" if is_media else kind if category == "message" else category)
    if not is_media:
        return data
    # Sizes come as digits and are shown as numbers.
    sized = [item | _size(item.get("size")) for item in data["attachments"]]
    return data | {"attachments": sized, "url": sized[0].get("url")}


def _size(size: Any) -> Document:
    return {"size": int(size)} if isinstance(size, str) and size.isascii() and size.isdigit() else {}


def send_bot_message(call: ServiceCall) -> Document:
    """Store a message of a bot, which may be interactive; here every user may be a bot."""
    if call.store.people.user(call.path["uid"]) is None:
        raise refused("ERR_BOT_NOT_FOUND", call.path["uid"])
    return _send(call, call.path["uid"])


def send_thread_message(call: ServiceCall) -> Document:
    """Store a reply in the thread of a message; the replying user and the message's sender are subscribed."""
    if not call.body.keys() & {"receiver", "multipleReceivers"}:
        raise refused("ERR_EMPTY_RECEIVER")
    parent, sender = readable_message(call), str(call.acting_user)
    if parent.record.get("parentId"):
        raise refused("ERR_MESSAGE_THREAD_NESTING")
    if parent.record.get("category") in ("action", "call"):
        raise refused("ERR_WRONG_MESSAGE_THREAD_CATEGORY")
    answer = _send(call, sender, parent)
    count_replies(call.store, str(parent.number))
    for uid in (sender, str(parent.record.get("sender"))):
        call.store.marks.add("subscription", parent.number, uid)
    return answer


def _send(call: ServiceCall, sender: str, parent: NumberedMessage | None = None) -> Document:
    """Store the message of the body for its receiver, or for each of several."""
    body, category = call.body, call.body.get("category", "message")
    data = checked_data(body["data"], category, body["type"])
    fields = {name: value for name, value in selected(body, ("muid", "tags")).items() if value}
    if "quotedMessageId" in body:
        quoted = parse_record(message_record(call, body["quotedMessageId"]))
        fields["quotedMessage"] = {name: quoted[name] for name in quoted if name != "quotedMessage"}
    if parent is not None:
        fields["parentId"] = str(parent.number)

    def store(kind: str, receiver: str) -> Document:
        _check_addressee(call, kind, receiver, sender)
        conversation = conversation_id(sender, receiver, kind)
        if parent is not None and conversation != parent.record.get("conversationId"):
            raise refused("ERR_WRONG_MESSAGE_THREAD")
        about = {"category": category, "type": body["type"], "data": data, "sent_at": call.now}
        return call.store.add_message(sender, receiver, receiver_type=kind, **about, **fields)

    kind, receiver = body.get("receiverType", "user"), body.get("receiver")
    if "multipleReceivers" not in body:
        return store(kind, str(receiver))
    kinds = {"uids": "user", "guids": "group"}
    lists = {name: [*body["multipleReceivers"].get(name, ())] for name in kinds}
    if receiver:
        lists["guids" if kind == "group" else "uids"].insert(0, receiver)
    return {name: outcomes(ids, partial(store, kinds[name]), "data") for name, ids in lists.items() if ids}


def _check_addressee(context: Context, kind: str, receiver: str, sender: str) -> None:
    relations = context.store.relations
    party_record(context, kind, receiver)
    if kind == "group":
        if sender in relations.of("banned", receiver):
            raise refused("ERR_BANNED_GROUPMEMBER", sender, receiver)
        return
    if receiver in relations.of("blocked", sender):
        raise refused("ERR_BLOCKED_RECEIVER", receiver)
    if sender in relations.of("blocked", receiver):
        raise refused("ERR_BLOCKED_SENDER", receiver)


HANDLERS: Final[dict[str, Handler]] = {
    "messages.send": lambda call: _send(call, call.acting_user or APP),
    "messages.send_bot": send_bot_message,
    "messages.send_thread": send_thread_message,
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
