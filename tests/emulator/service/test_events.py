"""Events that webhooks are told: which operation makes which, and what they hold."""

from typing import Any

import pytest

from chatrest.emulator.service.context import Context
from chatrest.emulator.service.events import Event
from chatrest.emulator.service.page_format import PageFormat
from chatrest.emulator.service.service import Service
from chatrest.emulator.service.triggers import TRIGGERS
from chatrest.emulator.store import Store
from tests.emulator.conftest import KEYS, NOW, Asker

HELLO = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hello"}}


class Listener(Asker):
    """A service, and the events of it."""

    def __init__(self, store: Store) -> None:
        self.events: list[Event] = []
        formats = PageFormat("cursor"), PageFormat("next")
        context = Context(store, {"id": "emulated", "name": "Emulated app"}, *formats, lambda: NOW)
        super().__init__(Service(context, KEYS, self.events.append), store)

    @property
    def triggers(self) -> list[str]:
        return [event.trigger for event in self.events]


@pytest.fixture
def ask(store: Store) -> Listener:
    for uid in ("ann", "bob", "cat"):
        store.add_user(uid)
    store.add_group("den")
    store.add_member("den", "ann", "admin")
    return Listener(store)


def test_a_message_that_is_sent_is_told_as_it_is_stored(ask: Listener) -> None:
    sent = ask.post("/v3/messages", HELLO, acting_user="ann")
    assert ask.events == [Event("message_sent", {"message": sent.json["data"]})]


def test_the_app_itself_sends_where_nobody_acts(ask: Listener) -> None:
    ask.post("/v3/messages", HELLO)
    assert ask.events[0].data["message"]["sender"] == "app_system"


def test_what_is_refused_is_not_told(ask: Listener) -> None:
    assert ask.post("/v3/messages", HELLO | {"receiver": "nobody"}).status != 200
    assert ask.events == []


@pytest.mark.parametrize("path", ["/v3/users", "/v3/users/ann", "/v3/groups/den/members", "/v3/messages"])
def test_what_only_reads_is_not_told(ask: Listener, path: str) -> None:
    assert ask(path).status == 200
    assert ask.events == []


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


@pytest.mark.parametrize(
    ("method", "path", "body", "trigger"),
    [
        ("DELETE", "/v3/groups/den/members/ann", b"", "group_member_kicked"),
        ("PUT", "/v3/groups/den/members/ann", {"scope": "moderator"}, "group_member_scope_changed"),
        ("POST", "/v3/groups/den/bannedusers/ann", b"", "group_member_banned"),
    ],
)
def test_a_change_of_one_member_is_told(
    ask: Listener, method: str, path: str, body: Any, trigger: str
) -> None:
    assert ask(path, method=method, body=body).status == 200
    [event] = ask.events
    assert (event.trigger, event.data["group"]["guid"]) == (trigger, "den")
    assert event.data["members"]["ann"].get("scope") == (body["scope"] if body else None)


def test_blocks_are_told_with_all_users(ask: Listener) -> None:
    body = {"blockedUids": ["bob", "cat"]}
    ask.post("/v3/users/ann/blockedusers", body)
    ask("/v3/users/ann/blockedusers", method="DELETE", body=body)
    assert ask.triggers == ["user_blocked", "user_unblocked"]
    for event in ask.events:
        assert (list(event.data["users"]), event.data["by"]["uid"]) == (["bob", "cat"], "ann")


def test_every_trigger_that_is_told_can_be_added_to_a_webhook(ask: Listener) -> None:
    ask.post("/v3/messages", HELLO)
    ask("/v3/groups/den/members/ann", method="DELETE")
    assert set(ask.triggers) <= set(TRIGGERS)
