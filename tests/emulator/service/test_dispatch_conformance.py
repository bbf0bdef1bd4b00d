"""Every operation of the table, sent as the table says: served with its typed reply, and refused as it says.

The operations that administer an app have their loop in `tests/resources/test_administration`, over HTTP.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import pytest
from msgspec import Struct

from chatrest._core.replies.decode import ACK, EachOutcome, ManyRecords
from chatrest._core.replies.one_record import OneRecord
from chatrest._core.requests.endpoint import Endpoint
from chatrest._resources import OPERATIONS
from chatrest.emulator.store import Store
from tests.support.cases import loop_over

from ..conftest import COLLECTIONS, KEYS, Answer, ServiceClient, client_of

OWN: Final = [name for name in OPERATIONS if name.partition(".")[0] not in COLLECTIONS]
"""The operations that are not read from the table: of users, groups, messages and conversations."""
TEXT: Final = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hi"}}
IMPORTED: Final = {"uid": "eve", "name": "Eve"}
GROUP: Final = {"guid": "pen", "name": "Pen", "type": "public"}
BODIES: Final[dict[str, Any]] = {
    "auth_tokens.update": {"platform": "ios"},
    "blocked_users.block": {"blockedUids": ["cat"]},
    "blocked_users.unblock": {"blockedUids": ["cat"]},
    "conversations.replace_pinned": {"pinnedConversations": [{"uid": "bob"}, {"guid": "den"}]},
    "conversations.update_group": {"tags": ["x"]},
    "conversations.update_user": {"tags": ["x"]},
    "data_import.import_groups": {"groups": {"1": GROUP | {"createdAt": 1}}},
    "data_import.import_members": {"members": {"1": {"guid": "den", "uid": "dan"}}},
    "data_import.import_messages": {"messages": {"1": TEXT | {"sender": "ann", "muid": "m", "sentAt": 1}}},
    "data_import.import_users": {"users": {"1": IMPORTED}},
    "friends.add": {"accepted": ["cat"]},
    "friends.remove": {"friends": ["ann"]},
    "groups.create": GROUP,
    "groups.update": {"name": "The den"},
    "members.add": {"participants": ["dan"], "usersToBan": ["bob"]},
    "members.change_scope": {"scope": "moderator"},
    "messages.delete": {"permanent": True},
    "messages.mark_interacted": {"interactions": ["a"]},
    "messages.send": TEXT,
    "messages.send_bot": TEXT,
    "messages.send_thread": TEXT,
    "messages.update": {"tags": ["y"]},
    "users.create": IMPORTED,
    "users.deactivate": {"uidsToDeactivate": ["cat"]},
    "users.reactivate": {"uidsToActivate": ["cat"]},
    "users.update": {"name": "Bo"},
}
GIVEN: Final = {"uid": "bob", "guid": "den", "id": "1", "reaction": "👍", "conversationId": "ann_user_bob"}
NOWHERE: Final = {"id": "99", "conversationId": "ann_user_zoe"}
"""The values of a path that lead nowhere, if not "nobody"."""


@pytest.fixture
def world(store: Store) -> ServiceClient:
    """The users ann, bob and cat, the group den of ann and bob, and a message of each kind between them."""
    for uid in ("ann", "bob", "cat", "dan"):
        store.add_user(uid)
    store.add_group("den")
    store.members.add("den", "ann", "admin")
    store.members.add("den", "bob")
    store.members.ban("den", "cat")
    for owner, other in (("ann", "bob"), ("bob", "ann")):
        store.relations.add("friend", owner, other)
    store.add_message("ann", "bob", "one")
    store.add_message("bob", "den", "two", receiver_type="group")
    store.marks.add("reaction", 1, "bob", 1, "👍")
    return client_of(store)


def send(
    world: ServiceClient, endpoint: Endpoint[Any], given: Mapping[str, str], **headers: str | None
) -> Answer:
    """Send an operation as the table says; headers that are None are left out."""
    token = world.store.auth_tokens.issue("bob", 1)["authToken"]
    banned = {"uid": "cat"} if endpoint.name == "banned_users.unban" else {}
    values = {**GIVEN, "authToken": token, **banned, **given}
    path = endpoint.path
    for name in endpoint.parameters:
        path = path.replace(f"{{{name}}}", quote(values.get(name, "nobody"), safe=""))
    is_managed = endpoint.interface == "management"
    keys = {"key": KEYS.management, "secret": KEYS.secret} if is_managed else {"apikey": KEYS.full_access}
    acting = {} if endpoint.acting == "never" else {"onbehalfof": "ann"}
    sent = {name: value for name, value in (keys | acting | headers).items() if value is not None}
    path = f"/{'management' if is_managed else 'v3'}{path}"
    return world(path, method=endpoint.method, headers=sent, body=BODIES.get(endpoint.name, b""))


@pytest.mark.parametrize("name", OWN)
def test_an_operation_is_served_with_its_typed_reply(world: ServiceClient, name: str) -> None:
    endpoint = OPERATIONS[name]
    answer = send(world, endpoint, {})
    assert answer.status == 200, answer.json
    reply: Any = endpoint.reply(answer.body)
    match endpoint.reply:
        case ManyRecords():
            assert all(type(each) is not dict for each in reply.items)
        case EachOutcome():
            assert all(each.success for each in reply.values()), answer.json
        case OneRecord():
            assert isinstance(reply, Struct)
        case _:
            assert endpoint.reply is ACK
            assert reply.success


@pytest.mark.parametrize("name", [name for name in OWN if OPERATIONS[name].parameters])
def test_a_missing_object_is_a_404(world: ServiceClient, name: str) -> None:
    endpoint = OPERATIONS[name]
    for parameter in set(endpoint.parameters) - {"reaction"}:
        answer = send(world, endpoint, {parameter: NOWHERE.get(parameter, "nobody")})
        assert (answer.status, answer.code[-10:]) == (404, "_NOT_FOUND"), (parameter, answer.json)


CYCLES: Final = {
    "users": ("uid", "users.list"),
    "groups": ("guid", "groups.list"),
    "messages": ("id", "messages.list"),
    "auth_tokens": ("authToken", "auth_tokens.list"),
}
"""The member with the key of what is made, and the operation that lists it."""


@pytest.mark.parametrize("collection", CYCLES)
def test_a_created_object_is_listed_read_changed_and_removed(world: ServiceClient, collection: str) -> None:
    key, listed = CYCLES[collection]
    make = "messages.send" if collection == "messages" else f"{collection}.create"
    made = send(world, OPERATIONS[make], {}).json["data"][key]
    assert made in [each[key] for each in send(world, OPERATIONS[listed], {}).json["data"]]
    for name in ("get", "update", "get"):
        changed = send(world, OPERATIONS[f"{collection}.{name}"], {key: made})
        assert (changed.status, collection == "messages" or changed.json["data"][key] == made) == (200, True)
    change = BODIES[f"{collection}.update"]
    assert collection == "messages" or changed.json["data"].items() >= change.items()
    assert send(world, OPERATIONS[f"{collection}.delete"], {key: made}).status == 200
    assert send(world, OPERATIONS[f"{collection}.get"], {key: made}).status == 404
    assert made not in [each[key] for each in send(world, OPERATIONS[listed], {}).json["data"]]


@loop_over("name", OPERATIONS)
def test_keys_and_the_acting_user_are_checked_before_anything_else(name: str) -> None:
    endpoint = OPERATIONS[name]
    store = Store()
    store.add_user("ann")
    world = client_of(store)
    key = "key" if endpoint.interface == "management" else "apikey"
    for value in (None, "wrong"):
        assert send(world, endpoint, {}, **{key: value}).status == 401
    if key == "apikey":
        is_open = name in ("users.create", "auth_tokens.create")
        assert (send(world, endpoint, {}, apikey=KEYS.auth_only).status == 403) is not is_open
    if endpoint.acting != "never":
        assert send(world, endpoint, {}, onbehalfof="nobody").code == "ERR_UID_NOT_FOUND"
    if endpoint.acting == "required":
        answer = send(world, endpoint, {}, onbehalfof=None)
        assert (answer.status, "onBehalfOf" in str(answer.json)) == (400, True)
