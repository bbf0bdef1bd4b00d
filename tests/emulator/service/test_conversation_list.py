"""The list of conversations: its order, its filters, and pins of users and of the app."""

from typing import Any

import pytest

from tests.emulator.conftest import NOW, Answer, Asker

LIST = "/v3/conversations"


@pytest.fixture
def chat(ask: Asker) -> Asker:
    """Conversations of ann: with bob (10), cat (20) and the group den (30); of bob and cat (40)."""
    ask.store.add_user("dan", "Daniel", tags=["vip"])
    ask.store.add_user("eva", "Eva")
    ask.store.add_group("fox", "Foxes", tags=["vip"])
    for at, (sender, receiver, kind) in enumerate(
        [("ann", "bob", "user"), ("ann", "cat", "user"), ("ann", "den", "group"), ("bob", "cat", "user")],
        start=1,
    ):
        ask.store.add_message(sender, receiver, "hi", receiver_type=kind, sent_at=10 * at)
    ask.store.add_member("den", "ann")
    return ask


def ids(ask: Asker, query: str = "", user: str | None = "ann") -> list[str]:
    answer = ask(LIST, query, acting_user=user)
    return [record["conversationId"] for record in answer.json["data"]]


def test_without_an_acting_user_the_list_has_the_views_of_all(chat: Asker) -> None:
    assert ids(chat, "", None) == [
        "group_den", "ann_user_cat", "ann_user_bob", "bob_user_cat", "ann_user_bob", "bob_user_cat",
        "ann_user_cat",
    ]  # fmt: skip
    assert ids(chat, "unique=1", None) == ["group_den", "ann_user_cat", "ann_user_bob", "bob_user_cat"]
    assert ids(chat, "unique=1") == ids(chat)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("conversationType=user", ["ann_user_cat", "ann_user_bob"]),
        ("conversationType=group", ["group_den"]),
        ("searchKey=CA", ["ann_user_cat"]),
        ("unread=true", ["ann_user_cat"]),
        ("tags=x,z", ["ann_user_bob"]),
        ("userTags=vip", ["ann_user_dan"]),
        ("groupTags=vip", ["group_fox"]),
        ("onlyAgentic=1", []),
        ("hideAgentic=1&searchKey=bob", ["ann_user_bob"]),
        ("useCursoredIndex=1&searchKey=bob", ["ann_user_bob"]),
    ],
)
def test_filters(chat: Asker, query: str, expected: list[str]) -> None:
    chat.store.add_message("cat", "ann", "unread")
    if "userTags" in query:
        chat.store.add_message("ann", "dan", "hi")
    if "groupTags" in query:
        chat.store.add_member("fox", "ann")
        chat.store.add_message("ann", "fox", "hi", receiver_type="group")
    chat("/v3/users/bob/conversation", method="PUT", body={"tags": ["x"]}, acting_user="ann")
    assert ids(chat, query) == expected


@pytest.mark.parametrize("query", ["conversationType=team", "page=0", "perPage=1001", "pinnedBy=you"])
def test_wrong_filters_are_refused(chat: Asker, query: str) -> None:
    answer = chat(LIST, query, acting_user="ann")
    assert (answer.status, list(answer.json["error"]["details"])) == (400, [query.split("=")[0]])


def test_blocked_users_are_left_out_unless_they_are_asked_for(chat: Asker) -> None:
    chat.store.relations.add("blocked", "ann", "bob")
    chat.store.relations.add("blocked", "cat", "ann")
    assert ids(chat) == ["group_den", "ann_user_cat"]
    answer = chat(LIST, "includeBlockedUsers=1&withBlockedInfo=1", acting_user="ann").json["data"]
    blocks = {
        record["conversationId"]: (
            record["conversationWith"].get("blockedByMe"), record["conversationWith"].get("hasBlockedMe")
        )
        for record in answer
    }  # fmt: skip
    assert blocks == {
        "group_den": (None, None), "ann_user_cat": (False, True), "ann_user_bob": (True, False)
    }  # fmt: skip


# ── pins ──


