"""The session: what it sends to the letter, what it makes of every status, and what it refuses to send."""

import asyncio
import json
from typing import Any
from urllib.parse import unquote

import pytest
from aioresponses import aioresponses

import chatrest
from chatrest import (
    App,
    AsyncSession,
    CursorError,
    NewMessage,
    OutcomeUnknownError,
    ReplyUnreadableError,
    RequestInvalidError,
    RetryPolicy,
    ServerError,
    Timeouts,
)
from tests.support.cases import loop_over
from tests.support.scripted_server import KEY, FaultyServer, hang, reply

pytestmark = pytest.mark.usefixtures("tidy")

APP = App("app-1", KEY, "eu", service_domain="chat.example.com")
BASE = "https://app-1.api-eu.chat.example.com/v3"
ONCE = RetryPolicy(attempts=1)
EMPTY = reply(b'{"data":[]}')


def only(http: aioresponses) -> tuple[str, str, dict[str, Any]]:
    """Method, address as sent, and the rest of the one request."""
    [((method, url), [call])] = http.requests.items()
    return method, str(url), call.kwargs


async def test_the_exact_request_of_a_list(http: aioresponses) -> None:
    http.get(f"{BASE}/users/bob/messages?limit=1000", payload={"data": []})
    async with AsyncSession(APP) as session:
        assert await session.messages.list_user("bob", on_behalf_of="alice").collect() == []
    method, url, sent = only(http)
    assert (method, url) == ("GET", f"{BASE}/users/bob/messages?limit=1000")
    assert sent["headers"] == {"apikey": KEY, "Accept": "application/json", "onBehalfOf": "alice"} | {
        "Accept-Encoding": "gzip"
    }
    assert sent["data"] is None
    assert sent["allow_redirects"] is False


async def test_the_exact_request_of_a_sent_message(http: aioresponses) -> None:
    http.post(f"{BASE}/messages", payload={"data": {"id": "7", "category": "message", "type": "text"}})
    async with AsyncSession(APP) as session:
        stored = await session.messages.send(NewMessage.text("bob", "héllo", muid="m1"), on_behalf_of="alice")
    assert stored.id == "7"
    _, url, sent = only(http)
    assert url == f"{BASE}/messages"
    assert sent["headers"]["Content-Type"] == "application/json"
    body = json.loads(sent["data"])
    assert body.pop("receiverType", "user") == "user"
    assert body == {"receiver": "bob", "type": "text", "data": {"text": "héllo"}, "muid": "m1"}


@loop_over(
    "body", [b'{"hello":"world"}', b"[1,2,3]", b'{"data":[]}', b'{"data":{"success":true}}', b"", b"{"]
)
async def test_a_success_without_a_message_is_no_sent_message(http: aioresponses, body: bytes) -> None:
    http.post(f"{BASE}/messages", body=body)
    async with AsyncSession(APP) as session:
        with pytest.raises((ReplyUnreadableError, OutcomeUnknownError)) as caught:
            await session.messages.send(NewMessage.text("bob", "hello", muid="m1"))
    is_json = len(body) > 1
    assert type(caught.value) is (ReplyUnreadableError if is_json else OutcomeUnknownError)
    assert caught.value.muid == "m1"
    assert ("expected one record, got" in str(caught.value)) is is_json


@pytest.mark.parametrize(
    ("interface", "host"),
    [("chat", "app-1.api-eu.chat.example.com"), ("calls", "app-1.call-eu.chat.example.com")],
)
async def test_each_interface_has_its_address(http: aioresponses, interface: Any, host: str) -> None:
    http.get(f"https://{host}/v3/calls", payload={"data": []})
    async with AsyncSession(APP) as session:
        await session.request("GET", "/calls", interface=interface)
    assert only(http)[1] == f"https://{host}/v3/calls"


async def test_a_request_by_hand_arrives_byte_for_byte() -> None:
    async with FaultyServer(reply(b'{"ok":true}')) as server, server.session() as session:
        got = await session.request(
            "POST", "/things", query={"a": 1, "on": True, "x": None}, json={"b": ["ü"]}
        )
    assert got == {"ok": True}
    [sent] = server.requests
    assert (sent.method, sent.target) == ("POST", "/things?a=1&on=true")
    assert sent.body == '{"b":["ü"]}'.encode()
    assert sent.header("Content-Type") == "application/json"
    assert sent.header("Content-Length") == "12"
    assert (sent.header("apikey"), sent.header("Accept")) == (KEY, "application/json")
    assert sent.header("Host") == f"127.0.0.1:{server.port}"
    assert sent.header("onBehalfOf") is None
    assert {name.lower() for name, _ in sent.fields} <= {
        "host", "apikey", "appid", "accept", "accept-encoding", "content-type", "content-length",
        "user-agent",
    }  # fmt: skip


