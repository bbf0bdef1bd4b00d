"""Pins for everybody, saves of single users, and interactions."""

import pytest

from chatrest.emulator.service.message_changes import PINS_PER_CONVERSATION, SAVES_PER_USER
from tests.emulator.conftest import NOW, Asker


@pytest.fixture
def chat(ask: Asker) -> Asker:
    for number in range(1, 102):
        ask.store.add_message("ann", "bob", f"text {number}")
    return ask


@pytest.mark.parametrize(("user", "pinner"), [("bob", "bob"), (None, "app_system")])
def test_a_pinned_message_is_pinned_for_everybody(chat: Asker, user: str | None, pinner: str) -> None:
    pinned = chat("/v3/messages/7/pin", method="POST", acting_user=user).json["data"]
    assert (pinned["pinnedAt"], pinned["pinnedBy"]) == (NOW, pinner)
    again = chat("/v3/messages/7/pin", method="POST", acting_user="ann").json["data"]
    assert again["pinnedBy"] == pinner
    for reader in ("ann", "bob"):
        other = "bob" if reader == "ann" else "ann"
        listed = chat(f"/v3/users/{other}/messages", "pinned=1", acting_user=reader)
        assert [record["pinnedBy"] for record in listed.json["data"]] == [pinner]
    assert chat("/v3/users/bob/messages", "pinned=0&limit=1000", acting_user="ann").ids[6] == 7


def test_an_unpinned_message_shows_no_pin(chat: Asker) -> None:
    chat("/v3/messages/7/pin", method="POST", acting_user="bob")
    for _ in range(2):
        unpinned = chat("/v3/messages/7/pin", method="DELETE", acting_user="ann").json["data"]
        assert not {"pinnedAt", "pinnedBy"} & unpinned.keys()
    assert chat("/v3/users/bob/messages", "pinned=1", acting_user="ann").ids == []


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


def test_a_saved_message_shows_so_to_its_user_alone(chat: Asker) -> None:
    assert chat("/v3/messages/7/save", method="POST", acting_user="ann").json["data"]["savedAt"] == NOW
    assert chat("/v3/messages", "saved=1", acting_user="ann").ids == [7]
    assert chat("/v3/messages", "saved=1", acting_user="ann").json["data"][0]["savedAt"] == NOW
    assert chat("/v3/messages", "saved=1", acting_user="bob").ids == []
    assert chat("/v3/messages", "saved=1").ids == []
    assert "savedAt" not in chat("/v3/messages/7", acting_user="bob").json["data"]
    assert chat("/v3/messages/7", acting_user="ann").json["data"]["savedAt"] == NOW


def test_a_message_of_a_group_is_saved_by_any_member(chat: Asker) -> None:
    chat.store.add_message("ann", "den", "to all", receiver_type="group")
    chat.store.add_member("den", "bob")
    chat("/v3/messages/102/save", method="POST", acting_user="bob")
    assert chat("/v3/messages", "saved=1", acting_user="bob").ids == [102]


def test_a_message_that_is_dropped_is_saved_no_more(chat: Asker) -> None:
    chat("/v3/messages/7/save", method="POST", acting_user="ann")
    for _ in range(2):
        dropped = chat("/v3/messages/7/save", method="DELETE", acting_user="ann")
        assert "savedAt" not in dropped.json["data"]
    assert chat("/v3/messages", "saved=1", acting_user="ann").ids == []


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
