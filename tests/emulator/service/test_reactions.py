"""Reactions: the list of them, the counts in the message, and what a user sees of the own ones."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.emulator.conftest import Asker

PATH = "/v3/messages/1/reactions"


@pytest.fixture
def chat(ask: Asker) -> Asker:
    ask.store.add_message("ann", "den", "hi", receiver_type="group")
    return ask


def react(ask: Asker, uid: str, emoji: str, method: str = "POST") -> Any:
    return ask(f"{PATH}/{quote(emoji)}", method=method, acting_user=uid).json["data"]["data"]["reactions"]


def test_a_second_reaction_of_one_user_leaves_one(chat: Asker) -> None:
    react(chat, "ann", "👍")
    assert react(chat, "ann", "👍") == [{"reaction": "👍", "count": 1, "reactedByMe": True}]
    assert len(chat(PATH).json["data"]) == 1


def test_a_reaction_that_is_taken_back_is_neither_counted_nor_listed(chat: Asker) -> None:
    react(chat, "ann", "👍")
    react(chat, "bob", "👍")
    assert react(chat, "ann", "👍", "DELETE") == [{"reaction": "👍", "count": 1}]
    assert react(chat, "ann", "👍", "DELETE") == [{"reaction": "👍", "count": 1}]
    assert react(chat, "bob", "👍", "DELETE") == []
    assert chat(PATH).json["data"] == []
    assert chat("/v3/messages", "hasReactions=true").ids == []


def test_others_do_not_see_whose_reactions_they_are(chat: Asker) -> None:
    react(chat, "ann", "👍")
    for user, expected in (("ann", {"reactedByMe": True}), ("bob", {}), (None, {})):
        counts = {"reaction": "👍", "count": 1} | expected
        listed = chat("/v3/groups/den/messages", "hasReactions=1", acting_user=user)
        assert listed.json["data"][0]["data"]["reactions"] == [counts]
        assert chat("/v3/messages/1", acting_user=user).json["data"]["data"]["reactions"] == [counts]


def test_reactions_come_in_pages_in_both_directions(chat: Asker) -> None:
    for emoji in "abcde":
        react(chat, "ann", emoji)
    first = chat(PATH, "limit=2")
    assert [row["reaction"] for row in first.json["data"]] == ["a", "b"]
    assert first.json["meta"]["current"] == {"limit": 2, "count": 2}
    assert [row["reaction"] for row in chat(PATH, "limit=2&id=2&affix=append").json["data"]] == ["c", "d"]
    assert [row["reaction"] for row in chat(PATH, "affix=prepend&id=4").json["data"]] == ["c", "b", "a"]
    empty = chat(PATH, "id=5&affix=append").json
    assert (empty["data"], empty["meta"]["next"]) == ([], {"affix": "append", "id": "5"})


def test_a_generated_count_is_counted_on(chat: Asker) -> None:
    data = {"text": "x", "reactions": [{"reaction": "👍", "count": 2}]}
    chat.store.add_message("ann", "bob", data=data)
    answer = chat(f"/v3/messages/2/reactions/{quote('👍')}", method="POST", acting_user="bob")
    assert answer.json["data"]["data"]["reactions"] == [{"reaction": "👍", "count": 3, "reactedByMe": True}]
    assert json.loads(chat.store.message(2) or b"")["data"]["reactions"] == [{"reaction": "👍", "count": 3}]


@pytest.mark.parametrize(
    ("path", "user", "status", "code"),
    [
        ("/v3/messages/9/reactions/x", "ann", 404, "ERR_MESSAGE_ID_NOT_FOUND"),
        ("/v3/messages/1/reactions/x", None, 400, "ERR_BAD_REQUEST"),
        ("/v3/messages/1/reactions/x", "nobody", 404, "ERR_UID_NOT_FOUND"),
        ("/v3/messages/2/reactions/x", "cat", 403, "ERR_MESSAGE_NO_ACCESS"),
    ],
)
def test_reactions_that_are_refused(chat: Asker, path: str, user: str | None, status: int, code: str) -> None:
    chat.store.add_message("ann", "bob", "between two")
    for method in ("POST", "DELETE"):
        answer = chat(path, method=method, acting_user=user)
        assert (answer.status, answer.code) == (status, code)
