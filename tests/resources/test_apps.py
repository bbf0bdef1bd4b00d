"""`session.api_keys`, and the apps of an account."""

from pathlib import Path

import pytest

from chatrest import (
    ApiKeyChanges,
    ApiKeyQuery,
    App,
    AsyncSession,
    AuthenticationError,
    NewApiKey,
    NewUser,
    NotFoundError,
    PermissionDeniedError,
)
from chatrest.emulator import Emulator
from chatrest.parameters.apps import AppQuery
from chatrest.resources.apps import APPS_LIST, Apps
from tests.resources.conftest import NOW
from tests.sending import Sender


@pytest.mark.parametrize("body", [b'{"data":[{"id":"a","name":"A"}]}', b'{"data":{"id":"a","name":"A"}}'])
async def test_apps_are_listed_also_where_one_is_shown_for_a_list(body: bytes) -> None:
    sender = Sender(body, b'{"data":[]}')
    assert [app.id for app in await Apps(sender).list(AppQuery(search_key="x")).collect()] == ["a"]
    first, second = sender.calls
    assert (first.endpoint, first.path, first.query) == (APPS_LIST, "/apps", {"searchKey": "x"})
    assert dict(first.position) == {"perPage": "1000"}
    assert dict(second.position) == {"page": "2", "perPage": "1000"}


# ── API keys, on the emulator ──


def app_with(emulator: Emulator, key: str) -> App:
    return App(emulator.app.app_id, key, base_url=emulator.base_url)


async def names(session: AsyncSession, query: ApiKeyQuery | None = None) -> list[str]:
    return [key.name async for key in session.api_keys.list(query)]


async def test_a_key_that_was_made_is_accepted_until_it_is_removed(
    people: Emulator, session: AsyncSession
) -> None:
    made = await session.api_keys.create(NewApiKey(name="Mine", scope="fullAccess"))
    assert (made.name, made.scope, made.created_at, len(made.api_key)) == ("Mine", "fullAccess", NOW, 40)
    other = session.for_app(app_with(people, made.api_key))
    assert len(await other.users.list().collect()) == 5
    assert await session.api_keys.get(made.api_key) == made
    assert (await session.api_keys.delete(made.api_key)).success
    with pytest.raises(AuthenticationError, match="AUTH_ERR_APIKEY_NOT_FOUND"):
        await other.users.list().collect()
    with pytest.raises(NotFoundError, match="ERR_APIKEY_NOT_FOUND"):
        await session.api_keys.get(made.api_key)


async def test_a_key_goes_as_far_as_its_scope(people: Emulator, session: AsyncSession) -> None:
    made = await session.api_keys.create(NewApiKey(name="Mine"))
    other = session.for_app(app_with(people, made.api_key))
    await other.users.create(NewUser(uid="ann", name="Ann"))
    await other.auth_tokens.create("ann")
    for ask in (other.users.get("ann"), other.api_keys.get(made.api_key), other.users.delete("ann")):
        with pytest.raises(PermissionDeniedError, match="AUTH_ERR_NO_ACCESS"):
            await ask
    changed = await session.api_keys.update(made.api_key, ApiKeyChanges(scope="fullAccess", name="Yours"))
    assert (changed.name, changed.scope, changed.created_at) == ("Yours", "fullAccess", NOW)
    assert (await other.users.get("ann")).uid == "ann"


async def test_a_key_does_not_change_or_remove_itself(people: Emulator, session: AsyncSession) -> None:
    key = people.app.api_key
    for ask in (session.api_keys.update(key, ApiKeyChanges(name="x")), session.api_keys.delete(key)):
        with pytest.raises(PermissionDeniedError, match="ERR_APIKEY_NO_SELF_ACTION") as caught:
            await ask
        assert key not in str(caught.value)
    assert (await session.api_keys.delete(people.auth_only_app.api_key)).success


async def test_keys_are_listed_by_scope_and_name(session: AsyncSession) -> None:
    await session.api_keys.create(NewApiKey(name="Mobile"))
    assert await names(session) == ["REST API Key", "Auth Key", "Mobile"]
    assert await names(session, ApiKeyQuery(scope="authOnly")) == ["Auth Key", "Mobile"]
    assert await names(session, ApiKeyQuery(search_key="KEY")) == ["REST API Key", "Auth Key"]


async def test_an_app_has_25_keys_at_most(session: AsyncSession) -> None:
    for number in range(23):
        await session.api_keys.create(NewApiKey(name=f"key {number}"))
    with pytest.raises(PermissionDeniedError, match="ERR_PLAN_QUOTA_RESTRICTION"):
        await session.api_keys.create(NewApiKey(name="one more"))
    assert len(await names(session)) == 25


async def test_a_file_keeps_keys_but_those_of_the_settings_before(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    former = Emulator(users=0, messages=0, database=path, api_key="first-key")
    async with former, AsyncSession(former.app) as session:
        await session.api_keys.create(NewApiKey(name="Mine"))
    latter = Emulator(users=0, messages=0, database=path, api_key="second-key")
    async with latter, AsyncSession(latter.app) as session:
        assert sorted(await names(session)) == ["Auth Key", "Mine", "REST API Key"]
        with pytest.raises(AuthenticationError, match="AUTH_ERR_APIKEY_NOT_FOUND"):
            await session.for_app(app_with(latter, "first-key")).users.list().collect()
