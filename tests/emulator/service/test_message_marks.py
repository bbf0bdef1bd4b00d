"""Pins for everybody, saves of single users, and interactions."""

import pytest

from chatrest.emulator.service.message_changes import PINS_PER_CONVERSATION, SAVES_PER_USER
from tests.emulator.conftest import NOW, Asker


@pytest.fixture
def chat(ask: Asker) -> Asker:
    for number in range(1, 102):
        ask.store.add_message("ann", "bob", f"text {number}")
    return ask


def test_pins_and_saves_have_limits(chat: Asker) -> None:
    for action, most in (("pin", PINS_PER_CONVERSATION), ("save", SAVES_PER_USER)):
        for number in range(1, most + 1):
            assert chat(f"/v3/messages/{number}/{action}", method="POST", acting_user="ann").status == 200
        over = chat(f"/v3/messages/{most + 1}/{action}", method="POST", acting_user="ann")
        code = f"ERR_{'PINNED' if action == 'pin' else 'SAVED'}_MESSAGES_LIMIT_EXCEEDED"
        assert (over.status, over.code) == (400, code)
        assert chat(f"/v3/messages/1/{action}", method="POST", acting_user="ann").status == 200
        chat(f"/v3/messages/1/{action}", method="DELETE", acting_user="ann")
        assert chat(f"/v3/messages/{most + 1}/{action}", method="POST", acting_user="ann").status == 200


def test_a_message_of_a_group_is_saved_by_any_member(chat: Asker) -> None:
    chat.store.add_message("ann", "den", "to all", receiver_type="group")
    chat.store.add_member("den", "bob")
    chat("/v3/messages/102/save", method="POST", acting_user="bob")
    assert chat("/v3/messages", "saved=1", acting_user="bob").ids == [102]


def test_interactions_are_noted_once(chat: Asker) -> None:
    path = "/v3/messages/7/interacted"
    for elements in (["a", "b"], ["b"]):
        answer = chat(path, method="PATCH", body={"interactions": elements}, acting_user="bob")
        assert answer.json["data"]["success"] is True
    assert chat.store.marks.interactions(7, "bob") == {"a": NOW, "b": NOW}
    assert chat.store.marks.interactions(7, "ann") == {}
    for body in ({}, {"interactions": []}, {"interactions": [5]}):
        refused = chat(path, method="PATCH", body=body, acting_user="bob")
        assert (refused.status, list(refused.json["error"]["details"])) == (400, ["interactions"])


@pytest.mark.parametrize("action", ["pin", "save"])
def test_a_message_that_is_unknown_or_of_others_is_refused(chat: Asker, action: str) -> None:
    for method in ("POST", "DELETE"):
        assert chat(f"/v3/messages/999/{action}", method=method, acting_user="ann").status == 404
        assert chat(f"/v3/messages/7/{action}", method=method, acting_user="cat").status == 403
