"""The documented records, and the bodies that hold them: what the tests of decoding are made of."""

import json
from typing import Any

from hypothesis import strategies as st

from chatrest._core.replies.decode import many, one
from chatrest._models.messages import (
    ActionMessage,
    CallMessage,
    CustomMessage,
    MediaMessage,
    Message,
    TextMessage,
    UnknownMessage,
)

PAGE, MESSAGE_ONE = many(Message), one(Message)


def user(uid: str, **more: Any) -> dict[str, Any]:
    return {"entity": {"uid": uid, "name": uid.title(), "role": "default", "avatar": f"https://x/{uid}.png",
                       "status": "offline", **more}, "entityType": "user"}  # fmt: skip


COMMON = {
    "id": "1001", "conversationId": "alice_user_bob", "sender": "alice", "receiverType": "user",
    "receiver": "bob", "category": "call", "type": "audio", "sentAt": 1700000000, "updatedAt": 1700000001,
}  # fmt: skip
CALL = {
    "data": {
        "entities": {"sender": user("alice"), "receiver": user("bob")},
        "metadata": {"free": ["form", 1]},
    },
    "type": "audio",
    "sender": "alice",
    "receiver": "bob",
    "receiverType": "user",
    "status": "ongoing",
    "sessionid": "v1.us.1",
    "conversationId": "alice_user_bob",
    "initiatedAt": 1700000000,
    "joinedAt": 1700000002,
    "startedAt": 1700000003,
    "wsChannel": {"secret": "s3cr3t", "service": "ws.x", "identity": "alice"},
}
CALL_MESSAGE = {
    **COMMON,
    "data": {
        "action": "ongoing",
        "entities": {
            "by": user("alice", conversationId="alice_user_bob"),
            "on": {"entity": CALL, "entityType": "call"},
            "for": user("bob"),
        },
    },
}
TEXT = {
    **COMMON, "id": "1002", "category": "message", "type": "text",
    "data": {"text": "hello", "metadata": {"a": 1}},
}  # fmt: skip
MEDIA = {
    **TEXT,
    "id": "1003",
    "type": "image",
    "tags": ["a"],
    "parentId": "7",
    "data": {
        "attachments": [
            {"url": "https://x/f.png", "name": "f", "mimeType": "image/png", "extension": "png", "size": 9}
        ]
    },
}
CUSTOM = {
    **COMMON, "id": "1004", "category": "custom", "type": "poll", "data": {"customData": {"q": [1, None]}},
}  # fmt: skip
ACTION = {
    **COMMON,
    "id": "1005",
    "category": "action",
    "type": "message",
    "data": {
        "action": "edited",
        "entities": {"by": user("alice"), "on": {"entity": TEXT, "entityType": "message"}},
    },
}
GOOD = [CALL_MESSAGE, TEXT, MEDIA, CUSTOM, ACTION]
KINDS = [CallMessage, TextMessage, MediaMessage, CustomMessage, ActionMessage]
META = {
    "pagination": {"total": 0, "count": 5, "per_page": 100, "current_page": 1, "total_pages": 1},
    "cursor": {"id": 1001, "affix": "prepend"},
}


def body(records: Any, meta: Any = META) -> bytes:
    return json.dumps({"data": records, "meta": meta}).encode()


def poisoned(records: list[Any]) -> list[Any]:
    """Return what is made of the records where an unreadable one among them keeps them from being decoded at
    once."""
    listing = PAGE(body([*records, None]))
    assert isinstance(listing.items[-1], UnknownMessage)
    return listing.items[:-1]


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**20, 10**60)
    | st.floats()
    | st.text(st.characters(codec=None, categories=None), max_size=6)
)
json_values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=4) | st.sampled_from(["entity", "uid", "text", "id"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def paths(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here for key, each in items for here in [(*above, key), *paths(each, (*above, key))]]


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """A good record with one to three of its members dropped, exchanged or added."""
    record = json.loads(json.dumps(draw(st.sampled_from(GOOD))))
    for _ in range(draw(st.integers(1, 3))):
        *above, name = draw(st.sampled_from(paths(record)))
        holder = record
        for each in above:
            holder = holder[each]
        how = draw(st.sampled_from(["drop", "exchange", "add"]))
        if how == "drop":
            del holder[name]
        elif how == "exchange":
            holder[name] = draw(json_values | st.sampled_from([[], {}, "5", 5, 1, 0, 5.0, "", "call", None]))
        elif isinstance(holder, dict):
            holder[draw(st.text(max_size=4))] = draw(json_values)
        if not record or not paths(record):
            break
    return json.dumps(record, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
