"""State that an operation leaves on the emulator for others, beside what the tests of collections see."""

import pytest

from chatrest import AsyncSession, BadRequestError, ChatRestError, NewMessage, NewUser, UserQuery
from chatrest._parameters.apps import ApiKeyChanges, NewApiKey
from chatrest._parameters.data_import import GroupImport, UserImport
from chatrest._parameters.notifications import FcmProvider, NewPushToken
from chatrest._parameters.users import NewGroup
from chatrest.app import App

ANN, BOB, CAT, DAN = (f"user-00{number}" for number in range(1, 5))
DEN = NewGroup(guid="den", name="Den", type="public", owner=ANN)


async def test_a_key_is_limited_by_a_scope(session: AsyncSession) -> None:
    made = await session.api_keys.create(NewApiKey(name="Mine"))
    other = session.for_app(App(session.app.app_id, made.api_key, base_url=session.app.base_url))
    await other.users.create(NewUser(uid="ann", name="Ann"))
    with pytest.raises(ChatRestError, match="AUTH_ERR_NO_ACCESS"):
        await other.users.get("ann")
    await session.api_keys.update(made.api_key, ApiKeyChanges(scope="fullAccess"))
    assert (await other.users.get("ann")).uid == "ann"


async def test_a_repeated_import_changes_and_does_not_replace(session: AsyncSession) -> None:
    users = [UserImport(uid="zoe", name="Zoe", tags=["a"], created_at=100), UserImport(uid="zoe", name="Z")]
    den = GroupImport(guid="den", name="Den", type="public", owner="zoe", created_at=200)
    for user, group in zip(users, (den, GroupImport(guid="den", name="D", type="public")), strict=True):
        (await session.data_import.import_users([user])).check()
        (await session.data_import.import_groups([group])).check()
    [zoe], shown = await session.users.list(UserQuery(tags=["a"])).collect(), await session.groups.get("den")
    assert [(each.name, each.created_at) for each in (zoe, shown)] == [("Z", 100), ("D", 200)]
    for count in (0, 51):
        records = {f"u{number}": {"uid": f"u{number}", "name": "n"} for number in range(count)}
        with pytest.raises(BadRequestError, match="ERR_IMPORT_INVALID_USER_FORMAT"):
            await session.request("POST", "/data_import/users", json={"users": records})


async def test_friendships_end_on_both_sides_and_all_or_none(session: AsyncSession) -> None:
    await session.friends.add(ANN, [BOB, CAT])
    with pytest.raises(ChatRestError, match="ERR_NOT_A_FRIEND"):
        await session.friends.remove(ANN, [BOB, DAN])
    assert [user.uid async for user in session.friends.list(ANN)] == [BOB, CAT]
    await session.friends.remove(BOB, [ANN])
    assert [[user.uid async for user in session.friends.list(uid)] for uid in (ANN, BOB)] == [[CAT], []]


async def test_one_provider_is_the_default_and_push_tokens_are_of_a_login(session: AsyncSession) -> None:
    of = session.notifications
    for name in ("p", "q"):
        await of.add_fcm_provider(FcmProvider(provider_id=name))
        await of.set_default_fcm_provider(name)
    with pytest.raises(ChatRestError, match="ERR_PROVIDER_NOT_FOUND"):
        await of.set_default_fcm_provider("r")
    providers = (await of.list_fcm_providers()).push_providers or ()
    assert [each["isDefault"] for each in providers] == [False, True]
    for login, token in (("l1", "t1"), ("l2", "t2"), ("l2", "t3")):
        await of.register_push_token(NewPushToken(auth_token=login, fcm_token=token))
    await of.delete_push_token("t3", "l2")
    assert len((await of.unregister_push_tokens("l1")).push_tokens or ()) == 1
    left = [(await of.list_push_tokens(login)).push_tokens or () for login in ("l1", "l2")]
    assert [[each.push_token for each in tokens] for tokens in left] == [[], ["t2"]]


async def test_nothing_is_left_of_a_group_and_no_tags_of_a_reset_conversation(session: AsyncSession) -> None:
    await session.groups.create(DEN)
    acting = session.as_user(ANN)
    await acting.messages.send(NewMessage.text("den", "hi", receiver_type="group"))
    assert (await acting.conversations.update_group("den", ["x"])).tags == ("x",)
    await acting.conversations.reset_group("den", preserve_order=True)
    assert not (await acting.conversations.get_group("den")).tags
    await session.banned_users.ban("den", BOB)
    await session.rbac.set_scope("den", "admin", {"a.b": "deny"})
    await session.groups.delete("den")
    await session.groups.create(NewGroup(guid="den", name="D", type="public"))
    assert (
        await session.members.list("den").collect() == await session.banned_users.list("den").collect() == []
    )
    assert await session.rbac.list_scope("den", "admin").collect() == []