@loop_over("uid", ["a/b", "%2F", "a?b=c", "two words", "😀", "..a", "%zz", "a\\b", "{uid}"])
async def test_any_uid_is_one_segment(uid: str) -> None:
    async with FaultyServer(EMPTY) as server, server.session() as session:
        await session.messages.list_user(uid).collect()
    path, _, query = server.requests[0].target.partition("?")
    empty, users, segment, messages = path.split("/")
    assert (empty, users, messages, query) == ("", "users", "messages", "perPage=1000")
    assert unquote(segment) == uid
    assert segment.isascii()
    assert not set(segment) & set("?#; ")


@loop_over("uid", ["alice", "アリス", "two words", "a:b", "%2F"])
async def test_an_acting_user_is_sent_as_utf_8(uid: str) -> None:
    async with FaultyServer(EMPTY) as server, server.session() as session:
        await session.as_user(uid).request("GET", "/a")
        await session.with_options(on_behalf_of=uid).request("GET", "/a")
        await session.messages.list_user("bob", on_behalf_of=uid).collect()
    assert [request.header("onBehalfOf") for request in server.requests] == [uid] * 3


async def test_query_values_arrive_unchanged() -> None:
    hard = "a&b=c d+e#f?g/h;i%2Fj\u00e9😀\n\x00"
    async with FaultyServer(reply()) as server, server.session() as session:
        await session.request("GET", "/a", query={"q": hard, "k&=": "v", "f": 1.5, "empty": "", "none": None})
    target = server.requests[0].target
    assert target.isascii()
    pairs = [tuple(map(unquote, pair.split("="))) for pair in target.partition("?")[2].split("&")]
    assert pairs == [("q", hard), ("k&=", "v"), ("f", "1.5"), ("empty", "")]


async def test_a_view_has_its_options_and_shares_the_pools() -> None:
    async with FaultyServer(reply()) as server, server.session(headers={"X-A": "1"}) as session:
        view = session.as_user("alice").with_options(headers={"X-B": "2"})
        await view.request("GET", "/a")
        await session.request("GET", "/a")
        assert view.pools == session.pools
    mine, plain = server.requests
    assert [mine.header(name) for name in ("X-A", "X-B", "onBehalfOf")] == ["1", "2", "alice"]
    assert [plain.header(name) for name in ("X-A", "X-B", "onBehalfOf")] == ["1", None, None]


async def test_a_view_of_another_app_has_its_key_and_its_address() -> None:
    async with FaultyServer(reply()) as first, FaultyServer(reply()) as second, first.session() as session:
        other = session.for_app(second.app(app_id="app-2", key="key-2"))
        await other.request("GET", "/a")
        assert (other.app.app_id, session.app.app_id) == ("app-2", "app-1")
    assert first.connections == 0
    assert second.requests[0].header("apikey") == "key-2"
    assert KEY not in str(second.requests)


async def test_a_later_header_replaces_an_earlier_one_in_any_case() -> None:
    async with FaultyServer(reply()) as server, server.session(headers={"X-A": "1"}) as session:
        await session.with_options(headers={"x-a": "2", "accept": "text/plain"}).request("GET", "/a")
    assert (server.requests[0].header("X-A"), server.requests[0].header("Accept")) == ("2", "text/plain")


async def test_a_header_may_be_any_text() -> None:
    async with FaultyServer(reply()) as server, server.session(headers={"X-Name": "Zoë 😀"}) as session:
        await session.request("GET", "/a")
    assert server.requests[0].header("X-Name") == "Zoë 😀"


async def test_options_that_are_not_given_stay_as_they_are() -> None:
    async with FaultyServer(reply(b"", 503)) as server, server.session(retry=ONCE) as session:
        for view in (session, session.with_options(), session.as_user("bob"), session.for_app(server.app())):
            with pytest.raises(ServerError) as caught:
                await view.request("GET", "/a")
            assert caught.value.attempts == 1
        with pytest.raises(ServerError) as caught:
            await session.with_options(retry=RetryPolicy(attempts=3)).request("GET", "/a")
        assert caught.value.attempts == 3


