"""The management interface: two keys of its own, never an app's, and the same protection as a session."""

import asyncio
from typing import Any

import pytest

from chatrest import (
    AppQuery,
    AsyncManagement,
    AuthenticationError,
    DeadlineExceededError,
    NotFoundError,
    ReplyUnreadableError,
    RequestInvalidError,
    RetryPolicy,
    ServerError,
    Timeouts,
)
from chatrest.emulator import Emulator
from chatrest.telemetry import Record
from tests.faulty import Faulty, Time, chain, hang, no_wait, reply

pytestmark = pytest.mark.usefixtures("tidy")

NAME, SECRET = "m4nagement-key", "m4nagement-s3cret"
EMPTY = reply(b'{"data":[]}')


def management(server: Faulty, **options: Any) -> AsyncManagement:
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
    async with Faulty(EMPTY) as server, management(server) as account:
        await account.apps.list().collect()
        await account.apps.list(AppQuery(search_key="a&b", per_page=7)).collect()
    first, second = server.requests
    assert (first.method, first.target) == ("GET", "/apps?perPage=1000")
    assert set(second.target.removeprefix("/apps?").split("&")) == {"searchKey=a%26b", "perPage=7"}
    assert (first.header("key"), first.header("secret")) == (NAME, SECRET)
    assert first.header("Accept") == "application/json"
    for name in ("apikey", "onBehalfOf", "Authorization", "Content-Type"):
        assert first.header(name) is None


async def test_a_call_is_repeated_as_any_other() -> None:
    async with Faulty(reply(b"", 503), EMPTY, reply(b"", 500)) as server, management(server) as account:
        assert await account.apps.list().collect() == []
        with pytest.raises(ServerError) as caught:
            await account.apps.list().collect()
    assert caught.value.attempts == 5
    assert len(server.requests) == 7


async def test_it_has_the_views_and_the_requests_of_a_session() -> None:
    async with Faulty(reply({"a": 1}), reply(b"", 503)) as server:
        records: list[Record] = []
        async with management(server, headers={"X-A": "1"}, telemetry=records.append) as account:
            view = account.with_options(headers={"X-B": "2"}, retry=RetryPolicy(attempts=1), priority="bulk")
            assert await view.request("GET", "/apps/x", query={"a": 1}) == {"a": 1}
            with pytest.raises(ServerError) as caught:
                await view.apps.list().collect()
            assert list(view.pools) == list(account.pools) == ["management"]
    first, second = server.requests
    assert (first.target, first.header("key"), first.header("onBehalfOf")) == ("/apps/x?a=1", NAME, None)
    assert (second.header("X-A"), second.header("X-B")) == ("1", "2")
    assert caught.value.attempts == 1
    assert [record.region for record in records] == ["management"] * 4


async def test_it_goes_through_a_proxy() -> None:
    async with Faulty(EMPTY) as proxy:
        account = AsyncManagement("http://127.0.0.1:1", key=NAME, secret=SECRET, proxy=proxy.url)
        async with account:
            assert await account.apps.list().collect() == []
    assert proxy.requests[0].target.startswith("http://127.0.0.1:1/apps")


def test_the_management_interface_has_no_acting_user() -> None:
    account = AsyncManagement("https://management.example.com", key=NAME, secret=SECRET)
    with pytest.raises(RequestInvalidError, match="on_behalf_of"):
        account.with_options(on_behalf_of="bob")
    account.with_options(on_behalf_of=None)


async def test_its_options_are_kept_to() -> None:
    time = Time()
    async with Faulty(reply(b"", 503), hang) as server:
        options: dict[str, Any] = {
            "retry": RetryPolicy(attempts=2, first_wait=3.0), "timeouts": Timeouts(read=0.03),
            "clock": time.clock, "sleep": time.sleep, "dice": lambda: 1.0,
        }  # fmt: skip
        async with management(server, **options) as account:
            with pytest.raises(TimeoutError):
                await account.apps.list().collect()
        assert (time.slept, len(server.requests)) == ([3.0], 2)
        async with management(server, deadline=0.03) as account:
            with pytest.raises(DeadlineExceededError):
                await account.apps.list().collect()
    async with (
        Faulty(reply(bytes(101))) as server,
        management(server, max_reply_bytes=100, retry=RetryPolicy(attempts=1)) as account,
    ):
        with pytest.raises(ReplyUnreadableError, match="max_reply_bytes = 100"):
            await account.apps.list().collect()


async def test_concurrency_limits_concurrent_requests() -> None:
    together = asyncio.Barrier(2)

    async def step(peer: Any) -> None:
        await together.wait()
        await peer.send(EMPTY)

    async with Faulty(step) as server, management(server, concurrency=2) as account:
        await asyncio.gather(*(account.apps.list().collect() for _ in range(6)))
    assert server.most == 2


async def test_no_error_and_no_repr_shows_a_key() -> None:
    record = {"code": "ERR_X", "message": f"{NAME} {SECRET}", "details": {SECRET: [NAME.upper()]}}
    async with Faulty(reply({"error": record}, 403, x_echo=SECRET)) as server, management(server) as account:
        with pytest.raises(Exception, match="ERR_X") as caught:
            await account.apps.list().collect()
    for error in chain(caught.value):
        shown = f"{error!r} {error} {vars(error)} {account!r}".lower()
        assert NAME not in shown
        assert SECRET not in shown
    assert repr(account) == f"<AsyncManagement at {server.url}>"


async def test_nothing_is_sent_outside_of_async_with() -> None:
    async with Faulty(EMPTY) as server:
        account = management(server)
        with pytest.raises(RequestInvalidError, match="async with"):
            await account.apps.list().collect()
        async with account:
            pass
        with pytest.raises(RequestInvalidError, match="async with"):
            await account.apps.list().collect()
    assert server.connections == 0


def test_a_wrong_query_is_refused() -> None:
    account = AsyncManagement("https://management.example.com", key=NAME, secret=SECRET)
    with pytest.raises(RequestInvalidError, match="query"):
        account.apps.list("x")  # type: ignore[arg-type]