def pin(ask: Asker, path: str, user: str = "ann", method: str = "POST") -> Answer:
    return ask(f"/v3/{path}/conversation/pin", method=method, acting_user=user)


def put_pins(ask: Asker, *pins: Any) -> Answer:
    return ask(f"{LIST}/pinned", method="PUT", body={"pinnedConversations": list(pins)})


def test_own_pins_stand_before_the_rest_and_behind_those_of_the_app(chat: Asker) -> None:
    pinned = pin(chat, "users/bob").json["data"]
    assert pinned == {
        "conversationId": "ann_user_bob", "conversationType": "user", "pinnedBy": "ann", "pinnedAt": NOW
    }  # fmt: skip
    assert pin(chat, "users/bob").json["data"] == pinned
    assert ids(chat) == ["ann_user_bob", "group_den", "ann_user_cat"]
    put_pins(chat, {"uid": "cat"})
    assert ids(chat) == ["ann_user_cat", "ann_user_bob", "group_den"]
    assert ids(chat, "pinnedBy=me") == ["ann_user_bob"]
    assert ids(chat, "pinnedBy=system,me") == ["ann_user_cat", "ann_user_bob"]
    assert ids(chat, "", "bob") == ["bob_user_cat", "ann_user_bob"]
    for _ in range(2):
        assert pin(chat, "users/bob", method="DELETE").json["data"] == {
            "conversationId": "ann_user_bob", "conversationType": "user"
        }  # fmt: skip


def test_a_pin_needs_no_message_and_has_a_limit(chat: Asker) -> None:
    for path in ("users/dan", "users/eva", "groups/fox", "groups/den", "users/bob"):
        assert pin(chat, path).status == 200
    over = pin(chat, "users/cat")
    assert (over.status, over.code) == (400, "ERR_PINNED_CONVERSATIONS_LIMIT_EXCEEDED")
    assert pin(chat, "users/cat", "bob").status == 200
    assert pin(chat, "users/dan").status == 200


def test_a_pin_of_the_app_is_not_a_users_to_change(chat: Asker) -> None:
    put_pins(chat, {"guid": "den"})
    for method in ("POST", "DELETE"):
        answer = pin(chat, "groups/den", method=method)
        assert (answer.status, answer.code) == (403, "ERR_SYSTEM_PINNED_CONVERSATION")
    assert pin(chat, "users/nobody").code == "ERR_UID_NOT_FOUND"
    assert pin(chat, "groups/none").code == "ERR_GUID_NOT_FOUND"


def test_the_pins_of_the_app_are_replaced_as_a_whole(chat: Asker) -> None:
    answer = put_pins(chat, {"uid": "bob"}, {"guid": "den"}, {"uid": "bob"})
    assert answer.json["data"] == chat(f"{LIST}/pinned").json["data"]
    assert answer.json.keys() == {"data"}
    assert [(record["conversationId"], record["conversationType"]) for record in answer.json["data"]] == [
        ("bob", "user"), ("group_den", "group")
    ]  # fmt: skip
    assert {record["pinnedBy"] for record in answer.json["data"]} == {"app_system"}
    assert put_pins(chat).json["data"] == chat(f"{LIST}/pinned").json["data"] == []


@pytest.mark.parametrize(
    ("pins", "status", "code"),
    [
        ([{}], 400, "ERR_BAD_REQUEST"),
        (["bob"], 400, "ERR_BAD_REQUEST"),
        ([{"uid": "nobody"}], 404, "ERR_UID_NOT_FOUND"),
        ([{"guid": "none"}], 404, "ERR_GUID_NOT_FOUND"),
        (
            [{"uid": uid} for uid in ("ann", "bob", "cat", "dan", "eva")] + [{"guid": "den"}],
            400,
            "ERR_BAD_REQUEST",
        ),
    ],
)
def test_pins_of_the_app_that_are_refused(chat: Asker, pins: list[Any], status: int, code: str) -> None:
    put_pins(chat, {"uid": "bob"})
    answer = put_pins(chat, *pins)
    assert (answer.status, answer.code) == (status, code)
    assert len(chat(f"{LIST}/pinned").json["data"]) == 1