async def test_a_deadline_of_none_clears_it() -> None:
    async with FaultyServer(hang, reply()) as server, server.session(retry=ONCE, deadline=0.03) as session:
        with pytest.raises(chatrest.DeadlineExceededError):
            await session.with_options(priority="bulk").request("GET", "/a")
        free = session.with_options(deadline=None, timeouts=Timeouts(read=0.05))
        server.steps[:] = [hang, reply()]
        with pytest.raises(chatrest.RequestTimeoutError):
            await free.request("GET", "/a")
        assert await free.with_options(timeouts=None).request("GET", "/a") == {}


async def test_none_restores_the_default_of_an_option() -> None:
    async with FaultyServer(reply()) as server, server.session(headers={"X-A": "1"}) as session:
        view = session.as_user("alice").with_options(headers={"X-B": "2"})
        await view.with_options(on_behalf_of=None).request("GET", "/a")
        await view.with_options(headers=None).request("GET", "/a")
        await view.with_options(on_behalf_of="bob").request("GET", "/a")
    sent = [[each.header(name) for name in ("X-A", "X-B", "onBehalfOf")] for each in server.requests]
    assert sent == [["1", "2", None], [None, None, "alice"], ["1", "2", "bob"]]


async def test_views_share_the_page_sizes_and_the_cursor_key() -> None:
    session = AsyncSession(APP, cursor_key=b"0123456789abcdef")
    for view in (session.as_user("bob"), session.for_app(APP), session.with_options(deadline=1.0)):
        assert view.sender.page_sizes is session.sender.page_sizes
        assert view.sender.cursor_key is session.sender.cursor_key is not None
    assert AsyncSession(APP).sender.cursor_key is None


def test_an_option_that_is_not_known_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"'retries' \(did you mean 'retry'\?\)$"):
        AsyncSession(APP, retries=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"'x': expected .*'clock', 'concurrency'"):
        AsyncSession(APP, x=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="dedline"):
        AsyncSession(APP).with_options(dedline=3)  # type: ignore[call-arg]


def test_the_repr_shows_app_and_user_and_no_key() -> None:
    session = AsyncSession(APP)
    assert repr(session) == "<AsyncSession of app-1>"
    assert repr(session.as_user("bob")) == "<AsyncSession of app-1 as bob>"
    assert KEY not in repr(vars(session))


async def test_a_session_that_is_not_open_sends_nothing() -> None:
    async with FaultyServer(reply()) as server:
        session = server.session()
        view = session.as_user("bob")
        for each in (session, view):
            with pytest.raises(RequestInvalidError, match="async with"):
                await each.request("GET", "/a")
        async with session:
            await view.request("GET", "/a")
        for each in (session, view):
            with pytest.raises(RequestInvalidError, match="async with"):
                await each.request("GET", "/a")
            with pytest.raises(RequestInvalidError, match="async with"):
                await each.messages.list_user("bob").collect()
        await session.close()
    assert len(server.requests) == 1


async def test_a_session_can_be_opened_again() -> None:
    async with FaultyServer(reply()) as server:
        session = server.session()
        for _ in range(2):
            async with session:
                await session.request("GET", "/a")
    assert (len(server.requests), server.connections) == (2, 2)


@loop_over("method", ["GET", "POST"])
async def test_a_call_during_close_raises_a_chatrest_error(method: Any) -> None:
    async with FaultyServer(hang) as server:
        async with server.session(concurrency=1) as session:
            calls = [asyncio.create_task(session.request(method, "/a")) for _ in range(3)]
            await server.arrived.wait()
        done = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(each, chatrest.ChatRestError) for each in done), done
    assert session.pools["us"].active == 0


async def test_a_wrong_token_is_refused_before_anything_is_sent() -> None:
    async with FaultyServer(reply()) as server, server.session() as session:
        for token in ("", "x", "é", 7, str(session.messages.list_user("eve").cursor)):
            with pytest.raises(CursorError):
                session.messages.list_user("bob", cursor=token)  # type: ignore[arg-type]
    assert server.connections == 0
