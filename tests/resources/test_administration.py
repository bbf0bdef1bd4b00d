"""All operations that administer an app, by their typed methods over real HTTP.

What makes a document comes first, what removes one comes last; an operation gets the keys that the service
gave. Each document that has a path is listed, read, changed and removed, and then it is not there.
"""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from msgspec import UNSET

from chatrest import AsyncManagement, AsyncSession, ConflictError, NotFoundError
from chatrest._core.requests.endpoint import Endpoint
from chatrest._parameters.agents import AgentChanges, AgentQuery, NewAgent
from chatrest._parameters.moderation import NewModeratedMessage
from chatrest._parameters.notifications import (
    ApnsProvider,
    ConversationsToMute,
    ConversationsToUnmute,
    FcmProvider,
    NewPushToken,
    PreferencesChanges,
    SettingsChanges,
)
from chatrest._parameters.roles import NewRole, RoleChanges
from chatrest._resources import OPERATIONS
from chatrest._walk.walk import Walk
from chatrest.emulator import Emulator
from chatrest.emulator.service.document_operations import document_path, key_member
from tests.emulator.conftest import COLLECTIONS
from tests.resources.operation_table import arguments_of, camel
from tests.support.cases import loop_over

MANAGED: Final = {"apps", "webhooks", "triggers"}
ORDER: Final = ("POST", "PUT", "PATCH", "GET", "DELETE")
GIVEN: Final[dict[str, Any]] = {
    "app_id": "emulated", "guid": "group-01", "on_behalf_of": "user-001", "provider_id": "p",
    "push_token": "t", "role": "default", "scope": "admin", "source_type": "text",
    "trigger_ids": ["message_sent"], "uid": "user-001",
}  # fmt: skip
"""Arguments that name what is there from the beginning."""
_VERBS: Final = ("add", "update")


class World:
    """An emulator that has all that operations name, and clients that call them by name.

    - `given`: values of arguments by name, such as `uid`, for all operations;
    - `bodies`: the body of an operation by its name, where the generated one would be refused;
    - `keys`: the key of the first document that was made in each collection, by the collection's path.

    All other arguments are generated: `arguments_of` of the test of parity.
    """

    def __init__(self, emulator: Emulator, session: AsyncSession, management: AsyncManagement) -> None:
        self.emulator, self.session, self.management = emulator, session, management
        self.keys = {"/apps": "emulated"}
        store, documents = emulator.store, emulator.store.documents
        message = store.add_message("user-001", "user-002", "hi")
        documents.of("/calls")["session_id-1"] = {"sessionId": "session_id-1"}
        held = {"ruleId": "r", "message": message, "createdAt": 1}
        documents.of("/moderation/blocked-messages")[message["id"]] = held
        token = store.auth_tokens.issue("user-001", 0)["authToken"]
        moderated = NewModeratedMessage(sender="user-001", receiver="user-002", receiver_type="user")
        self.given = GIVEN | {"message_id": message["id"], "auth_token": token}
        self.bodies: dict[str, Any] = {
            "moderation.create_message": moderated,
            "notifications.register_push_token": NewPushToken(auth_token=token, fcm_token="t"),
            **{f"notifications.{verb}_fcm_provider": FcmProvider(provider_id="p") for verb in _VERBS},
            **{f"notifications.{verb}_apns_provider": ApnsProvider(provider_id="p") for verb in _VERBS},
        }

    async def call(self, name: str) -> Any:
        """Call an operation by its typed method; note the key of what it made."""
        collection, _, operation = name.partition(".")
        client = self.management if collection in MANAGED else self.session
        result = getattr(getattr(client, collection), operation)(**self.arguments(OPERATIONS[name]))
        result = await (result.collect() if isinstance(result, Walk) else result)
        if OPERATIONS[name].method == "POST":
            about = document_path(OPERATIONS[name])
            parent = "emulated" if collection == "webhooks" else ""
            made = [*self.emulator.store.documents.of(about.collection, parent).values()]
            if made and key_member(about.collection) in made[-1]:
                self.keys.setdefault(about.collection, str(made[-1][key_member(about.collection)]))
        return result

    def arguments(self, endpoint: Endpoint[Any]) -> dict[str, Any]:
        """Return the arguments of an operation: generated ones, then `given`, keys in its path, its body."""
        arguments, prefix = arguments_of(endpoint.name), ""
        arguments |= {name: value for name, value in self.given.items() if name in arguments}
        for segment in endpoint.path.split("/")[1:]:
            for name in arguments:
                if segment == f"{{{camel(name)}}}" or (segment, name) == ("{id}", "message_id"):
                    arguments[name] = self.keys.get(prefix, arguments[name])
            prefix += f"/{segment}"
        if endpoint.name in self.bodies:
            [body] = [name for name in arguments if type(arguments[name]) is type(self.bodies[endpoint.name])]
            arguments[body] = self.bodies[endpoint.name]
        return arguments


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with Emulator(users=2, messages=0, groups=1) as emulator:
        secret, key = emulator.management_secret, emulator.management_key
        async with (
            AsyncSession(emulator.app) as session,
            AsyncManagement(emulator.management_url, key=key, secret=secret) as management,
        ):
            yield World(emulator, session, management)


