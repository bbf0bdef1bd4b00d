"""Threads: replies, lists, subscriptions."""

from typing import Any

import pytest

from tests.emulator.conftest import NOW, Answer, Asker


@pytest.fixture
def chat(ask: Asker) -> Asker:
    """Messages 1 (ann to bob), 2 (ann to the group), 3 (bob to ann), sent at 10, 20, 30."""
    ask.store.add_message("ann", "bob", "one", sent_at=10)
    ask.store.add_message("ann", "den", "two", receiver_type="group", sent_at=20)
    ask.store.add_message("bob", "ann", "three", sent_at=30)
    ask.store.add_member("den", "ann")
    return ask


def reply(ask: Asker, parent: int, user: str, body: dict[str, Any]) -> Answer:
    text = {"type": "text", "data": {"text": "re"}} | body
    return ask.post(f"/v3/messages/{parent}/thread", text, acting_user=user)


def test_a_reply_that_is_removed_is_counted_no_more(chat: Asker) -> None:
    for _ in range(2):
        reply(chat, 1, "bob", {})
    chat("/v3/messages/4", method="DELETE", body={"permanent": True})
    assert chat("/v3/messages/1").json["data"]["replyCount"] == 1
    assert chat("/v3/threads").json["data"][0]["replyCount"] == 1
    chat("/v3/messages/5", method="DELETE", body={"permanent": True})
    assert chat("/v3/messages/1").json["data"]["replyCount"] == 0
    assert chat("/v3/threads").ids == []


@pytest.mark.parametrize(
    ("parent", "user", "body", "status", "code"),
    [
        (9, "ann", {"receiver": "bob"}, 404, "ERR_MESSAGE_ID_NOT_FOUND"),
        (1, "ann", {"receiver": "cat"}, 400, "ERR_WRONG_MESSAGE_THREAD"),
        (1, "cat", {"receiver": "ann"}, 403, "ERR_MESSAGE_NO_ACCESS"),
        (4, "ann", {"receiver": "bob"}, 400, "ERR_MESSAGE_THREAD_NESTING"),
        (5, "ann", {"receiver": "bob"}, 400, "ERR_WRONG_MESSAGE_THREAD_CATEGORY"),
        (1, "ann", {"receiver": "bob", "data": {"text": ""}}, 400, "ERR_EMPTY_MESSAGE_TEXT"),
    ],
)
def test_replies_that_are_refused(
    chat: Asker, parent: int, user: str, body: dict[str, Any], status: int, code: str
) -> None:
    reply(chat, 1, "bob", {"receiver": "ann"})
    chat("/v3/messages/1", method="PUT", body={"tags": ["x"]})
    answer = reply(chat, parent, user, body)
    assert (answer.status, answer.code) == (status, code)
    assert chat.post("/v3/messages/1/thread", {"data": {"text": "x"}}).code == "ERR_BAD_REQUEST"


def test_threads_of_one_second_are_never_torn(chat: Asker) -> None:
    for parent in (1, 2, 3):
        reply(chat, parent, "ann", {})
    answer = chat("/v3/threads", "limit=1")
    assert answer.ids == [3, 2, 1]
    assert answer.json["meta"]["next"] == {"affix": "prepend", "updatedAt": NOW}
    assert chat("/v3/threads", f"limit=1&updatedAt={NOW}&affix=prepend").ids == []


def test_threads_of_users_and_groups(chat: Asker) -> None:
    for parent in (1, 2, 3):
        reply(chat, parent, "ann", {})
    assert chat("/v3/threads", acting_user="bob").ids == [3, 1]
    assert chat("/v3/threads", acting_user="ann").ids == [3, 2, 1]
    assert chat("/v3/threads", acting_user="cat").ids == []
    assert chat("/v3/users/bob/threads").ids == [3, 1]
    assert chat("/v3/users/bob/threads", acting_user="ann").ids == [3, 1]
    assert chat("/v3/users/cat/threads", acting_user="ann").ids == []
    assert chat("/v3/groups/den/threads").ids == [2]
    assert chat("/v3/groups/none/threads").code == "ERR_GUID_NOT_FOUND"
    assert chat("/v3/users/nobody/threads").code == "ERR_UID_NOT_FOUND"


def test_threads_that_a_user_takes_part_in(chat: Asker) -> None:
    reply(chat, 1, "bob", {})
    reply(chat, 2, "cat", {})
    assert chat("/v3/groups/den/threads", "participatedByMe=1", acting_user="cat").ids == [2]
    assert chat("/v3/groups/den/threads", "participatedByMe=1", acting_user="bob").ids == []
    assert chat("/v3/threads", "participatedByMe=true", acting_user="ann").ids == [2, 1]


def test_counts_of_a_thread_are_those_of_the_acting_user(chat: Asker) -> None:
    for _ in range(2):
        reply(chat, 1, "bob", {"data": {"text": "re", "mentions": {"ann": {}}}})
    query = "withUnreadReplyCount=1&withMentionCount=1"
    [thread] = chat("/v3/threads", query, acting_user="ann").json["data"]
    assert (thread["unreadReplyCount"], thread["mentionCount"]) == (2, 2)
    [thread] = chat("/v3/threads", query, acting_user="bob").json["data"]
    assert (thread["unreadReplyCount"], thread["mentionCount"]) == (0, 0)
    chat.post("/v3/users/bob/conversation/read", {}, acting_user="ann")
    [thread] = chat("/v3/threads", query, acting_user="ann").json["data"]
    assert thread["unreadReplyCount"] == 0
    assert "unreadReplyCount" not in chat("/v3/threads", query).json["data"][0]


def test_a_subscription_shows_in_the_message_of_its_user(chat: Asker) -> None:
    path = "/v3/messages/2/thread/subscription"

    def is_subscribed(user: str) -> bool:
        return "threadSubscribed" in chat("/v3/messages/2", acting_user=user).json["data"]

    assert chat(path, method="POST", acting_user="cat").json == {"data": {"success": True}}
    assert (is_subscribed("cat"), is_subscribed("ann")) == (True, False)
    assert chat(path, method="DELETE", acting_user="cat").json == {"data": {"success": True}}
    assert not is_subscribed("cat")
    reply(chat, 2, "cat", {})
    assert (is_subscribed("cat"), is_subscribed("ann")) == (True, True)
    assert chat("/v3/messages/9/thread/subscription", method="POST", acting_user="cat").status == 404
