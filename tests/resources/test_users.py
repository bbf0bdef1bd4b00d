"""`session.users`, tokens, relations, roles and permissions: what operations give, and what lists send."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET

from chatrest import (
    AsyncSession,
    ConflictError,
    FriendQuery,
    NewMembers,
    NewUser,
    NotFoundError,
    PageQuery,
    UserChanges,
    UserQuery,
)
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.endpoint import Call
from chatrest._models.meta import Meta, Pagination
from chatrest._models.outcomes import Ack, ItemAck, Outcomes
from chatrest._models.users import User
from chatrest._parameters.apps import ApiKeyChanges
from chatrest._resources import collection_class
from chatrest._resources.users import Users
from chatrest._walk.walk import Walk
from chatrest.emulator import Emulator
from chatrest.errors import ReplyUnreadableError, RequestInvalidError
from tests.resources.conftest import NOW
from tests.support.cases import loop_over
from tests.support.session_double import Sender


async def test_a_limited_walk_begins_at_the_same_user_as_one_without_a_limit() -> None:
    """Page 2 is the second one of the size that the walk has without a limit."""

    def page(call: Call[Any]) -> Listing[User]:
        position = dict(call.position)
        size, number = int(position["perPage"]), int(position.get("page", (call.query or {})["page"]))
        users = [User(f"user-{n:04}") for n in range((number - 1) * size, number * size)]
        return Listing(users, Meta(pagination=Pagination(0, size, size, number, 9)), b"{}")

    users = await Users(Sender(page)).list(UserQuery(page=2)).limit(3).collect()
    assert [user.uid for user in users] == ["user-1000", "user-1001", "user-1002"]


ACK = b'{"data":{"success":true,"message":"done"}}'
PERMISSIONS = b'{"data":{"a.b":{"success":true},"permissions":{"a.b":"deny","c.d":["x"]}}}'
LEFT = b'{"data":{"permissions":{"c.d":["x"]}}}'

Ask = Callable[[Any], Any]
CALLS: dict[str, Ask] = {
    "users.delete": lambda c: c.delete("ann", permanent=False),
    "users.reactivate": lambda c: c.reactivate(["a"]),
    "roles.get": lambda c: c.get("guest"),
    "rbac.set_role": lambda c: c.set_role("guest", {"a.b": "deny", "c.d": ["x"]}),
    "rbac.unset_role": lambda c: c.unset_role("guest", "a.b"),
    "rbac.set_scope": lambda c: c.set_scope("den", "admin", {"a.b": "deny"}),
}


async def call(name: str, *replies: bytes) -> tuple[Any, Sender]:
    sender = Sender(*replies)
    return await CALLS[name](collection_class(name.partition(".")[0])(sender)), sender


async def test_a_soft_deletion_may_be_acknowledged_by_the_uid_alone() -> None:
    result, _ = await call("users.delete", b'{"data":{"deactivatedUids":["ann"]}}')
    assert result == Ack(success=True)


@pytest.mark.parametrize(
    "settings", [b"[]", b"{}", b"null"], ids=["an empty array", "an empty object", "nothing"]
)
async def test_a_role_without_settings_is_read(settings: bytes) -> None:
    role, _ = await call("roles.get", b'{"data":{"role":"guest","settings":%b}}' % settings)
    assert role.role == "guest"
    assert getattr(role.settings, "list_users", UNSET) is UNSET


@pytest.mark.parametrize(
    ("reply", "uids"),
    [
        (b'{"data":{"nonDeactivatedUids":["a","b"]}}', ("a", "b")),
        (b'{"data":{"success":{"a":{"success":true},"b":{"success":false}}}}', ("a",)),
    ],
)
async def test_reactivated_users_are_read_in_either_form(reply: bytes, uids: tuple[str, ...]) -> None:
    result, _ = await call("users.reactivate", reply)
    assert result.non_deactivated_uids == uids


async def test_permissions_that_were_set_come_with_all_that_are_set() -> None:
    outcomes, _ = await call("rbac.set_role", PERMISSIONS)
    assert list(outcomes) == list(outcomes.check()) == ["a.b"]
    assert outcomes.permissions == {"a.b": "deny", "c.d": ("x",)}
    left, _ = await call("rbac.unset_role", LEFT)
    assert left.permissions == {"c.d": ("x",)}
    alone, _ = await call("rbac.set_scope", LEFT)
    assert (len(alone), alone.permissions) == (0, {"c.d": ("x",)})


@loop_over("reply", [b"{}", b'{"data":{}}', b'{"data":[1]}', b'{"data":{"a":5}}'])
async def test_a_reply_without_outcomes_and_permissions_is_unreadable(reply: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        await call("rbac.set_role", reply)


@loop_over(
    ("name", "secret", "arguments"), [("auth_tokens", "authToken", ("ann",)), ("api_keys", "apiKey", ())]
)
async def test_no_cursor_holds_a_secret(name: str, secret: str, arguments: tuple[str, ...]) -> None:
    records = ",".join(f'{{"uid":"ann","{secret}":"s3cret-{n}"}}' for n in range(3))
    page = f'{{"data":[{records}],"meta":{{}}}}'.encode()
    collection: Any = collection_class(name)(Sender(page, b'{"data":[]}'))
    walk = collection.list(*arguments)
    async for record in walk:
        for text in (repr(record), repr(walk), repr(walk.cursor), str(walk.cursor)):
            assert "s3cret" not in text
    assert "s3cret" not in str(walk.cursor.last)


@loop_over(
    "ask",
    [
        lambda keys, tokens, _: keys.get("s3cret\n"),
        lambda keys, tokens, _: keys.delete("s3cret\ud800"),
        lambda keys, tokens, _: keys.update(ApiKeyChanges(), "s3cret"),
        lambda keys, tokens, _: keys.update("s3cret", "s3cret"),
        lambda keys, tokens, _: tokens.get("ann", "s3cret\n"),
        lambda keys, tokens, _: tokens.update("ann", "s3cret", UserChanges()),
        lambda keys, tokens, devices: devices.delete_push_token("s3cret\n", "s3cret"),
        lambda keys, tokens, devices: devices.list_push_tokens("s3cret", all="x"),
        lambda keys, tokens, devices: devices.unregister_push_tokens("s3cret", all="x"),
    ],
)
async def test_no_error_or_frame_of_a_wrong_argument_holds_a_secret(ask: Any) -> None:
    sender = Sender(ACK)
    collections = [collection_class(name)(sender) for name in ("api_keys", "auth_tokens", "notifications")]
    with pytest.raises(RequestInvalidError) as caught:
        await ask(*collections)
    assert "s3cret" not in str(caught.value)
    inner = caught.traceback[2:]  # this test, and the table's line that names the secret
    assert not any("s3cret" in repr(frame.locals) for frame in inner)


EVERYBODY = [f"user-{number:03}" for number in range(1, 6)]


async def uids(session: AsyncSession, **filters: object) -> list[str]:
    query = UserQuery(**filters)  # type: ignore[arg-type]
    return [user.uid async for user in session.users.list(query)]


async def test_a_user_is_made_with_all_that_was_given(session: AsyncSession) -> None:
    user = NewUser(
        uid="Ann", name="Ann", avatar="https://a", link="https://l", role="guest", status_message="here",
        metadata={"a": 1}, tags=["x"], with_auth_token=True,
    )  # fmt: skip
    made = await session.users.create(user)
    assert (made.uid, made.role, made.status_message, made.metadata) == ("ann", "guest", "here", {"a": 1})
    assert (made.tags, made.created_at) == (("x",), NOW)
    [token] = await session.auth_tokens.list("ann").collect()
    assert token.auth_token == made.auth_token
    assert await uids(session, role="guest", created_at_from=NOW) == ["ann"]
    with pytest.raises(ConflictError) as caught:
        await session.users.create(NewUser(uid="ANN", name="Other"))
    assert "uid" in caught.value.details


async def test_users_are_switched_off_and_on(session: AsyncSession) -> None:
    await session.users.update("user-001", UserChanges(tags=["y"]))
    off = await session.users.deactivate(["user-001", "nobody", "user-002", "user-001"])
    assert off.deactivated_uids == ("user-001", "user-002")
    assert await uids(session) == EVERYBODY[2:]
    [first, _] = await session.users.list(UserQuery(only_deactivated=True, with_tags=True)).collect()
    assert (first.uid, first.deactivated_at, first.tags) == ("user-001", NOW, ("y",))
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.users.get("user-001")
    on = await session.users.reactivate(["user-001", "nobody"])
    assert on.non_deactivated_uids == ("user-001",)
    assert "deactivatedAt" not in (await session.users.get("user-001")).to_dict()
    assert await uids(session, with_deactivated=True) == EVERYBODY


async def test_a_permanent_deletion_leaves_nothing_but_messages(
    people: Emulator, session: AsyncSession
) -> None:
    people.store.add_group("den")
    people.store.add_message("user-001", "user-002", "stays")
    await session.members.add("den", NewMembers(participants=["user-001", "user-002"]))
    await session.friends.add("user-002", ["user-001"])
    await session.blocked_users.block("user-003", ["user-001"])
    await session.auth_tokens.create("user-001")
    await session.users.delete("user-001")
    assert (await session.users.delete("user-001", permanent=True)).success
    await session.users.create(NewUser(uid="user-001", name="Another"))
    assert (await session.groups.get("den")).members_count == 1
    for walk in (
        session.friends.list("user-002"), session.friends.list("user-001"),
        session.blocked_users.list("user-003"), session.auth_tokens.list("user-001"),
    ):  # fmt: skip
        assert await walk.collect() == []
    texts = [message.data.text async for message in session.messages.list_user("user-001")]
    assert "stays" in texts
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.users.delete("nobody", permanent=True)


UID = "user-001"


async def tokens(session: AsyncSession, uid: str = UID) -> list[str]:
    return [token.auth_token async for token in session.auth_tokens.list(uid)]


async def test_a_token_is_handed_out_again_unless_a_fresh_one_is_asked_for(session: AsyncSession) -> None:
    first = await session.auth_tokens.create(UID)
    assert await session.auth_tokens.create(UID) == first
    fresh = await session.auth_tokens.create(UID, force=True)
    assert await tokens(session) == [first.auth_token, fresh.auth_token]
    assert await session.auth_tokens.get(UID, first.auth_token) == first
    assert await tokens(session, "user-002") == []
    with pytest.raises(NotFoundError, match="ERR_AUTH_TOKEN_NOT_FOUND"):
        await session.auth_tokens.get("user-002", first.auth_token)


async def uids_of(walk: Walk[User]) -> list[str]:
    return [user.uid async for user in walk]


def codes(outcomes: Outcomes[ItemAck]) -> dict[str, str]:
    return {uid: ack.error["code"] for uid, ack in outcomes.failed.items()}


async def test_friends_are_so_in_both_directions(session: AsyncSession) -> None:
    await session.friends.add("user-001", ["user-002"])
    outcomes = await session.friends.add("user-001", ["user-002", "user-001", "nobody", "user-003"])
    assert list(outcomes.succeeded) == ["user-003"]
    assert codes(outcomes) == {
        "user-002": "ERR_ALREADY_FRIEND", "user-001": "ERR_CANNOT_FORM_SELF_RELATION",
        "nobody": "ERR_UID_NOT_FOUND",
    }  # fmt: skip
    assert await uids_of(session.friends.list("user-001")) == ["user-002", "user-003"]
    assert await uids_of(session.friends.list("user-002")) == ["user-001"]
    assert await uids_of(session.friends.list("user-001", FriendQuery(search_key="USER-003"))) == ["user-003"]
    pages = session.friends.list("user-001", FriendQuery(per_page=1))
    assert await uids_of(pages) == ["user-002", "user-003"]


async def test_blocks_have_a_direction_and_a_time(session: AsyncSession) -> None:
    outcomes = await session.blocked_users.block("user-001", ["user-002", "user-001", "nobody", "user-003"])
    assert codes(outcomes) == {"user-001": "ERR_CANNOT_BLOCK_SELF", "nobody": "ERR_UID_NOT_FOUND"}
    assert "user-002" in str(outcomes["user-002"].message)
    pages = session.blocked_users.list("user-001", PageQuery(per_page=1))
    assert await uids_of(pages) == ["user-002", "user-003"]
    assert await uids_of(session.blocked_users.list("user-002")) == []
    first, _ = await session.blocked_users.list("user-001").collect()
    assert (first.blocked_by_me, first.blocked_by_me_at) == (True, NOW)
    assert (await session.users.get("user-002", on_behalf_of="user-001")).blocked_by_me_at == NOW
    blocker = await session.users.get("user-001", on_behalf_of="user-002")
    assert (blocker.has_blocked_me, blocker.blocked_at) == (True, NOW)
    assert "blockedByMe" not in blocker.to_dict()
    assert codes(await session.blocked_users.block("user-001", ["user-002"])) == {}
    (await session.blocked_users.unblock("user-001", ["user-002"])).check()
    assert await uids_of(session.blocked_users.list("user-001")) == ["user-003"]
    assert codes(await session.blocked_users.unblock("user-001", ["nobody"])) == {
        "nobody": "ERR_UID_NOT_FOUND"
    }


async def test_a_banned_user_is_no_member_until_the_ban_ends(people: Emulator, session: AsyncSession) -> None:
    people.store.add_group("den")
    await session.members.add("den", NewMembers(participants=["user-001", "user-002"]))
    assert (await session.banned_users.ban("den", "user-001", on_behalf_of="user-002")).success
    await session.banned_users.ban("den", "user-003")
    assert await uids_of(session.banned_users.list("den", PageQuery(per_page=1))) == ["user-001", "user-003"]
    assert [member.uid async for member in session.members.list("den")] == ["user-002"]
    refused = await session.members.add("den", NewMembers(participants=["user-001"]))
    assert refused["user-001"].error["code"] == "ERR_BANNED_GROUPMEMBER"
    with pytest.raises(ConflictError, match="ERR_ALREADY_BANNED"):
        await session.banned_users.ban("den", "user-001")
    assert (await session.banned_users.unban("den", "user-001")).success
    with pytest.raises(NotFoundError, match="ERR_NOT_A_BANNED_USER"):
        await session.banned_users.unban("den", "user-001")
    (await session.members.add("den", NewMembers(participants=["user-001"]))).check()
    actions = [(message.sender, message.data.action) async for message in session.messages.list_group("den")]
    assert ("user-002", "banned") in actions
    assert ("app_system", "unbanned") in actions
