"""The acting user that the reply of a single call shows."""

from typing import Any

from chatrest import Message, parse
from chatrest._core.replies.expectation import (
    is_changed_by_other,
    is_of_others,
    is_reaction_of_other,
    is_sent_by_other,
)
from chatrest._models.conversations import Conversation
from tests.cases import loop_over
from tests.core.replies.test_expectation import GROUP, OTHERS, TEXT


def message(**changes: Any) -> Any:
    return parse(Message, TEXT | changes)


def action(by: str | None, **changes: Any) -> Any:
    entities = {} if by is None else {"entities": {"by": {"entity": {"uid": by}, "entityType": "user"}}}
    served = {"category": "action", "type": "message", "data": {"action": "edited", **entities}}
    return message(**(served | changes))


def test_the_sender_of_what_was_sent() -> None:
    assert not is_sent_by_other(message(), "ALICE")
    assert is_sent_by_other(message(sender="system"), "alice")
    assert not is_sent_by_other(object(), "alice")


@loop_over(
    "record",
    [
        action("alice"), action(None), action("Alice", sender="system"), message(), message(editedBy="alice"),
        action(None, **GROUP), action("alice", **GROUP), message(deletedBy="alice", editedBy="bob"),
        parse(Message, {"id": "1"}),
    ],
)  # fmt: skip
def test_an_edit_by_the_acting_user(record: Any) -> None:
    assert not is_changed_by_other(record, "alice")


@loop_over(
    "record",
    [
        action("system"), action(None, sender="system"), action(None, sender="bob", receiver="alice"),
        action("bob"), action(None, **(GROUP | {"sender": "app_system"})), message(sender="system"),
        message(editedBy="system"), message(deletedBy="bob", editedBy="alice"), message(**OTHERS),
    ],
)  # fmt: skip
def test_an_edit_by_another_one(record: Any) -> None:
    assert is_changed_by_other(record, "alice")


def test_reactions() -> None:
    def reacted(*by_me: Any) -> Any:
        counts = [
            {"reaction": "+", "count": 1} | ({} if each is None else {"reactedByMe": each}) for each in by_me
        ]
        return message(data={"text": "hello", "reactions": counts})

    assert [
        is_reaction_of_other(reacted(*each), "bob") for each in ((), (None,), (True,), (False, True))
    ] == [False] * 4
    assert is_reaction_of_other(reacted(False), "bob")
    assert is_reaction_of_other(message(**OTHERS), "bob")
    for uid, verdict in (("bob", False), ("system", True)):
        record = parse(Message, {"id": "1", "messageId": "7", "uid": uid, "reaction": "+"})
        assert is_reaction_of_other(record, "bob") is verdict


def test_what_a_user_has_a_part_in() -> None:
    assert not is_of_others(message(), "bob")
    assert is_of_others(message(), "carol")
    assert not is_of_others(message(**GROUP), "bob")
    conversation = parse(Conversation, {"conversationId": "alice_user_bob"})
    assert is_of_others(conversation, "carol")
    assert not is_of_others(conversation, "bob")
    assert not is_of_others(None, "bob")
