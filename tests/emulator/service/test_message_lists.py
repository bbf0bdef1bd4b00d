"""The filters of message lists against a plain reading of the records, the pages, and threads."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.emulator.conftest import NOW, Answer, ServiceClient
from tests.support.cases import loop_over

Record = dict[str, Any]
Predicate = Callable[[Record], Any]

OF_TWO_USERS: dict[str, Predicate] = {
    "searchKey=MORNING": lambda r: "morning" in r["data"].get("text", "").lower(),
    "searchKey=%C3%87A%20MARCHE": lambda r: "ça marche" in r["data"].get("text", "").lower(),
    "hasAttachments=true": lambda r: r["data"].get("attachments"),
    "attachmentTypes=image": lambda r: "image" in kinds(r),
    "attachmentTypes=image,file": lambda r: {"image", "file"} & kinds(r),
    "hasMentions=1": lambda r: r["data"].get("mentions"),
    "hasLinks=true": lambda r: "https://" in r["data"].get("text", ""),
    "mentionedUids=user-002": lambda r: "user-002" in r["data"].get("mentions", ()),
    "mentionedUids=user-002,user-001": lambda r: (
        {"user-001", "user-002"} & set(r["data"].get("mentions", ()))
    ),
    "unread=true": lambda r: "readAt" not in r and r["sender"] != "user-002",
    "undelivered=true": lambda r: "deliveredAt" not in r and r["sender"] != "user-002",
    "hideReplies=true": lambda r: "parentId" not in r,
    "category=call": lambda r: r["category"] == "call",
    "categories=call,custom": lambda r: r["category"] in ("call", "custom"),
    "categories[]=call&categories[]=action": lambda r: r["category"] in ("call", "action"),
    "type=video": lambda r: r["type"] == "video",
    "types=text&types=poll": lambda r: r["type"] in ("text", "poll"),
    "myMentionsOnly=true": lambda r: "user-002" in r["data"].get("mentions", ()),
    "hasReactions=true": lambda r: r["data"].get("reactions"),
    "sender=user-001": lambda r: r["sender"] == "user-001",
    "hasReactions=true&sender=user-001": lambda r: r["data"].get("reactions") and r["sender"] == "user-001",
    "fromTimestamp=1600040000": lambda r: r["sentAt"] >= 1600040000,
    "toTimestamp=1600040000": lambda r: r["sentAt"] <= 1600040000,
    "fromTimestamp=1600020000&toTimestamp=1600050000": lambda r: 1600020000 <= r["sentAt"] <= 1600050000,
    "tags=urgent": lambda r: "urgent" in r.get("tags", ()),
    "tags=urgent,billing": lambda r: {"urgent", "billing"} & set(r.get("tags", ())),
    "senders=user-001": lambda r: r["sender"] == "user-001",
    "hideDeleted=true": lambda r: "deletedAt" not in r,
    "onlyDeleted=true": lambda r: "deletedAt" in r,
}
OF_THE_APP: dict[str, Predicate] = {
    "receiverType=group": lambda r: r["receiverType"] == "group",
    "conversationId=group_group-01": lambda r: r["conversationId"] == "group_group-01",
    "sentAt=1600040000&affix=append": lambda r: r["sentAt"] > 1600040000,
    "sentAt=1600040000&affix=prepend": lambda r: r["sentAt"] < 1600040000,
}


def kinds(record: Record) -> set[str]:
    types = {item["mimeType"].split("/")[0] for item in record["data"].get("attachments", ())}
    return {"file" if kind in ("application", "text") else kind for kind in types}


@pytest.mark.parametrize(("query", "predicate"), [*OF_TWO_USERS.items(), *OF_THE_APP.items()])
def test_filters_of_two_users_and_of_the_app(
    generated: ServiceClient, query: str, predicate: Predicate
) -> None:
    path, user, ids = "/v3/messages", None, generated.store.ids()
    if query in OF_TWO_USERS:
        path, user = "/v3/users/user-001/messages", "user-002"
        ids = generated.store.ids(conversation="user-001_user_user-002")
    records = [json.loads(record) for record in generated.store.records(ids, with_tags=True)]
    expected = [int(record["id"]) for record in records if predicate(record)]
    assert 0 < len(expected) < min(len(ids), 1000), "the data must hold both kinds"
    assert generated(path, f"limit=1000&{query}", acting_user=user).ids == expected


def test_each_list_has_its_messages(ask: ServiceClient) -> None:
    add = ask.store.add_message
    add("ann", "bob", "1")
    add("bob", "cat", "2")
    add("cat", "ann", "3")
    add("ann", "den", "4", receiver_type="group")
    add("bob", "den", "5", receiver_type="group", parentId="4")
    for path, user, ids in (
        ("messages", None, [1, 2, 3, 4, 5]), ("messages", "ann", [1, 3, 4]),
        ("users/ann/messages", None, [1, 3, 4]), ("users/ann/messages", "bob", [1]),
        ("users/bob/messages", "ann", [1]), ("groups/den/messages", None, [4, 5]),
        ("messages/0004/thread", None, [5]), ("messages/1/thread", None, []),
    ):  # fmt: skip
        assert ask(f"/v3/{path}", acting_user=user).ids == ids


ANNS = "/v3/users/ann/messages"


@pytest.fixture
def seven(ask: ServiceClient) -> ServiceClient:
    """Seven messages between ann and bob, ids 1 to 7, sent at 10 to 70."""
    for number in range(1, 8):
        ask.store.add_message("ann", "bob", str(number), sent_at=number * 10)
    return ask


@loop_over(
    ("query", "ids", "cursor", "left"),
    [
        ("", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("affix=prepend", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("affix=append", [1, 2, 3], {"id": 3, "affix": "append"}, 7),
        ("id=3", [4, 5, 6], {"id": 6, "affix": "append"}, 4),
        ("id=6&affix=append", [7], {"id": 7, "affix": "append"}, 1),
        ("id=7&affix=append", [], {"id": 7, "affix": "append"}, 0),
        ("id=5&affix=prepend", [2, 3, 4], {"id": 2, "affix": "prepend"}, 4),
        ("id=2&affix=prepend", [1], {"id": 1, "affix": "prepend"}, 1),
        ("id=1&affix=prepend", [], {"id": 1, "affix": "prepend"}, 0),
        ("id=99&affix=prepend", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("type=image", [], {"affix": "prepend"}, 0),
    ],
)
def test_pages_of_a_user_have_the_next_position_and_remaining_count(
    seven: ServiceClient, query: str, ids: list[int], cursor: dict[str, Any], left: int
) -> None:
    answer = seven(ANNS, f"perPage=3&{query}")
    assert answer.ids == ids
    numbers = {"total": left, "count": len(ids), "per_page": 3, "current_page": 1}
    pages = {"total_pages": max(1, -(-left // 3))}
    assert answer.json["meta"] == {"pagination": numbers | pages, "cursor": cursor}


@loop_over(
    ("query", "ids", "position"),
    [
        ("", [6, 7], {"affix": "prepend", "sentAt": 60, "id": "6"}),
        ("affix=append", [1, 2], {"affix": "append", "sentAt": 20, "id": "2"}),
        ("affix=append&id=6&sentAt=60", [7], {"affix": "append", "sentAt": 70, "id": "7"}),
        ("affix=append&id=7&sentAt=70", [], {"affix": "append", "sentAt": 70, "id": "7"}),
        ("affix=append&id=999", [], {"affix": "append", "id": "999"}),
        ("type=image", [], {"affix": "prepend"}),
    ],
)
def test_pages_of_the_app_name_the_next_position_with_its_time(
    seven: ServiceClient, query: str, ids: list[int], position: dict[str, Any]
) -> None:
    answer = seven("/v3/messages", f"limit=2&{query}")
    assert answer.ids == ids
    assert answer.json["meta"] == {"current": {"limit": 2, "count": len(ids)}, "next": position}


@loop_over(
    ("query", "acting_user", "size"),
    [
        ("", None, 100), ("limit=3", None, 3), ("limit=3&perPage=4", None, 4), ("", "bob", 10),
        ("perPage=4", "bob", 4), ("limit=3&perPage=4", "bob", 3),
    ],
)  # fmt: skip
def test_limit_goes_with_an_acting_user_and_per_page_without(
    seven: ServiceClient, query: str, acting_user: str | None, size: int
) -> None:
    assert seven(ANNS, query, acting_user=acting_user).json["meta"]["pagination"]["per_page"] == size


def test_counts_per_other_side(seven: ServiceClient) -> None:
    seven.store.add_message("bob", "ann", "8")
    seven.store.add_message("cat", "ann", "9")
    seven.store.add_message("ann", "den", "10", receiver_type="group")

    def counted(path: str, query: str = "", acting_user: str | None = None) -> list[tuple[str, str, int]]:
        answer = seven(path, f"count=true{query}", acting_user=acting_user)
        return [(row["entityType"], row["entityId"], row["count"]) for row in answer.json["data"]]

    assert counted(ANNS) == [("group", "den", 1), ("user", "bob", 8), ("user", "cat", 1)]
    assert counted(ANNS, acting_user="bob") == [("user", "bob", 8)]
    assert counted(ANNS, "&unread=1") == [("user", "bob", 1), ("user", "cat", 1)]
    assert counted("/v3/messages", acting_user="ann") == counted(ANNS)
    assert counted("/v3/groups/den/messages") == [("group", "den", 1)]
    meta = seven(ANNS, "count=1").json["meta"]
    assert (meta["pagination"]["total"], meta["pagination"]["total_pages"]) == (3, 1)
    assert seven("/v3/messages", "count=1").json["meta"]["current"]["count"] == 3


@pytest.fixture
def chat(ask: ServiceClient) -> ServiceClient:
    """Messages 1 (ann to bob), 2 (ann to the group), 3 (bob to ann), sent at 10, 20, 30."""
    ask.store.add_message("ann", "bob", "one", sent_at=10)
    ask.store.add_message("ann", "den", "two", receiver_type="group", sent_at=20)
    ask.store.add_message("bob", "ann", "three", sent_at=30)
    ask.store.members.add("den", "ann")
    return ask


def reply(ask: ServiceClient, parent: int, user: str) -> Answer:
    record = ask.store.record(parent)
    other = record["sender"] if record["receiver"] == user else record["receiver"]
    receiver = {"receiver": other, "receiverType": record["receiverType"]}
    body = receiver | {"type": "text", "data": {"text": "re"}}
    return ask.post(f"/v3/messages/{parent}/thread", body, acting_user=user)


def test_a_reply_that_is_removed_is_counted_no_more(chat: ServiceClient) -> None:
    for _ in range(2):
        reply(chat, 1, "bob")
    chat("/v3/messages/4", method="DELETE", body={"permanent": True})
    assert chat("/v3/messages/1").json["data"]["replyCount"] == 1
    assert chat("/v3/threads").json["data"][0]["replyCount"] == 1
    chat("/v3/messages/5", method="DELETE", body={"permanent": True})
    assert chat("/v3/messages/1").json["data"]["replyCount"] == 0
    assert chat("/v3/threads").ids == []


def test_a_thread_without_a_time_of_the_last_reply_is_the_oldest(chat: ServiceClient) -> None:
    reply(chat, 1, "bob")
    chat.store.add_message("ann", "den", "odd", receiver_type="group", parentId="2", sentAt="soon")
    assert chat("/v3/threads").ids == [1, 2]


def test_threads_of_users_and_groups_and_those_of_one_second_are_never_torn(chat: ServiceClient) -> None:
    for parent in (1, 2, 3):
        reply(chat, parent, "ann")
    assert chat("/v3/threads").json["meta"]["current"] == {"limit": 100, "count": 3}
    answer = chat("/v3/threads", "limit=1")
    assert answer.ids == [3, 2, 1]
    assert answer.json["meta"]["next"] == {"affix": "prepend", "updatedAt": NOW}
    assert chat("/v3/threads", f"limit=1&updatedAt={NOW}&affix=prepend").ids == []
    for path, user, ids in (
        ("threads", "bob", [3, 1]), ("threads", "ann", [3, 2, 1]), ("threads", "cat", []),
        ("users/bob/threads", None, [3, 1]), ("users/bob/threads", "ann", [3, 1]),
        ("users/cat/threads", "ann", []), ("groups/den/threads", None, [2]),
    ):  # fmt: skip
        assert chat(f"/v3/{path}", acting_user=user).ids == ids
