"""`session.data_import` against the emulator: outcomes, and the state that imports leave."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chatrest import ApiError, AsyncSession, Outcomes
from chatrest._parameters.data_import import GroupImport, MemberImport, MessageImport, UserImport
from chatrest.emulator import Emulator

ZOE = UserImport(uid="zoe", name="Zoe", created_at=100, tags=["a"], metadata={"n": 1})
DEN = GroupImport(guid="den", name="Den", type="public", owner="zoe", created_at=200, group_owner_details=ZOE)


@pytest.fixture
async def session() -> AsyncIterator[AsyncSession]:
    async with Emulator(users=3, messages=0, groups=0) as emulator, AsyncSession(emulator.app) as session:
        yield session


def codes(outcomes: Outcomes[Any]) -> dict[str, str]:
    return {key: outcome.error["code"] for key, outcome in outcomes.failed.items()}


async def test_users_come_with_their_own_times(session: AsyncSession) -> None:
    outcomes = await session.data_import.import_users([ZOE, UserImport(uid="yan", name="Yan", role="nobody")])
    assert codes(outcomes) == {"yan": "ERR_ROLE_NOT_FOUND"}
    with pytest.raises(ApiError, match=r"^data_import\.import_users: 1 of 2 items failed: yan"):
        outcomes.check()
    zoe = await session.users.get("zoe")
    assert (zoe.name, zoe.created_at, zoe.metadata) == ("Zoe", 100, {"n": 1})
    assert outcomes["zoe"].data.tags == ("a",)


async def test_groups_come_with_their_owners(session: AsyncSession) -> None:
    orphan = GroupImport(guid="orphan", name="O", type="private", owner="nobody")
    outcomes = await session.data_import.import_groups([DEN, orphan])
    assert codes(outcomes) == {"orphan": "ERR_UID_NOT_FOUND"}
    den = await session.groups.get("den")
    assert (den.owner, den.created_at, den.members_count) == ("zoe", 200, 1)
    assert [(member.uid, member.scope) async for member in session.members.list("den")] == [("zoe", "admin")]


async def test_members_join_at_their_own_times_or_are_banned(session: AsyncSession) -> None:
    members = [
        MemberImport(guid="den", uid="zoe", scope="moderator", joined_at=300, group_details=DEN),
        MemberImport(guid="den", uid="user-001", is_banned=True),
        MemberImport(guid="den", uid="user-002", joined_at=199),
        MemberImport(guid="nowhere", uid="user-002"),
        MemberImport(guid="den", uid="new", user_details={"uid": "new", "name": "New"}),
    ]
    outcomes = await session.data_import.import_members(members)
    assert codes(outcomes) == {
        "den_member_user-002": "ERR_IMPORT_INVALID_JOINEDAT", "nowhere_member_user-002": "ERR_GUID_NOT_FOUND"
    }  # fmt: skip
    scopes = {member.uid: (member.scope, member.joined_at) async for member in session.members.list("den")}
    assert scopes["zoe"] == ("moderator", 300)
    assert set(scopes) == {"zoe", "new"}
    assert [user.uid async for user in session.banned_users.list("den")] == ["user-001"]


def message(muid: str, **changes: Any) -> MessageImport:
    fields = {"sender": "user-001", "receiver": "user-002", "receiver_type": "user", "sent_at": 1000}
    return MessageImport(muid=muid, **fields | {"type": "text", "data": {"text": muid}} | changes)


async def test_messages_keep_their_times_and_are_imported_once(session: AsyncSession) -> None:
    messages = [message("m1", delivered_at=1001, read_at=1002, tags=["x"]), message("m2", sender="nobody")]
    assert codes(await session.data_import.import_messages(messages)) == {"m2": "ERR_UID_NOT_FOUND"}
    assert codes(await session.data_import.import_messages(messages[:1])) == {
        "m1": "ERR_IMPORT_MUID_ALREADY_EXISTS"
    }
    [stored] = await session.messages.list_user("user-002", on_behalf_of="user-001").collect()
    assert (stored.muid, stored.sent_at, stored.delivered_at, stored.read_at) == ("m1", 1000, 1001, 1002)


async def test_messages_bring_the_users_and_groups_that_they_need(session: AsyncSession) -> None:
    sent = message(
        "m1", sender="zoe", receiver="den", receiver_type="group",
        sender_user_details=ZOE, receiver_group_details=DEN,
    )  # fmt: skip
    (await session.data_import.import_messages({"m1": sent})).check()
    assert [each.sender async for each in session.messages.list_group("den")] == ["zoe"]
