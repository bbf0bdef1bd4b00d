"""Friends, blocked and banned users against the emulator: made, listed, ended and refused."""

import pytest

from chatrest import (
    AsyncSession,
    ConflictError,
    FriendQuery,
    NewMembers,
    NewMessage,
    NotFoundError,
    PageQuery,
)
from chatrest._models.outcomes import ItemAck, Outcomes
from chatrest._models.users import User
from chatrest._walk.walk import Walk
from chatrest.emulator import Emulator
from tests.resources.conftest import NOW


async def uids(walk: Walk[User]) -> list[str]:
    return [user.uid async for user in walk]


def codes(outcomes: Outcomes[ItemAck]) -> dict[str, str]:
    """The error codes of the items that failed."""
    return {uid: ack.error["code"] for uid, ack in outcomes.failed.items()}


async def test_friends_are_so_in_both_directions(session: AsyncSession) -> None:
    outcomes = await session.friends.add("user-001", ["user-002", "user-003"])
    assert list(outcomes.check()) == ["user-002", "user-003"]
    assert await uids(session.friends.list("user-001")) == ["user-002", "user-003"]
    assert await uids(session.friends.list("user-002")) == ["user-001"]
    assert await uids(session.friends.list("user-001", FriendQuery(search_key="USER-003"))) == ["user-003"]
    assert await uids(session.friends.list("user-001", FriendQuery(per_page=1))) == ["user-002", "user-003"]


async def test_friends_may_be_added_to_each_others_conversations(session: AsyncSession) -> None:
    await session.friends.add("user-001", ["user-002"])
    await session.friends.add("user-001", ["user-003", "user-001"], add_to_conversations=True)
    conversations = {
        uid: [each.conversation_id async for each in session.conversations.list(on_behalf_of=uid)]
        for uid in ("user-001", "user-002", "user-003")
    }
    shared = "user-001_user_user-003"
    assert conversations == {"user-001": [shared], "user-002": [], "user-003": [shared]}
    await session.messages.send(NewMessage.text("user-003", "hello"), on_behalf_of="user-001")
    [conversation] = await session.conversations.list(on_behalf_of="user-003").collect()
    assert (conversation.conversation_id, conversation.created_at) == (shared, NOW)
    assert conversation.last_message is not None


async def test_friendships_that_are_refused_leave_the_others(session: AsyncSession) -> None:
    await session.friends.add("user-001", ["user-002"])
    outcomes = await session.friends.add("user-001", ["user-002", "user-001", "nobody", "user-003"])
    assert codes(outcomes) == {
        "user-002": "ERR_ALREADY_FRIEND",
        "user-001": "ERR_CANNOT_FORM_SELF_RELATION",
        "nobody": "ERR_UID_NOT_FOUND",
    }
    assert list(outcomes.succeeded) == ["user-003"]


async def test_friendships_end_all_or_none(session: AsyncSession) -> None:
    await session.friends.add("user-001", ["user-002", "user-003"])
    with pytest.raises(NotFoundError, match="ERR_NOT_A_FRIEND"):
        await session.friends.remove("user-001", ["user-002", "user-004"])
    assert await uids(session.friends.list("user-001")) == ["user-002", "user-003"]
    assert (await session.friends.remove("user-002", ["user-001"])).success
    assert await uids(session.friends.list("user-001")) == ["user-003"]
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.friends.list("nobody").collect()


async def test_blocks_have_a_direction_and_a_time(session: AsyncSession) -> None:
    outcomes = await session.blocked_users.block("user-001", ["user-002", "user-001", "nobody", "user-003"])
    assert codes(outcomes) == {"user-001": "ERR_CANNOT_BLOCK_SELF", "nobody": "ERR_UID_NOT_FOUND"}
    assert "user-002" in str(outcomes["user-002"].message)
    assert await uids(session.blocked_users.list("user-001", PageQuery(per_page=1))) == [
        "user-002",
        "user-003",
    ]
    assert await uids(session.blocked_users.list("user-002")) == []
    first, _ = await session.blocked_users.list("user-001").collect()
    assert (first.blocked_by_me, first.blocked_by_me_at) == (True, NOW)
    assert codes(await session.blocked_users.block("user-001", ["user-002"])) == {}
    (await session.blocked_users.unblock("user-001", ["user-002"])).check()
    assert await uids(session.blocked_users.list("user-001")) == ["user-003"]
    assert codes(await session.blocked_users.unblock("user-001", ["nobody"])) == {
        "nobody": "ERR_UID_NOT_FOUND"
    }


async def test_a_banned_user_is_no_member_until_the_ban_ends(people: Emulator, session: AsyncSession) -> None:
    people.store.add_group("den")
    await session.members.add("den", NewMembers(participants=["user-001", "user-002"]))
    assert (await session.banned_users.ban("den", "user-001", on_behalf_of="user-002")).success
    await session.banned_users.ban("den", "user-003")
    assert await uids(session.banned_users.list("den", PageQuery(per_page=1))) == ["user-001", "user-003"]
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
