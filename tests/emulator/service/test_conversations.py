"""Conversations of users and groups: records, receipts, tags, resets; the list of them, and pins."""

from typing import Any

import pytest

from tests.emulator.conftest import Answer, ServiceClient

USER = "/v3/users/bob/conversation"
GROUP = "/v3/groups/den/conversation"


@pytest.fixture
def chat(ask: ServiceClient) -> ServiceClient:
    """Messages 1 and 3 of bob to ann, 2 of ann to bob; 4 and 5 of bob to the group of ann and bob."""
    ask.store.add_message("bob", "ann", "one", sent_at=10)
    ask.store.add_message("ann", "bob", "two", sent_at=20)
    ask.store.add_message("bob", "ann", "three", sent_at=30)
    ask.store.add_message("bob", "den", "four", receiver_type="group", sent_at=40)
    ask.store.add_message("bob", "den", "five", receiver_type="group", sent_at=50)
    for uid in ("ann", "bob"):
        ask.store.members.add("den", uid)
    return ask


def get(ask: ServiceClient, path: str = USER, user: str = "ann") -> Any:
    return ask(path, acting_user=user).json["data"]


def unread(ask: ServiceClient, path: str = USER, user: str = "ann") -> str:
    return str(get(ask, path, user)["unreadMessageCount"])


def mark(ask: ServiceClient, what: str, body: Any = b"", *, path: str = USER, user: str = "ann") -> Answer:
    method = "DELETE" if what == "unread" else "POST"
    return ask(f"{path}/{what.removeprefix('un')}", method=method, body=body, acting_user=user)


@pytest.mark.parametrize("path", [USER, GROUP])
def test_read_messages_are_counted_no_more(chat: ServiceClient, path: str) -> None:
    first, name = (1, "Message") if path == USER else (4, "message")
    answer = mark(chat, "read", {"messageId": first}, path=path)
    assert answer.json["data"].keys() == {"success", name}
    assert unread(chat, path) == "1"
    for body in (b"", {"messageId": first}):
        mark(chat, "read", body, path=path)
        assert unread(chat, path) == "0"
    listed = path.replace("conversation", "messages")
    assert chat(listed, "unread=1", acting_user="ann").ids == []
    mark(chat, "unread", path=path)
    assert unread(chat, path) == "1"
    mark(chat, "unread", {"messageId": first}, path=path)
    assert unread(chat, path) == "2"
    assert len(chat(listed, "unread=1", acting_user="ann").ids) == 2


def test_the_sender_of_a_message_sees_that_it_was_read(chat: ServiceClient) -> None:
    mark(chat, "delivered", {"messageId": 1})
    mark(chat, "read", {"messageId": 1})
    first, third = (chat(f"/v3/messages/{number}", acting_user="bob").json["data"] for number in (1, 3))
    assert {"deliveredAt", "readAt"} <= first.keys()
    assert "deliveredAt" not in third


def test_receipts_of_a_group_are_those_of_one_member(chat: ServiceClient) -> None:
    chat.store.members.add("den", "cat")
    mark(chat, "read", path=GROUP)
    mark(chat, "delivered", {"messageId": 4}, path=GROUP, user="cat")
    assert unread(chat, GROUP, "cat") == "2"
    assert chat("/v3/groups/den/messages", "undelivered=1", acting_user="cat").ids == [5]
    assert "readAt" not in chat("/v3/messages/5").json["data"]


def test_a_reset_hides_all_messages_until_then_from_the_user(chat: ServiceClient) -> None:
    chat(USER, method="DELETE", body={"conversationWith": "bob"}, acting_user="ann")
    assert ids(chat) == ["group_den"]
    assert ids(chat, user="bob") == ["group_den", "ann_user_bob"]
    chat.store.add_message("bob", "ann", "six")
    assert get(chat)["lastMessage"]["id"] == "6"
    chat(USER, method="DELETE", body={"conversationWith": "bob"}, acting_user="ann")
    assert ids(chat) == ["group_den"], "the reset is of the newest message, too"


