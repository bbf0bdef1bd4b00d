"""The emulator over HTTP on a real socket."""

import io
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import ClientSession
from yarl import URL

from chatrest import AsyncSession, AuthenticationError
from chatrest.app import App
from chatrest.emulator import Emulator
from chatrest.errors import RequestInvalidError
from chatrest.webhooks import MessageEvent, parse
from tests.support.cases import loop_over
from tests.support.scripted_server import FaultyServer, reply

AWKWARD = ("a/b", "ü nï/../x?", "..", "👩‍👩‍👧‍👦", "%2F", "'; DROP TABLE users", "A", "a" * 500)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=5, messages=120, groups=1, seed=1, clock=lambda: 1_900_000_000) as emulator:
        yield emulator


@pytest.fixture
async def http(emulator: Emulator) -> AsyncIterator[ClientSession]:
    async with ClientSession(headers={"APIkey": emulator.app.api_key}) as session:
        yield session


async def get(http: ClientSession, url: str, **headers: str) -> Any:
    async with http.get(URL(url, encoded=True), headers=headers) as response:
        assert response.content_type == "application/json"
        return await response.json()


async def test_addresses_keys_and_records_as_they_are_stored(emulator: Emulator, http: ClientSession) -> None:
    assert emulator.app == App("emulated", emulator.app.api_key, base_url=emulator.base_url)
    assert emulator.base_url == f"http://127.0.0.1:{emulator.port}/v3"
    assert emulator.management_url == f"http://127.0.0.1:{emulator.port}/management"
    assert emulator.base_url in repr(emulator)
    assert emulator.app.api_key not in repr(emulator) + repr(emulator.app)
    async with http.get(f"{emulator.base_url}/messages?limit=1000") as response:
        body = await response.read()
    records = b",".join(emulator.store.records(emulator.store.ids()))
    assert body.startswith(b'{"data":[' + records + b'],"meta":')


@pytest.mark.parametrize("uid", AWKWARD)
async def test_any_text_is_a_uid_in_a_path(emulator: Emulator, http: ClientSession, uid: str) -> None:
    emulator.store.add_user(uid)
    sent = emulator.store.add_message("user-001", uid, "hi")
    reply = await get(http, f"{emulator.base_url}/users/{quote(uid, safe='')}/messages")
    assert [record["id"] for record in reply["data"]] == [sent["id"]]
    acting = await get(http, f"{emulator.base_url}/users/user-001/messages", onBehalfOf=uid)
    assert acting["data"] == reply["data"]


async def test_requests_are_noted_and_keys_are_not(emulator: Emulator, http: ClientSession) -> None:
    url = f"{emulator.base_url}/users/a%2Fb/messages?searchKey=%C3%A4%20b&id="
    await get(http, url, onBehalfOf="x", secret="hush")
    [noted] = emulator.requests
    assert (noted.method, noted.path, noted.status) == ("GET", "/v3/users/a%2Fb/messages", 404)
    assert noted.pairs == [("searchKey", "ä b"), ("id", "")]
    assert (noted.headers["onbehalfof"], noted.headers["apikey"]) == ("x", "[hidden]")
    assert emulator.app.api_key not in repr(noted)
    assert "hush" not in repr(noted)


async def test_a_body_that_is_too_large_is_answered_413(emulator: Emulator, http: ClientSession) -> None:
    async with http.post(f"{emulator.base_url}/messages", data=io.BytesIO(b" " * (1 << 21))) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (413, "ERR_BAD_REQUEST")


async def test_start_and_close_by_hand() -> None:
    emulator = Emulator(2, 1)
    for use in (lambda: emulator.store, lambda: emulator.app, lambda: emulator.management_url):
        with pytest.raises(RequestInvalidError, match="not started"):
            use()
    await emulator.close()
    for _ in range(2):
        await emulator.start()
        with pytest.raises(RequestInvalidError, match="already"):
            await emulator.start()
        assert emulator.store.ids() == [1]
        await emulator.close()
        await emulator.close()
    assert "closed" in repr(emulator)


async def test_a_port_that_is_in_use_leaves_nothing_open() -> None:
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        emulator = Emulator(2, 1, port=occupied.getsockname()[1])
        with pytest.raises(OSError, match="in use"):
            await emulator.start()
    async with emulator:
        assert emulator.store.ids() == [1]


@loop_over(
    "wrong",
    [
        {"users": -1}, {"users": True}, {"users": 1, "messages": 1}, {"seed": None}, {"port": 65_536},
        {"app_id": "a.b"}, {"api_key": "two words"}, {"host": "a b"},
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_by_its_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalidError, match=list(wrong)[-1] if "users" not in wrong else "users"):
        Emulator(**wrong)


async def test_ids_begin_again_after_a_loss() -> None:
    async with Emulator(users=3, messages=200, groups=1) as emulator:
        emulator.lose_data()
        assert emulator.store.ids() == []
        sent = emulator.store.add_message("user-001", "user-002", "hi", sent_at=5)
        assert (sent["id"], sent["sentAt"]) == ("1", 5)
        async with AsyncSession(emulator.app) as session:
            walk = session.conversations.list(on_behalf_of="user-001")
            [conversation] = await walk.collect()
            assert len(await session.messages.list().collect()) == 1
    assert conversation.last_message is not None


async def test_another_app_is_unknown_where_one_was_given() -> None:
    for app_id in ("mine", None):
        async with Emulator(users=2, messages=0, app_id=app_id) as emulator:
            other = App("yours", emulator.app.api_key, base_url=emulator.base_url)
            async with AsyncSession(emulator.app) as own, AsyncSession(other) as session:
                await own.users.get("user-001")
                fails: AbstractContextManager[object] = pytest.raises(
                    AuthenticationError, match=r"AUTH_ERR_INVALID_APPID.*yours"
                )
                with fails if app_id else nullcontext():
                    await session.users.get("user-001")


@pytest.mark.parametrize(
    ("host", "shown"), [("0.0.0.0", "127.0.0.1"), ("127.0.0.3", "127.0.0.3"), ("::1", "[::1]")]
)
async def test_the_server_listens_on_the_given_host(host: str, shown: str) -> None:
    try:
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"this machine has no {host}")
    async with Emulator(users=2, messages=0, host=host) as emulator, AsyncSession(emulator.app) as session:
        assert emulator.base_url == f"http://{shown}:{emulator.port}/v3"
        assert len(await session.users.list().collect()) == 2


async def test_an_event_is_posted_to_a_receiver_on_this_machine_alone(emulator: Emulator) -> None:
    async with FaultyServer(reply(status=302, location="/"), reply()) as receiver:
        assert await emulator.post_event(f"{receiver.url}/hook") == 302
        data = {"user": {"uid": "user-001"}}
        await emulator.post_event(receiver.url, "user_blocked", data, username="hook", password="p")
    newest, other = receiver.requests
    event = parse(newest.body)
    assert isinstance(event, MessageEvent)
    assert (event.trigger, event.message.id) == ("message_sent", "120")
    assert json.loads(other.body)["data"] == data
    assert (newest.header("Authorization"), other.header("Authorization")) == (None, "Basic aG9vazpw")
    for url in ("https://example.com/", "//127.0.0.1", "ftp://127.0.0.1/"):
        with pytest.raises(RequestInvalidError, match=rf"^url = '{url}': expected an address of"):
            await emulator.post_event(url)
    async with Emulator(users=2, messages=0) as empty:
        with pytest.raises(RequestInvalidError, match=r"^data = None: there is no message"):
            await empty.post_event("http://127.0.0.1:9/")
