"""`session.groups` against the emulator: groups that are made, listed, changed, deleted and refused."""

import pytest

from chatrest import (
    AsyncSession,
    BadRequestError,
    ConflictError,
    GroupChanges,
    GroupQuery,
    NewGroup,
    NotFoundError,
)
from chatrest._models.groups import Group
from chatrest.emulator import Emulator
from tests.resources.conftest import NOW


async def make(session: AsyncSession, guid: str, **fields: object) -> Group:
    """Make a public group with a name, and other fields."""
    return await session.groups.create(
        NewGroup(guid=guid, name=guid.title(), type="public", **fields)  # type: ignore[arg-type]
    )


async def guids(session: AsyncSession, on_behalf_of: str | None = None, **filters: object) -> list[str]:
    query = GroupQuery(**filters)  # type: ignore[arg-type]
    return [group.guid async for group in session.groups.list(query, on_behalf_of=on_behalf_of)]


async def test_a_group_is_seen_by_the_acting_user(session: AsyncSession) -> None:
    await make(session, "den", owner="user-001")
    group = await session.groups.get("den", on_behalf_of="user-001")
    assert (group.has_joined, group.scope, group.joined_at) == (True, "admin", NOW)
    assert (await session.groups.get("den", on_behalf_of="user-002")).has_joined is False
    made = await session.groups.create(
        NewGroup(guid="hall", name="Hall", type="private"), on_behalf_of="user-002"
    )
    assert (made.owner, made.has_joined) == ("user-002", True)
    assert await guids(session, "user-002", has_joined=True) == ["hall"]


async def test_changes_are_read_again(session: AsyncSession) -> None:
    await make(session, "den", icon="i", metadata={"a": 1})
    changes = GroupChanges(name="Hall", unset=["icon", "metadata"], tags=["y"], owner="user-002")
    changed = await session.groups.update("den", changes)
    assert changed == await session.groups.get("den")
    assert (changed.name, changed.owner, changed.updated_at, changed.updated_by) == (
        "Hall", "user-002", NOW, "app_system"
    )  # fmt: skip
    assert "icon" not in changed.to_dict()
    assert "metadata" not in changed.to_dict()
    assert {member.uid: member.scope async for member in session.members.list("den")} == {"user-002": "admin"}
    acted = await session.groups.update("den", GroupChanges(owner="user-003"), on_behalf_of="user-002")
    assert (acted.owner, acted.updated_by) == ("user-002", "user-002")


async def test_a_password_is_needed_and_never_shown(people: Emulator, session: AsyncSession) -> None:
    with pytest.raises(BadRequestError, match="ERR_EMPTY_GROUP_PASS"):
        await session.groups.create(NewGroup(guid="den", name="Den", type="password"))
    await session.groups.create(NewGroup(guid="den", name="Den", type="password", password="s3cret"))
    await session.groups.update("den", GroupChanges(name="Hall"))
    served = await session.request("GET", "/groups/den")
    assert "s3cret" not in str(served)
    assert people.store.people.group_password("den") == "s3cret"
    await session.groups.update("den", GroupChanges(type="public"))
    with pytest.raises(BadRequestError, match="ERR_EMPTY_GROUP_PASS"):
        await session.groups.update("den", GroupChanges(type="password"))
    assert (await session.groups.get("den")).type == "public"


async def test_a_deleted_group_is_gone_with_its_members(session: AsyncSession) -> None:
    await make(session, "den", owner="user-001")
    await session.rbac.set_scope("den", "admin", {"a.b": "deny"})
    assert (await session.groups.delete("den")).success
    for ask in (session.groups.get("den"), session.groups.delete("den")):
        with pytest.raises(NotFoundError, match="ERR_GUID_NOT_FOUND"):
            await ask
    assert await guids(session) == []
    assert (await make(session, "den")).members_count == 0
    assert await session.members.list("den").collect() == []
    assert await session.rbac.list_scope("den", "admin").collect() == []


async def test_a_group_with_unknown_people_is_not_made(session: AsyncSession) -> None:
    await make(session, "den")
    with pytest.raises(ConflictError) as caught:
        await make(session, "den")
    assert "guid" in caught.value.details
    for fields in ({"owner": "nobody"}, {"members": {"admins": ["nobody"]}}):
        with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
            await make(session, "hall", **fields)
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.groups.update("den", GroupChanges(owner="nobody", name="New"))
    assert [group.name async for group in session.groups.list()] == ["Den"]


@pytest.fixture
async def several(people: Emulator) -> None:
    """Seven groups that differ in all that can be filtered for; three of them changed in one second."""
    for number, (guid, kind) in enumerate(
        zip("gfedcba", ("public", "private", "password") * 3, strict=False), start=1
    ):
        changed = {"updatedAt": (20, 30, 30, 30, 40, 50)[number - 2]} if number > 1 else {}
        fields = {"type": kind, "createdAt": number, "tags": ["odd"] if number % 2 else [], **changed}
        people.store.add_group(guid, f"Name {number}", **fields)
    people.store.members.add("c", "user-001")
    people.store.members.add("c", "user-002")
    people.store.members.add("b", "user-001")


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "g f e d c b a"),
        ({"search_key": "AME 3"}, "e"),
        ({"search_key": "b", "search_in": ["guid"]}, "b"),
        ({"search_key": "b", "search_in": ["name"]}, ""),
        ({"sort_by": "guid"}, "a b c d e f g"),
        ({"sort_by": "createdAt", "sort_order": "desc"}, "a b c d e f g"),
        ({"sort_by": "name", "sort_order": "asc"}, "g f e d c b a"),
        ({"type": "password"}, "e b"),
        ({"types": ["public", "private"]}, "g f d c a"),
        ({"guid": "d"}, "d"),
        ({"guids": ["a", "g", "none"]}, "g a"),
        ({"tags": ["odd", "none"]}, "g e c a"),
        ({"created_at_from": 2, "created_at_to": 3}, "f e"),
        ({"updated_at_from": 40}, "b a"),
        ({"updated_at_to": 30}, "f e d c"),
        ({"members_count_gt": 1}, "c"),
        ({"members_count_gte": 1, "members_count_lt": 2}, "b"),
        ({"members_count_eq": 0, "type": "public"}, "g d a"),
        ({"members_count_lte": 1, "types": ["password"]}, "e b"),
        ({"affix": "prepend"}, "a b c d e f g"),
    ],
)
async def test_filters(session: AsyncSession, filters: dict[str, object], expected: str) -> None:
    assert await guids(session, **filters) == expected.split()
