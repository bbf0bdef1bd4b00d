"""The events of webhooks: the operation that makes each, and its contents."""

from typing import Any

import pytest

from chatrest.emulator.service.context import Context
from chatrest.emulator.service.dispatch import Service
from chatrest.emulator.service.events import Event
from chatrest.emulator.store import Store
from tests.emulator.conftest import KEYS, NOW, Asker

HELLO = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hello"}}


class Listener(Asker):
    """A service, and the events of it."""

    def __init__(self, store: Store) -> None:
        self.events: list[Event] = []
        context = Context(store, {"id": "emulated", "name": "Emulated app"}, lambda: NOW)
        super().__init__(Service(context, KEYS, self.events.append), store)

    @property
    def triggers(self) -> list[str]:
        return [event.trigger for event in self.events]


@pytest.fixture
def ask(store: Store) -> Listener:
    for uid in ("ann", "bob", "cat"):
        store.add_user(uid)
    store.add_group("den")
    store.members.add("den", "ann", "admin")
    return Listener(store)


def test_groups_are_told_with_who_acted(ask: Listener) -> None:
    ask.post("/v3/groups", {"guid": "pen", "name": "Pen", "type": "public"}, acting_user="ann")
    ask("/v3/groups/pen", method="PUT", body={"name": "The pen"})
    ask("/v3/groups/pen", method="DELETE", acting_user="ann")
    assert ask.triggers == ["group_created", "group_updated", "group_deleted"]
    created, updated, deleted = (event.data for event in ask.events)
    assert (created["group"]["guid"], created["by"]["uid"]) == ("pen", "ann")
    assert (updated["group"]["name"], updated["by"]["uid"]) == ("The pen", "app_system")
    assert deleted["group"] == {"guid": "pen"}


def test_new_members_and_bans_are_told_apart_and_failures_not_at_all(ask: Listener) -> None:
    body = {"participants": ["bob", "nobody", "ann"], "usersToBan": ["cat"]}
    ask.post("/v3/groups/den/members", body, acting_user="ann")
    assert ask.triggers == ["group_member_added", "group_member_banned"]
    assert [list(event.data["members"]) for event in ask.events] == [["bob"], ["cat"]]


# ── what happens to messages ──


@pytest.fixture
def sent(ask: Listener) -> str:
    """The path of a message of ann's to bob, whose own event is forgotten."""
    message = ask.post("/v3/messages", HELLO, acting_user="ann").json["data"]
    ask.events.clear()
    return f"/v3/messages/{message['id']}"


@pytest.mark.parametrize(
    ("method", "body", "trigger", "action"),
    [
        ("PUT", {"data": {"text": "bye"}}, "message_edited", "edited"),
        ("DELETE", b"", "message_deleted", "deleted"),
    ],
)
def test_a_change_is_told_twice_with_the_message_that_tells_of_it(
    ask: Listener, sent: str, method: str, body: Any, trigger: str, action: str
) -> None:
    ask(sent, method=method, body=body, acting_user="ann")
    assert ask.triggers == [trigger, "message_sent"]
    for event in ask.events:
        message = event.data["message"]
        assert (message["category"], message["data"]["action"]) == ("action", action)


@pytest.mark.parametrize(
    ("method", "trigger"), [("POST", "message_reaction_added"), ("DELETE", "message_reaction_removed")]
)
def test_a_reaction_is_told_with_its_user(ask: Listener, sent: str, method: str, trigger: str) -> None:
    ask(f"{sent}/reactions/%F0%9F%91%8D", method=method, acting_user="bob")
    [event] = ask.events
    reaction = event.data["reaction"]
    assert (event.trigger, reaction["reaction"], reaction["uid"]) == (trigger, "👍", "bob")
    assert (sent.endswith(f"/{reaction['messageId']}"), reaction["reactedBy"]["uid"]) == (True, "bob")


@pytest.mark.parametrize(
    ("what", "trigger", "action"),
    [("read", "message_read_receipt", "read"), ("delivered", "message_delivery_receipt", "delivered")],
)
def test_a_receipt_is_told_with_its_reader(
    ask: Listener, sent: str, what: str, trigger: str, action: str
) -> None:
    number = int(sent.rpartition("/")[2])
    ask.post(f"/v3/users/ann/conversation/{what}", {"messageId": number}, acting_user="bob")
    [event] = ask.events
    assert (event.trigger, event.data["receiver"], event.data["sender"]) == (trigger, "ann", "bob")
    body = event.data["body"]
    assert (body["action"], body["messageId"], body["user"]["uid"]) == (action, str(number), "bob")
