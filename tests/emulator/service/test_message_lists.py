"""The filters of message lists against a plain reading of the records, and the pages."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.emulator.conftest import Asker

Record = dict[str, Any]
Predicate = Callable[[Record], Any]

MINE: dict[str, Predicate] = {
    "searchKey=MORNING": lambda r: "morning" in r["data"].get("text", "").lower(),
    "searchKey=%C3%87A%20MARCHE": lambda r: "ça marche" in r["data"].get("text", "").lower(),
    "hasAttachments=true": lambda r: r["data"].get("attachments"),
    "attachmentTypes=image": lambda r: "image" in kinds(r),
    "attachmentTypes=image,file": lambda r: {"image", "file"} & kinds(r),
    "hasMentions=1": lambda r: r["data"].get("mentions"),
    "hasLinks=true": lambda r: "https://" in r["data"].get("text", ""),
    "mentionedUids=user-02": lambda r: "user-02" in r["data"].get("mentions", ()),
    "mentionedUids=user-02,user-01": lambda r: {"user-01", "user-02"} & set(r["data"].get("mentions", ())),
    "unread=true": lambda r: "readAt" not in r and r["sender"] != "user-02",
    "undelivered=true": lambda r: "deliveredAt" not in r and r["sender"] != "user-02",
    "hideReplies=true": lambda r: "parentId" not in r,
    "category=call": lambda r: r["category"] == "call",
    "categories=call,custom": lambda r: r["category"] in ("call", "custom"),
    "categories[]=call&categories[]=action": lambda r: r["category"] in ("call", "action"),
    "type=video": lambda r: r["type"] == "video",
    "types=text&types=poll": lambda r: r["type"] in ("text", "poll"),
    "myMentionsOnly=true": lambda r: "user-02" in r["data"].get("mentions", ()),
    "hasReactions=true": lambda r: r["data"].get("reactions"),
    "sender=user-01": lambda r: r["sender"] == "user-01",
    "hasReactions=true&sender=user-01": lambda r: r["data"].get("reactions") and r["sender"] == "user-01",
    "fromTimestamp=1600040000": lambda r: r["sentAt"] >= 1600040000,
    "toTimestamp=1600040000": lambda r: r["sentAt"] <= 1600040000,
    "fromTimestamp=1600020000&toTimestamp=1600050000": lambda r: 1600020000 <= r["sentAt"] <= 1600050000,
    "tags=urgent": lambda r: "urgent" in r.get("tags", ()),
    "tags=urgent,billing": lambda r: {"urgent", "billing"} & set(r.get("tags", ())),
    "senders=user-01": lambda r: r["sender"] == "user-01",
    "hideDeleted=true": lambda r: "deletedAt" not in r,
    "onlyDeleted=true": lambda r: "deletedAt" in r,
}
ALL: dict[str, Predicate] = {
    "receiverType=group": lambda r: r["receiverType"] == "group",
    "conversationId=group_group-01": lambda r: r["conversationId"] == "group_group-01",
    "sentAt=1600040000&affix=append": lambda r: r["sentAt"] > 1600040000,
    "sentAt=1600040000&affix=prepend": lambda r: r["sentAt"] < 1600040000,
}


def kinds(record: Record) -> set[str]:
    types = {item["mimeType"].split("/")[0] for item in record["data"].get("attachments", ())}
    return {"file" if kind in ("application", "text") else kind for kind in types}


def matching_ids(ask: Asker, ids: list[int], predicate: Predicate) -> list[int]:
    records = [json.loads(record) for record in ask.store.records(ids, with_tags=True)]
    return [int(record["id"]) for record in records if predicate(record)]


@pytest.mark.parametrize("query", MINE)
def test_filters_of_two_users(generated: Asker, query: str) -> None:
    ids = generated.store.ids(conversation="user-01_user_user-02")
    expected = matching_ids(generated, ids, MINE[query])
    assert 0 < len(expected) < len(ids), "the data must hold both kinds"
    assert (
        generated("/v3/users/user-01/messages", f"limit=1000&{query}", acting_user="user-02").ids == expected
    )


@pytest.mark.parametrize("query", ALL)
def test_filters_of_the_whole_app(generated: Asker, query: str) -> None:
    expected = matching_ids(generated, generated.store.ids(), ALL[query])
    assert 0 < len(expected) < 1000
    assert generated("/v3/messages", f"limit=1000&{query}").ids == expected


@pytest.mark.parametrize(
    "query", [query.replace("true", "false") for query in MINE if query.endswith("=true")]
)
def test_a_boolean_that_is_false_filters_nothing(generated: Asker, query: str) -> None:
    ids = generated.store.ids(conversation="user-01_user_user-02")
    assert generated("/v3/users/user-01/messages", f"limit=1000&{query}", acting_user="user-02").ids == ids


def test_filters_join(generated: Asker) -> None:
    ids = generated.store.ids(participant="user-01")
    expected = matching_ids(
        generated,
        ids,
        lambda r: r["category"] == "message" and r["type"] == "image" and r["sender"] == "user-01",
    )
    query = "perPage=1000&category=message&categories=message,call&type=image&sender=user-01"
    assert expected
    assert generated("/v3/users/user-01/messages", query).ids == expected


def test_unread_without_an_acting_user_is_about_the_user_in_the_path(generated: Asker) -> None:
    ids = generated.store.ids(participant="user-01")
    expected = matching_ids(generated, ids, lambda r: "readAt" not in r and r["sender"] != "user-01")
    assert generated("/v3/users/user-01/messages", "perPage=1000&unread=1").ids == expected


def test_my_mentions_without_an_acting_user_are_none(generated: Asker) -> None:
    assert generated("/v3/users/user-01/messages", "myMentionsOnly=true").ids == []


@pytest.mark.parametrize("flag", [False, True])
def test_tags_are_served_only_with_tags(generated: Asker, flag: bool) -> None:
    query = f"limit=1000&withTags={str(flag).lower()}"
    data = generated("/v3/users/user-01/messages", query, acting_user="user-02").json["data"]
    stored = generated.store.records(generated.store.ids(conversation="user-01_user_user-02"), with_tags=flag)
    assert data == [json.loads(record) for record in stored]
    assert any("tags" in record for record in data) is flag


def test_tags_and_blocks_of_mentioned_users(ask: Asker) -> None:
    ask.store.add_user("dan", tags=["x", "y"])
    ask.store.relations.add("blocked", "ann", "dan")
    for number in range(3):
        mentions = {"dan": {"uid": "dan"}, "gone": {"uid": "gone"}} if number == 1 else {}
        ask.store.add_message("bob", "ann", "hi", data={"mentions": mentions})

    def mention(query: str, acting_user: str | None = "ann") -> Any:
        answer = ask("/v3/users/bob/messages", query, acting_user=acting_user)
        assert answer.ids == [1, 2, 3]
        return answer.json["data"][1]["data"]["mentions"]["dan"]

    assert mention("") == {"uid": "dan"}
    assert mention("mentionsWithTagInfo=true") == {"uid": "dan", "tags": ["x", "y"]}
    assert mention("mentionsWithBlockedInfo=1") == {"uid": "dan", "blockedByMe": True, "hasBlockedMe": False}
    assert mention("mentionsWithBlockedInfo=1", acting_user=None) == {"uid": "dan"}
    assert mention("mentionsWithBlockedInfo=1&mentionsWithTagInfo=1")["tags"] == ["x", "y"]


def test_odd_mentions_are_served_as_they_are(ask: Asker) -> None:
    for mentions in (["dan"], {"dan": None}):
        ask.store.add_message("ann", "bob", "hi", data={"mentions": mentions})
    data = ask("/v3/messages", "mentionsWithTagInfo=1").json["data"]
    assert [record["data"]["mentions"] for record in data] == [["dan"], {"dan": None}]


@pytest.mark.parametrize(
    "query",
    [
        "perPage=0", "perPage=1001", "limit=0", "limit=1001", "limit=ten", "id=abc", "id=-1",
        "affix=after", "unread=yes", "count=2", "attachmentTypes=gif", "fromTimestamp=now", "toTimestamp=-1",
        "withTags=on", "mentionsWithBlockedInfo=x", "mentionsWithTagInfo=x",
        "hasAttachments=x", "hasMentions=x", "hasLinks=x", "hasReactions=x", "myMentionsOnly=x",
        "undelivered=x",
    ],
)  # fmt: skip
def test_wrong_values_are_refused(generated: Asker, query: str) -> None:
    answer = generated("/v3/users/user-01/messages", query)
    assert (answer.status, answer.code) == (400, "ERR_BAD_REQUEST")
    [(field, texts)] = answer.json["error"]["details"].items()
    assert field == query.split("=")[0]
    assert all(isinstance(text, str) for text in texts)


def test_unknown_parameters_are_ignored(generated: Asker) -> None:
    assert generated("/v3/users/user-01/messages", "pinned=1&x=%FF").status == 200


ANNS = "/v3/users/ann/messages"


@pytest.fixture
def seven(ask: Asker) -> Asker:
    """Seven messages between ann and bob, ids 1 to 7, sent at 10 to 70."""
    for number in range(1, 8):
        ask.store.add_message("ann", "bob", str(number), sent_at=number * 10)
    return ask


@pytest.mark.parametrize(
    ("query", "ids", "cursor", "left"),
    [
        ("", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("affix=prepend", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("affix=append", [1, 2, 3], {"id": 3, "affix": "append"}, 7),
        ("id=3", [4, 5, 6], {"id": 6, "affix": "append"}, 4),
        ("id=3&affix=append", [4, 5, 6], {"id": 6, "affix": "append"}, 4),
        ("id=6&affix=append", [7], {"id": 7, "affix": "append"}, 1),
        ("id=7&affix=append", [], {"id": 7, "affix": "append"}, 0),
        ("id=0&affix=append", [1, 2, 3], {"id": 3, "affix": "append"}, 7),
        ("id=5&affix=prepend", [2, 3, 4], {"id": 2, "affix": "prepend"}, 4),
        ("id=2&affix=prepend", [1], {"id": 1, "affix": "prepend"}, 1),
        ("id=1&affix=prepend", [], {"id": 1, "affix": "prepend"}, 0),
        ("id=99&affix=prepend", [5, 6, 7], {"id": 5, "affix": "prepend"}, 7),
        ("type=image", [], {"affix": "prepend"}, 0),
    ],
)
def test_pages(seven: Asker, query: str, ids: list[int], cursor: dict[str, Any], left: int) -> None:
    answer = seven(ANNS, f"perPage=3&{query}")
    assert answer.ids == ids
    pages = max(1, -(-left // 3))
    assert answer.json["meta"] == {
        "pagination": {
            "total": left,
            "count": len(ids),
            "per_page": 3,
            "current_page": 1,
            "total_pages": pages,
        },
        "cursor": cursor,
    }


@pytest.mark.parametrize(
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
def test_the_other_envelope(seven: Asker, query: str, ids: list[int], position: dict[str, Any]) -> None:
    answer = seven("/v3/messages", f"limit=2&{query}")
    assert answer.ids == ids
    assert answer.json["meta"] == {"current": {"limit": 2, "count": len(ids)}, "next": position}


@pytest.mark.parametrize(
    ("query", "acting_user", "size"),
    [
        ("", None, 100),
        ("limit=3", None, 3),
        ("limit=3&perPage=4", None, 4),
        ("", "bob", 10),
        ("perPage=4", "bob", 4),
        ("limit=3&perPage=4", "bob", 3),
    ],
)
def test_limit_goes_with_an_acting_user_and_per_page_without(
    seven: Asker, query: str, acting_user: str | None, size: int
) -> None:
    assert seven(ANNS, query, acting_user=acting_user).json["meta"]["pagination"]["per_page"] == size


@given(size=st.integers(1, 60), affix=st.sampled_from(["append", "prepend", ""]), filtered=st.booleans())
def test_following_the_cursor_covers_every_message_once(
    generated: Asker, size: int, affix: str, filtered: bool
) -> None:
    path, query = "/v3/users/user-01/messages", "&category=custom" if filtered else "&type=video"
    walked: list[int] = []
    position = f"affix={affix}" if affix else ""
    while True:
        answer = generated(path, f"perPage={size}&{position}{query}")
        cursor, pagination = answer.json["meta"]["cursor"], answer.json["meta"]["pagination"]
        forwards = cursor["affix"] == "append"
        walked += answer.ids if forwards else reversed(answer.ids)
        if pagination["current_page"] >= pagination["total_pages"]:
            break
        position = f"affix={cursor['affix']}&id={cursor['id']}"
    assert walked == sorted(generated(path, f"perPage=1000{query}").ids, reverse=not forwards)
    assert generated(path, f"affix={cursor['affix']}&id={cursor['id']}{query}").ids == []


def test_counts_per_other_side(seven: Asker) -> None:
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