def test_a_reset_may_remove_the_messages_for_both(chat: ServiceClient) -> None:
    body = {"conversationWith": "cat"}
    assert chat(USER, method="DELETE", body=body, acting_user="ann").code == "ERR_BAD_REQUEST"
    body = {"conversationWith": "bob", "deleteMessagesPermanently": True}
    chat(USER, method="DELETE", body=body, acting_user="ann")
    assert chat("/v3/messages").ids == [4, 5]
    assert chat("/v3/users/ann/messages", acting_user="bob").ids == []


LIST = "/v3/conversations"


@pytest.fixture
def listed(ask: ServiceClient) -> ServiceClient:
    """Conversations of ann: with bob (10), cat (20) and the group den (30); of bob and cat (40)."""
    ask.store.add_user("dan", "Daniel", tags=["vip"])
    ask.store.add_user("eva", "Eva")
    ask.store.add_group("fox", "Foxes", tags=["vip"])
    for at, (sender, receiver, kind) in enumerate(
        [("ann", "bob", "user"), ("ann", "cat", "user"), ("ann", "den", "group"), ("bob", "cat", "user")],
        start=1,
    ):
        ask.store.add_message(sender, receiver, "hi", receiver_type=kind, sent_at=10 * at)
    ask.store.members.add("den", "ann")
    return ask


def ids(ask: ServiceClient, query: str = "", user: str | None = "ann") -> list[str]:
    answer = ask(LIST, query, acting_user=user)
    return [record["conversationId"] for record in answer.json["data"]]


def test_without_an_acting_user_the_list_has_the_views_of_all(listed: ServiceClient) -> None:
    assert ids(listed, "", None) == [
        "group_den", "ann_user_cat", "ann_user_bob", "bob_user_cat", "ann_user_bob", "bob_user_cat",
        "ann_user_cat",
    ]  # fmt: skip
    assert ids(listed, "unique=1", None) == ["group_den", "ann_user_cat", "ann_user_bob", "bob_user_cat"]
    assert ids(listed, "unique=1") == ids(listed)


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
def test_filters_of_conversations(listed: ServiceClient, query: str, expected: list[str]) -> None:
    listed.store.add_message("cat", "ann", "unread")
    if "userTags" in query:
        listed.store.add_message("ann", "dan", "hi")
    if "groupTags" in query:
        listed.store.members.add("fox", "ann")
        listed.store.add_message("ann", "fox", "hi", receiver_type="group")
    listed("/v3/users/bob/conversation", method="PUT", body={"tags": ["x"]}, acting_user="ann")
    assert ids(listed, query) == expected


def test_a_last_message_without_a_time_moves_no_conversation(listed: ServiceClient) -> None:
    listed.store.add_message("ann", "bob", "odd", sentAt="soon")
    [record] = listed(LIST, "searchKey=bob", acting_user="ann").json["data"]
    assert (record["lastMessage"]["id"], record["updatedAt"]) == ("5", 10)


def test_tags_of_users_are_shown_on_request(listed: ServiceClient) -> None:
    listed.store.add_message("ann", "dan", "hi")
    for query, tags in (("", None), ("&withUserAndGroupTags=1", ["vip"])):
        [dan] = listed(LIST, f"searchKey=dan{query}", acting_user="ann").json["data"]
        assert dan["conversationWith"].get("tags") == tags


def test_blocked_users_are_left_out_unless_they_are_asked_for(listed: ServiceClient) -> None:
    listed.store.relations.add("blocked", "ann", "bob")
    listed.store.relations.add("blocked", "cat", "ann")
    assert ids(listed) == ["group_den", "ann_user_cat"]
    answer = listed(LIST, "includeBlockedUsers=1&withBlockedInfo=1", acting_user="ann").json["data"]
    parties = [each["conversationWith"] for each in answer]
    blocks = [(each.get("uid"), each.get("blockedByMe"), each.get("hasBlockedMe")) for each in parties]
    assert blocks == [(None, None, None), ("cat", False, True), ("bob", True, False)]