@pytest.fixture
def session(world: World) -> AsyncSession:
    return world.session


def order(name: str) -> tuple[int, int]:
    endpoint = OPERATIONS[name]
    depth = endpoint.path.count("/")
    return ORDER.index(endpoint.method), -depth if endpoint.method == "DELETE" else depth


ADMINISTERING: Final = sorted(
    (name for name in OPERATIONS if name.partition(".")[0] in COLLECTIONS), key=order
)


def of_document(collection: str, *methods: str) -> list[str]:
    path = f"{collection}/{{"
    return [
        name
        for name in ADMINISTERING
        if (each := OPERATIONS[name]).method in methods
        and each.path.startswith(path)
        and each.path.count("/") == path.count("/")
    ]


async def test_every_operation_is_served_and_its_reply_has_its_type(world: World) -> None:
    for name in ADMINISTERING:
        result = await world.call(name)
        if (record := getattr(OPERATIONS[name].reply, "record", None)) and isinstance(record, type):
            for each in result if isinstance(result, list) else [result]:
                assert type(each).__name__ in (record.__name__, "Outcomes", "PermissionOutcomes"), name


MADE: Final = [
    name
    for name in ADMINISTERING
    if OPERATIONS[name].method == "POST" and of_document(document_path(OPERATIONS[name]).collection, "DELETE")
]


@loop_over("name", MADE)
async def test_a_created_object_is_listed_read_changed_and_removed(world: World, name: str) -> None:
    collection = document_path(OPERATIONS[name]).collection
    world.given |= {"role": "made"}
    reads, changes = of_document(collection, "GET"), of_document(collection, "PUT", "PATCH")
    [remove] = of_document(collection, "DELETE")
    await check_missing(world, [*reads, *changes, remove])
    await world.call(name)
    for each in changes:
        await world.call(each)
    lists = [
        each
        for each in ADMINISTERING
        if (OPERATIONS[each].path, OPERATIONS[each].method) == (collection, "GET")
    ]
    for each in (*reads, *lists):
        shown = await world.call(each)
        records = [record.to_json().decode() for record in (shown if isinstance(shown, list) else [shown])]
        assert world.keys[collection] in "".join(records), each
    await world.call(remove)
    await check_missing(world, [*reads, *changes, remove])


CODES: Final = {
    "api_keys": "APIKEY", "keyword": "KEYWORD", "message": "MESSAGE_ID", "provider": "PROVIDER",
    "reason": "REASON", "role": "ROLE", "rule": "RULE", "token": "TOKEN", "webhook": "WEBHOOK",
       "_tool": "TOOL", "action": "TOOL", "server": "TOOL", "variable": "VARIABLE", "agents.": "AGENT|KB",
}  # fmt: skip
"""The code of a document that does not exist, by the first of these that an operation's name has."""


