import json
from typing import Any

import pytest

from chatrest.emulator.store.message_index import COLUMNS, index_message, parse_record
from chatrest.errors import RequestInvalidError

NAMES = [column.split()[0] for column in COLUMNS]


def columns(**fields: Any) -> dict[str, Any]:
    return dict(zip(NAMES, index_message(json.dumps(fields).encode(), 0).columns, strict=True))


@pytest.mark.parametrize(
    ("own", "expected"), [("9", 9), (9, 9), ("4", 6), (None, 6), ("x", 6), ("9" * 40, 6), ("٩", 6)]
)
def test_an_id_counts_where_it_is_a_number_above_the_last(own: Any, expected: int) -> None:
    assert index_message(json.dumps({"id": own}).encode(), 5).columns[0] == expected


def test_tags_are_cut_out_of_what_is_served_and_nothing_else_is() -> None:
    message = index_message('{"id":"1","tags":["a","ü"],"data":{"text":"é\\u00e9 🎉"}}'.encode(), 0)
    assert message.record == '{"id":"1","data":{"text":"éé 🎉"}}'.encode()
    assert dict(zip(NAMES, message.columns, strict=True))["tags"] == '["a","ü"]'
    plain = b'{ "id": "1",  "odd": [1.0, {}] }'
    assert index_message(plain, 0).record == plain


def test_the_columns_of_filters_are_read_from_the_record() -> None:
    indexed = columns(
        conversationId="c",
        sender="s",
        receiver="r",
        receiverType="user",
        category="message",
        type="image",
        sentAt=5,
        parentId=3,
        readAt=1,
        deletedAt=2,
        data={
            "text": "Look HTTPS://a.example",
            "mentions": {"u": {}},
            "reactions": [{}],
            "attachments": [{"mimeType": "image/png"}, {"mimeType": "application/pdf"}, "?"],
        },
    )
    assert indexed == {
        "id": 1,
        "conversation": "c",
        "sender": "s",
        "receiver": "r",
        "receiver_type": "user",
        "category": "message",
        "type": "image",
        "sent_at": 5,
        "parent": "3",
        "read": 1,
        "delivered": 0,
        "deleted": 1,
        "links": 1,
        "reactions": 1,
        "attachments": '["image","file"]',
        "mentions": '["u"]',
        "tags": None,
        "text": "look https://a.example",
    }


@pytest.mark.parametrize(
    "data", [[], None, "x", {"text": 1, "mentions": [], "attachments": {}, "reactions": 0}]
)
def test_odd_records_are_filed(data: Any) -> None:
    indexed = columns(id=[], sentAt="soon", sender=None, data=data)
    assert (indexed["id"], indexed["sent_at"], indexed["sender"], indexed["text"]) == (1, None, None, "")
    assert (indexed["attachments"], indexed["mentions"]) == (None, None)


def test_lone_surrogates_and_records_that_are_no_object() -> None:
    assert parse_record(b'{"sender":"\\ud800"}') == {"sender": "?"}
    assert parse_record(b"[1]") == {}
    with pytest.raises(RequestInvalidError, match="JSON"):
        parse_record(b"nope")


def test_the_lists_of_a_message() -> None:
    def lists(**fields: Any) -> set[str]:
        return set(
            index_message(json.dumps({"conversationId": "x", "sender": "a", **fields}).encode(), 0).lists
        )

    assert lists(receiver="b", receiverType="user") == {"*", "c:x", "u:a", "u:b"}
    assert lists(receiver="g", receiverType="group", parentId="7") == {"*", "c:x", "u:a", "t:7"}
    assert lists(receiver="a", receiverType="user") == {"*", "c:x", "u:a"}
