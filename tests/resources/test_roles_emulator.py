"""Roles, restricted features and permissions against the emulator."""

import pytest

from chatrest import (
    AsyncSession,
    BadRequestError,
    ConflictError,
    NewRole,
    NewRoleSettings,
    NotFoundError,
    PageQuery,
    PermissionDeniedError,
    RoleChanges,
)
from chatrest.emulator import Emulator
from tests.resources.conftest import NOW


async def roles(session: AsyncSession) -> list[str]:
    return [role.role async for role in session.roles.list()]


async def test_roles_are_made_changed_and_removed(session: AsyncSession) -> None:
    settings = NewRoleSettings(list_users="friendsOnly", send_messages_to="all")
    made = await session.roles.create(
        NewRole(role="guest", name="Guest", description="d", metadata={"a": 1}, settings=settings)
    )
    assert made.settings is not None
    assert (made.role, made.created_at, made.settings.to_dict()) == (
        "guest", NOW, {"listUsers": "friendsOnly", "sendMessagesTo": "all"}
    )  # fmt: skip
    assert await roles(session) == ["default", "guest"]
    changed = await session.roles.update(
        "guest", RoleChanges(name="Visitor", settings={"listUsers": "all"}, unset=["description", "metadata"])
    )
    assert changed == await session.roles.get("guest")
    assert changed.to_dict() == {
        "role": "guest", "name": "Visitor", "createdAt": NOW, "updatedAt": NOW,
        "settings": {"listUsers": "all", "sendMessagesTo": "all"},
    }  # fmt: skip
    assert (await session.roles.delete("guest")).success
    assert await roles(session) == ["default"]


async def test_roles_that_are_refused(session: AsyncSession) -> None:
    await session.roles.create(NewRole(role="guest", name="Guest"))
    with pytest.raises(ConflictError) as caught:
        await session.roles.create(NewRole(role="guest", name="Again"))
    assert "role" in caught.value.details
    for ask in (
        session.roles.get("none"), session.roles.update("none", RoleChanges(name="n")),
        session.roles.delete("none"), session.restricted_features.restrict("none", ["u.x"]),
        session.rbac.set_role("none", {"a": "deny"}),
    ):  # fmt: skip
        with pytest.raises(NotFoundError, match="ERR_ROLE_NOT_FOUND"):
            await ask
    with pytest.raises(PermissionDeniedError, match="ERR_ROLE_DELETE_DENIED"):
        await session.roles.delete("default")


async def test_an_app_has_25_roles_at_most(session: AsyncSession) -> None:
    for number in range(24):
        await session.roles.create(NewRole(role=f"role-{number}", name="R"))
    with pytest.raises(PermissionDeniedError, match="ERR_PLAN_QUOTA_RESTRICTION"):
        await session.roles.create(NewRole(role="one-more", name="R"))
    listed = [role.role async for role in session.roles.list(PageQuery(per_page=7))]
    assert listed == ["default", *(f"role-{number}" for number in range(24))]


async def test_features_are_restricted_and_allowed(session: AsyncSession) -> None:
    for _ in range(2):  # again is no error
        outcomes = await session.restricted_features.restrict("default", ["u.listUsers", "u.send", "u.call"])
        assert list(outcomes.check()) == ["u.listUsers", "u.send", "u.call"]
    features = await session.restricted_features.list("default").collect()
    assert [(feature.key, feature.title, feature.created_at) for feature in features[:1]] == [
        ("u.listUsers", "listUsers", NOW)
    ]
    assert (await session.restricted_features.allow("default", ["u.send", "u.none"])).success
    assert [feature.key async for feature in session.restricted_features.list("default")] == [
        "u.listUsers", "u.call"
    ]  # fmt: skip
    await session.restricted_features.allow("default", allow_all=True)
    assert await session.restricted_features.list("default").collect() == []


async def test_permissions_of_a_role_are_set_and_unset(session: AsyncSession) -> None:
    outcomes = await session.rbac.set_role("default", {"user.create": "deny", "user.roles": ["guest"]})
    assert list(outcomes.check()) == ["user.create", "user.roles"]
    assert outcomes.permissions == {"user.create": "deny", "user.roles": ("guest",)}
    later = await session.rbac.set_role("default", {"user.create": "allow"})
    assert (list(later), later.permissions["user.create"]) == (["user.create"], "allow")
    first, second = await session.rbac.list_role("default").collect()
    assert (first.id, first.type, first.data_type, first.available_values) == (
        "user.create", "role", "string", ("allow", "deny")
    )  # fmt: skip
    assert (second.data_type, second.default_value) == ("stringArray", ())
    left = await session.rbac.unset_role("default", "user.create")
    assert left.permissions == {"user.roles": ("guest",)}
    assert [permission.id async for permission in session.rbac.list_role("default")] == ["user.roles"]


async def test_permissions_of_a_scope_are_those_of_one_group(people: Emulator, session: AsyncSession) -> None:
    people.store.add_group("den")
    people.store.add_group("hall")
    await session.rbac.set_scope("den", "moderator", {"member.kick": "deny"})
    [permission] = await session.rbac.list_scope("den", "moderator").collect()
    assert (permission.id, permission.type) == ("member.kick", "scope")
    assert await session.rbac.list_scope("den", "admin").collect() == []
    assert await session.rbac.list_scope("hall", "moderator").collect() == []
    assert (await session.rbac.unset_scope("den", "moderator", "member.kick")).permissions == {}
    with pytest.raises(NotFoundError, match="ERR_GUID_NOT_FOUND"):
        await session.rbac.set_scope("none", "admin", {"a": "deny"})
    with pytest.raises(BadRequestError) as caught:
        await session.rbac.list_scope("den", "owner").collect()
    assert "scope" in caught.value.details


async def test_a_role_that_is_made_again_has_no_restrictions(session: AsyncSession) -> None:
    await session.roles.create(NewRole(role="guest", name="Guest"))
    await session.restricted_features.restrict("guest", ["u.send"])
    await session.rbac.set_role("guest", {"a.b": "deny"})
    await session.roles.delete("guest")
    await session.roles.create(NewRole(role="guest", name="Guest"))
    assert await session.restricted_features.list("guest").collect() == []
    assert await session.rbac.list_role("guest").collect() == []