async def check_missing(world: World, names: list[str]) -> None:
    for name in names:
        code = next(code for word, code in CODES.items() if word in name)
        with pytest.raises(NotFoundError, match=f"ERR_({code})_NOT_FOUND") as caught:
            await world.call(name)
        assert caught.value.status == 404


async def test_an_operation_below_a_document_that_does_not_exist_is_refused(world: World) -> None:
    world.given |= {"role": "none", "uid": "none", "guid": "none"}
    for name in (
        "agents.add_tools", "agents.list_tool_actions", "moderation.list_rule_revisions", "rbac.list_role",
        "rbac.set_scope", "restricted_features.restrict", "triggers.list", "notifications.get_timezone",
        "agents.list_discovered_urls",
    ):  # fmt: skip
        with pytest.raises(NotFoundError):
            await world.call(name)


async def test_roles_have_rights(session: AsyncSession) -> None:
    await session.roles.create(NewRole(role="guest", name="Guest", description="d"))
    with pytest.raises(ConflictError, match="taken"):
        await session.roles.create(NewRole(role="guest", name="Guest"))
    outcomes = await session.rbac.set_role("guest", {"a.read": "deny", "a.tags": ["x"]})
    assert outcomes.permissions == {"a.read": "deny", "a.tags": ("x",)}
    assert [each.id async for each in session.rbac.list_role("guest")] == ["a.read", "a.tags"]
    assert (await session.rbac.unset_role("guest", "a.read")).permissions == {"a.tags": ("x",)}
    assert list((await session.restricted_features.restrict("guest", ["f1", "f2"])).check()) == ["f1", "f2"]
    await session.restricted_features.allow("guest", ["f1"])
    assert [each.key async for each in session.restricted_features.list("guest")] == ["f2"]
    assert (await session.roles.update("guest", RoleChanges(unset=("description",)))).description is UNSET
    await session.roles.delete("guest")
    await session.roles.create(NewRole(role="guest", name="Guest"))
    assert await session.restricted_features.list("guest").collect() == []


async def test_an_agent_has_names(session: AsyncSession) -> None:
    agents = session.agents
    uid = (await agents.create(NewAgent(name="Helper", model_meta_data={"a": 1}))).agent.uid
    await agents.update(uid, AgentChanges(description="of the shop", model_meta_data={"b": 2}))
    assert (await agents.get(uid)).model_meta_data == {"a": 1, "b": 2}
    assert (await agents.add_api_tools(uid, ["x", "y"])).api_tools == ("x", "y")
    assert (await agents.remove_api_tools(uid, ["x"])).api_tools == ("y",)
    assert [each.uid async for each in agents.list(AgentQuery(search="SHOP"))] == [uid]


async def test_settings_are_merged_and_reset_and_preferences_are_of_users(session: AsyncSession) -> None:
    notifications = session.notifications
    await notifications.update_settings(SettingsChanges(sound={"chat": "a"}))
    await notifications.update_settings(SettingsChanges(sound={"call": "b"}))
    assert (await notifications.get_settings()).sound == {"chat": "a", "call": "b"}
    await notifications.reset_settings()
    assert not (await notifications.get_settings()).sound
    changes = PreferencesChanges(group_preferences={"groupMessages": 1})
    await notifications.update_preferences("user-001", changes)
    for uid, expected in (("user-001", {"groupMessages": 1}), ("user-002", UNSET)):
        groups = (await notifications.get_preferences(uid)).preferences
        assert groups
        assert groups.group == expected
    muted = ConversationsToMute(conversations=[{"id": "user-002", "type": "oneOnOne", "until": 5}])
    await notifications.mute("user-001", muted)
    [shown] = (await notifications.list_muted("user-001")).muted_conversations or ()
    assert (shown["id"], shown["until"]) == ("user-002", 5)
    assert (await notifications.list_muted("user-002")).muted_conversations == ()
    await notifications.unmute("user-001", ConversationsToUnmute(conversations=[{"id": "user-002"}]))
    assert (await notifications.list_muted("user-001")).muted_conversations == ()
