"""`session.members` against the emulator: every operation, and the state that it leaves."""

from collections.abc import AsyncIterator

import pytest

from chatrest import AsyncSession, NotFoundError, PermissionDeniedError
from chatrest._parameters.groups import NewMembers
from chatrest.emulator import Emulator
from chatrest.errors import ApiError

GUID = "group-1"


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=40, messages=0, groups=0) as emulator:
        emulator.store.add_group(GUID)
        for number in range(1, 31):
            scope = "admin" if number == 1 else "participant"
            emulator.store.members.add(GUID, f"user-{number:03}", scope, joined_at=number)
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app) as session:
        yield session


async def test_additions_scopes_and_kicks_leave_their_state(
    emulator: Emulator, session: AsyncSession
) -> None:
    members = NewMembers(moderators=["user-031", "nobody", "user-005"], users_to_ban=["user-002"])
    outcomes = await session.members.add(GUID, members, on_behalf_of="user-001")
    assert set(outcomes.succeeded) == {"user-031", "user-002"}
    assert {uid: outcome.error["code"] for uid, outcome in outcomes.failed.items()} == {
        "nobody": "ERR_UID_NOT_FOUND", "user-005": "ERR_ALREADY_JOINED"
    }  # fmt: skip
    changed = await session.members.change_scope(GUID, "user-003", "admin")
    assert (changed.uid, changed.scope, changed.joined_at) == ("user-003", "admin", 3)
    assert (await session.members.kick(GUID, "user-004")).success
    scopes = {member.uid: member.scope async for member in session.members.list(GUID)}
    assert (len(scopes), scopes["user-031"], scopes["user-003"]) == (29, "moderator", "admin")
    assert not {"user-002", "user-004"} & set(scopes)
    assert len(emulator.store.ids(group=GUID)) == 2


async def test_errors_have_the_service_codes(session: AsyncSession) -> None:
    with pytest.raises(NotFoundError, match="ERR_GUID_NOT_FOUND"):
        await session.members.list("no group").collect()
    with pytest.raises(PermissionDeniedError, match="ERR_NOT_A_MEMBER"):
        await session.members.kick(GUID, "user-040")
    with pytest.raises(ApiError, match="ERR_SAME_SCOPE"):
        await session.members.change_scope(GUID, "user-001", "admin")
