"""The management interface: its own two keys, never an app's, and the same protection as a session."""

from typing import Any

import pytest

from chatrest import (
    AppQuery,
    AsyncManagement,
    AuthenticationError,
    NotFoundError,
    RequestInvalidError,
    RetryPolicy,
    ServerError,
)
from chatrest._telemetry import Telemetry
from chatrest.emulator import Emulator
from tests.support.scripted_server import FaultyServer, no_wait, reply

pytestmark = pytest.mark.usefixtures("tidy")

NAME, SECRET = "m4nagement-key", "m4nagement-s3cret"
EMPTY = reply(b'{"data":[]}')


def management(server: FaultyServer, **options: Any) -> AsyncManagement:
    return AsyncManagement(server.url, **{"key": NAME, "secret": SECRET, "sleep": no_wait, **options})


async def test_the_apps_of_the_documented_service() -> None:
    async with Emulator(users=0, messages=0) as emulator:
        keys = {"key": emulator.management_key, "secret": emulator.management_secret}
        async with AsyncManagement(emulator.management_url, **keys) as account:
            [app] = await account.apps.list().collect()
            assert app.name == "Emulated app"
        async with AsyncManagement(emulator.management_url, key="no", secret="no") as account:
            with pytest.raises(AuthenticationError) as caught:
                await account.apps.list().collect()
        async with AsyncManagement(f"{emulator.management_url}/x", **keys) as account:
            with pytest.raises(NotFoundError):
                await account.apps.list().collect()
    assert (caught.value.status, caught.value.operation) == (401, "apps.list")


async def test_what_is_sent() -> None:
    async with FaultyServer(EMPTY) as server, management(server) as account:
        await account.apps.list().collect()
        await account.apps.list(AppQuery(search_key="a&b", per_page=7)).collect()
    first, second = server.requests
    assert (first.method, first.target) == ("GET", "/apps?perPage=1000")
    assert set(second.target.removeprefix("/apps?").split("&")) == {"searchKey=a%26b", "perPage=7"}
    assert (first.header("key"), first.header("secret")) == (NAME, SECRET)
    assert first.header("Accept") == "application/json"
    for name in ("apikey", "onBehalfOf", "Authorization", "Content-Type"):
        assert first.header(name) is None


async def test_management_has_the_views_and_requests_of_a_session() -> None:
    async with FaultyServer(reply({"a": 1}), reply(b"", 503)) as server:
        records: list[Telemetry] = []
        async with management(server, headers={"X-A": "1"}, telemetry=records.append) as account:
            view = account.with_options(headers={"X-B": "2"}, retry=RetryPolicy(attempts=1), priority="bulk")
            assert await view.request("GET", "/apps/x", query={"a": 1}) == {"a": 1}
            with pytest.raises(ServerError) as caught:
                await view.apps.list().collect()
            assert list(view.pools) == list(account.pools) == ["management"]
            assert account.pools["management"].concurrency == 10
    first, second = server.requests
    assert (first.target, first.header("key"), first.header("onBehalfOf")) == ("/apps/x?a=1", NAME, None)
    assert (second.header("X-A"), second.header("X-B")) == ("1", "2")
    assert caught.value.attempts == 1
    assert [record.region for record in records] == ["management"] * 4


def test_the_management_interface_has_no_acting_user() -> None:
    account = AsyncManagement("https://management.example.com", key=NAME, secret=SECRET)
    with pytest.raises(RequestInvalidError, match="on_behalf_of"):
        account.with_options(on_behalf_of="bob")
    account.with_options(on_behalf_of=None)
