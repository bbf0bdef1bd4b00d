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
from chatrest.emulator import Emulator
from chatrest.models.outcomes import ItemAck, Outcomes
from chatrest.models.users import User
from chatrest.walk.walk import Walk
from tests.resources.conftest import NOW


async def uids(walk: Walk[User]) -> list[str]:
    return [user.uid async for user in walk]


def codes(outcomes: Outcomes[ItemAck]) -> dict[str, str]:
    """The error codes of the items that failed."""
    return {uid: ack.error["code"] for uid, ack in outcomes.failed.items()}


async def test_friends_are_so_in_both_directions(session: AsyncSession) -> None:
    outcomes = await session.friends.add("user-01", ["user-02", "user-03"])
    assert list(outcomes.check()) == ["user-02", "user-03"]
    assert await uids(session.friends.list("user-01")) == ["user-02", "user-03"]
    assert await uids(session.friends.list("user-02")) == ["user-01"]
    assert await uids(session.friends.list("user-01", FriendQuery(search_key="USER-03"))) == ["user-03"]
    assert await uids(session.friends.list("user-01", FriendQuery(per_page=1))) == ["user-02", "user-03"]


async def test_friends_may_be_added_to_each_others_conversations(session: AsyncSession) -> None:
    await session.friends.add("user-01", ["user-02"])
    await session.friends.add("user-01", ["user-03", "user-01"], add_to_conversations=True)
    conversations = {
        uid: [each.conversation_id async for each in session.conversations.list(on_behalf_of=uid)]
        for uid in ("user-01", "user-02", "user-03")
    }
    shared = "user-01_user_user-03"
    assert conversations == {"user-01": [shared], "user-02": [], "user-03": [shared]}
    await session.messages.send(NewMessage.text("user-03", "hello"), on_behalf_of="user-01")
    [conversation] = await session.conversations.list(on_behalf_of="user-03").collect()
    assert (conversation.conversation_id, conversation.created_at) == (shared, NOW)
    assert conversation.last_message is not None


async def test_friendships_that_are_refused_leave_the_others(session: AsyncSession) -> None:
    await session.friends.add("user-01", ["user-02"])
    outcomes = await session.friends.add("user-01", ["user-02", "user-01", "nobody", "user-03"])
    assert codes(outcomes) == {
        "user-02": "ERR_ALREADY_FRIEND",
        "user-01": "ERR_CANNOT_FORM_SELF_RELATION",
        "nobody": "ERR_UID_NOT_FOUND",
    }
    assert list(outcomes.succeeded) == ["user-03"]


async def test_friendships_end_all_or_none(session: AsyncSession) -> None:
    await session.friends.add("user-01", ["user-02", "user-03"])
    with pytest.raises(NotFoundError, match="ERR_NOT_A_FRIEND"):
        await session.friends.remove("user-01", ["user-02", "user-04"])
    assert await uids(session.friends.list("user-01")) == ["user-02", "user-03"]
    assert (await session.friends.remove("user-02", ["user-01"])).success
    assert await uids(session.friends.list("user-01")) == ["user-03"]
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.friends.list("nobody").collect()


async def test_a_user_has_a_thousand_friends_at_most(people: Emulator, session: AsyncSession) -> None:
    for number in range(1000):
        people.store.relations.add("friend", "user-01", f"friend-{number}")
    outcomes = await session.friends.add("user-02", ["user-01", "user-03"])
    assert codes(outcomes) == {"user-01": "ERR_FAILED_TO_ADD_FRIEND"}


async def test_blocks_have_a_direction_and_a_time(session: AsyncSession) -> None:
    outcomes = await session.blocked_users.block("user-01", ["user-02", "user-01", "nobody", "user-03"])
    assert codes(outcomes) == {"user-01": "ERR_CANNOT_BLOCK_SELF", "nobody": "ERR_UID_NOT_FOUND"}
    assert "user-02" in str(outcomes["user-02"].message)
    assert await uids(session.blocked_users.list("user-01", PageQuery(per_page=1))) == ["user-02", "user-03"]
    assert await uids(session.blocked_users.list("user-02")) == []
    first, _ = await session.blocked_users.list("user-01").collect()
    assert (first.blocked_by_me, first.blocked_by_me_at) == (True, NOW)
    assert codes(await session.blocked_users.block("user-01", ["user-02"])) == {}
    (await session.blocked_users.unblock("user-01", ["user-02"])).check()
    assert await uids(session.blocked_users.list("user-01")) == ["user-03"]
    assert codes(await session.blocked_users.unblock("user-01", ["nobody"])) == {
        "nobody": "ERR_UID_NOT_FOUND"
    }


async def test_a_banned_user_is_no_member_until_the_ban_ends(people: Emulator, session: AsyncSession) -> None:
    people.store.add_group("den")
    await session.members.add("den", NewMembers(participants=["user-01", "user-02"]))
    assert (await session.banned_users.ban("den", "user-01", on_behalf_of="user-02")).success
    await session.banned_users.ban("den", "user-03")
    assert await uids(session.banned_users.list("den", PageQuery(per_page=1))) == ["user-01", "user-03"]
    assert [member.uid async for member in session.members.list("den")] == ["user-02"]
    refused = await session.members.add("den", NewMembers(participants=["user-01"]))
    assert refused["user-01"].error["code"] == "ERR_BANNED_GROUPMEMBER"
    with pytest.raises(ConflictError, match="ERR_ALREADY_BANNED"):
        await session.banned_users.ban("den", "user-01")
    assert (await session.banned_users.unban("den", "user-01")).success
    with pytest.raises(NotFoundError, match="ERR_NOT_A_BANNED_USER"):
        await session.banned_users.unban("den", "user-01")
    (await session.members.add("den", NewMembers(participants=["user-01"]))).check()
    actions = [(message.sender, message.data.action) async for message in session.messages.list_group("den")]
    assert ("user-02", "banned") in actions
    assert ("app_system", "unbanned") in actions


async def test_bans_of_what_is_unknown_are_refused(people: Emulator, session: AsyncSession) -> None:
    people.store.add_group("den")
    with pytest.raises(NotFoundError, match="ERR_GUID_NOT_FOUND"):
        await session.banned_users.ban("none", "user-01")
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.banned_users.ban("den", "nobody")
    with pytest.raises(NotFoundError, match="ERR_GUID_NOT_FOUND"):
        await session.banned_users.list("none").collect()
