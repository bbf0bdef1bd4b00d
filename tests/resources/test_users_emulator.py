"""Users and their auth tokens, on the emulator."""

import pytest

from chatrest import (
    AsyncSession,
    ConflictError,
    NewMembers,
    NewUser,
    NotFoundError,
    PermissionDeniedError,
    UserChanges,
    UserQuery,
)
from chatrest.emulator import Emulator
from tests.resources.conftest import NOW

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


async def test_changes_are_read_again(session: AsyncSession) -> None:
    changes = UserChanges(name="Zoë", role="boss", tags=["y"], unset=["avatar"])
    changed = await session.users.update("user-002", changes)
    assert (changed.name, changed.role, changed.tags, changed.updated_at) == ("Zoë", "boss", ("y",), NOW)
    read = await session.users.get("user-002")
    assert (read.name, "avatar" in read.to_dict()) == ("Zoë", False)
    assert await uids(session, search_key="ZO") == await uids(session, tags=["y"]) == ["user-002"]
    assert await uids(session) == EVERYBODY
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.users.update("nobody", changes)


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


async def test_a_soft_deletion_can_be_undone(session: AsyncSession) -> None:
    assert (await session.users.delete("user-001")).success
    assert await uids(session) == EVERYBODY[1:]
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.users.delete("user-001")
    await session.users.reactivate(["user-001"])
    assert await uids(session) == EVERYBODY


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


async def test_a_user_is_seen_with_the_blocks_between_the_two(session: AsyncSession) -> None:
    await session.blocked_users.block("user-001", ["user-002"])
    blocked = await session.users.get("user-002", on_behalf_of="user-001")
    assert (blocked.blocked_by_me, blocked.blocked_by_me_at) == (True, NOW)
    blocker = await session.users.get("user-001", on_behalf_of="user-002")
    assert (blocker.has_blocked_me, blocker.blocked_at) == (True, NOW)
    assert "blockedByMe" not in blocker.to_dict()


# ── auth tokens ──

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


async def test_removed_tokens_are_not_found(session: AsyncSession) -> None:
    keys = [(await session.auth_tokens.create(UID, force=True)).auth_token for _ in range(3)]
    assert (await session.auth_tokens.delete(UID, keys[1])).success
    assert await tokens(session) == [keys[0], keys[2]]
    with pytest.raises(NotFoundError, match="ERR_AUTH_TOKEN_NOT_FOUND"):
        await session.auth_tokens.get(UID, keys[1])
    assert (await session.auth_tokens.flush(UID)).success
    assert await tokens(session) == []
    assert (await session.auth_tokens.create(UID)).auth_token not in keys


async def test_a_token_of_another_user_is_refused(session: AsyncSession) -> None:
    token = await session.auth_tokens.create(UID)
    for ask in (
        session.auth_tokens.get("user-002", token.auth_token),
        session.auth_tokens.delete("user-002", token.auth_token),
    ):
        with pytest.raises(PermissionDeniedError, match="ERR_AUTHTOKEN_NOT_ACCESSIBLE"):
            await ask
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.auth_tokens.list("nobody").collect()
