"""No task and no socket stays behind, and no key is given away, whatever the service says."""

import asyncio
import gc
import json
import logging
import traceback
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from chatrest import App, AsyncSession, ChatRestError, RetryPolicy, Timeouts
from tests.faulty import KEY, Faulty, Peer, Step, chain, cut, hang, reply, reset

pytestmark = pytest.mark.usefixtures("tidy")

ONCE = RetryPolicy(attempts=1)
RAW = KEY.encode()


# ── tasks and sockets ──


@pytest.fixture
def transports(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[asyncio.BaseTransport]]:
    """Every transport that the client opens."""
    made: list[asyncio.BaseTransport] = []
    before = asyncio.BaseEventLoop.create_connection

    async def create_connection(*args: Any, **kwargs: Any) -> Any:
        transport, protocol = await before(*args, **kwargs)
        made.append(transport)
        return transport, protocol

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)
    yield made
    made.clear()


async def stray(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    await hang(peer)


@pytest.mark.parametrize(
    "step", [reply(), reply(b"", 404), reply(b"<"), cut(b"HTTP/1.1 2"), reset, hang, stray]
)
@pytest.mark.parametrize("how", ["raise", "cancel", "plain"])
async def test_a_closed_session_leaves_no_task_and_no_socket(
    transports: list[asyncio.BaseTransport], step: Step, how: str
) -> None:
    async with Faulty(step) as server:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            await _use(server, how)
            for _ in range(3):
                await asyncio.sleep(0)
            assert transports
            assert all(transport.is_closing() for transport in transports)
            assert all(transport.get_extra_info("socket").fileno() == -1 for transport in transports)
            gc.collect(1)
        assert warned == []
        mine = {task for task in asyncio.all_tasks() if task not in server._tasks}
        assert mine == {asyncio.current_task()}


async def _use(server: Faulty, how: str) -> None:
    """Three calls, of which some are still under way when the session is left, in one of three ways."""
    calls: list[asyncio.Task[Any]] = []
    try:
        async with server.session(concurrency=2, retry=ONCE, timeouts=Timeouts(read=0.05)) as session:
            calls = [asyncio.create_task(session.request("GET", "/a")) for _ in range(3)]
            await server.arrived.wait()
            if how == "cancel":
                calls[0].cancel()
            elif how == "raise":
                raise KeyError("the caller's own")
            await asyncio.gather(*calls, return_exceptions=True)
    except KeyError:
        pass
    await asyncio.gather(*calls, return_exceptions=True)


async def test_an_unused_session_leaves_no_resources(transports: list[asyncio.BaseTransport]) -> None:
    async with Faulty(reply()) as server, server.session():
        pass
    server.session()
    assert transports == []


async def test_an_abandoned_walk_leaves_no_resources() -> None:
    page = {"data": [{"uid": f"u{n}", "name": "n"} for n in range(5)]}
    async with Faulty(reply(page)) as server, server.session() as session:
        async for _ in session.users.list():
            break
        async for _ in session.users.list().pages():
            break
        assert session.pools["us"].active == 0


# ── keys ──

ECHO = {
    "error": {
        "code": f"ERR_{KEY}", "message": f"the key {KEY} is wrong", "devMessage": KEY, "source": KEY,
        "details": {KEY: [KEY, {"apiKey": "0ther-s3cret", "deep": [f"x{KEY}y"]}]},
    }
}  # fmt: skip
ECHOES: dict[str, Step] = {
    "error": reply(ECHO, 401),
    "error-upper": reply(json.dumps(ECHO).replace(KEY, KEY.upper()), 401),
    "error-500": reply(ECHO, 500),
    "error-429": reply(ECHO, 429, retry_after=KEY),
    "error-200": reply(ECHO),
    "header": reply(b"{}", 404, x_echo=f"apikey={KEY}", set_cookie=f"{KEY}={KEY}; =;", date=KEY),
    "html": reply(f"<html><p title='{KEY}'>{KEY}</p>", 403),
    "array": reply([KEY, {"message": KEY}], 400),
    "text-200": reply(KEY),
    "json-200": reply(b'{"data":{"apikey":"' + RAW + b'"}}'),
    "redirect": reply(b"", 302, location=f"https://elsewhere.example/?apikey={KEY}"),
    "bad-gzip": reply(RAW, content_encoding="gzip"),
    "encoding": reply(RAW, content_encoding="br"),
    "cut-body": cut(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n" + RAW),
    "first-line": cut(RAW + b"\r\n\r\n"),
    "status-line": cut(b"HTTP/1.1 2x0 " + RAW + b"\r\n\r\n"),
    "reason": cut(b"HTTP/1.1 500 " + RAW + b"\r\nContent-Length: 0\r\n\r\n"),
    "bad-header": cut(b"HTTP/1.1 200 OK\r\nno header " + RAW + b": x\r\n\r\n"),
    "bad-length": cut(b"HTTP/1.1 200 OK\r\nContent-Length: " + RAW + b"\r\n\r\n"),
    "bad-chunk": cut(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + RAW + b"\r\n"),
    "long-line": cut(b"HTTP/1.1 200 OK\r\nX-Echo: " + RAW * 5000 + b"\r\n\r\n"),
    "half-head": cut(b"HTTP/1.1 200 OK\r\nX-Echo: " + RAW + b"\r\nConte"),
    "reset": reset,
    "silent": hang,
}


def shown(error: BaseException) -> str:
    """All that a log, a debugger's first look or an error tracker would show of an error."""
    parts = [traceback.format_exc(), "".join(traceback.format_exception(error))]
    for each in chain(error):
        headers = dict(getattr(each, "headers", None) or {})
        parts += [repr(each), str(each), repr(each.args), repr(vars(each)), repr(headers)]
    return "\n".join(parts)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("name", ECHOES)
async def test_no_key_is_shown(name: str, method: Any, caplog: pytest.LogCaptureFixture) -> None:
    asyncio.get_running_loop().set_debug(True)
    caplog.set_level(logging.DEBUG)
    for logger in ("chatrest", "asyncio", "aiohttp", "aiohttp.client", "tenacity"):
        caplog.set_level(logging.DEBUG, logger)
    async with Faulty(ECHOES[name]) as server:
        options: dict[str, Any] = {"timeouts": Timeouts(read=0.02), "retry": RetryPolicy(attempts=2)}
        async with server.session(**options) as session:
            listing, creating = (
                session.messages.list_user("bob").collect,
                partial(session.auth_tokens.create, "bob"),
            )
            with pytest.raises(ChatRestError) as caught:
                await (listing() if method == "GET" else creating())
    everything = f"{shown(caught.value)}\n{caplog.text}\n{session!r}\n{session.pools!r}".lower()
    assert KEY not in everything
    assert "0ther-s3cret" not in everything


async def test_no_key_is_shown_if_the_port_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Faulty(reply()) as server:
        pass
    async with server.session(retry=ONCE) as session:
        with pytest.raises(ChatRestError) as caught:
            await session.request("GET", "/a")
    assert KEY not in shown(caught.value) + caplog.text


async def test_a_key_in_a_path_is_not_shown() -> None:
    """DELETE /apikeys/{apiKey} is a documented operation."""
    async with (
        Faulty(reply({"error": {"code": "ERR_APIKEY_NO_SELF_ACTION", "message": "no"}}, 403)) as server,
        server.session(retry=ONCE) as session,
    ):
        with pytest.raises(ChatRestError) as caught:
            await session.request("DELETE", f"/apikeys/{KEY}")
    assert KEY not in shown(caught.value)


@pytest.mark.parametrize("before", range(5980, 6000, 4))
async def test_a_key_at_the_end_of_a_quoted_text_is_hidden_completely(before: int) -> None:
    async with (
        Faulty(reply(b"<" + b"p" * (before - 2) + b">" + RAW, 400)) as server,
        server.session(retry=ONCE) as session,
    ):
        with pytest.raises(ChatRestError) as caught:
            await session.request("GET", "/a")
    assert KEY[:4] not in shown(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b'[{"wsChannel":{"secret":"t0p\\"s3cret-tail"}}]',
        b'{"error":{"message":"{\\"secret\\":\\"t0p-s3cret-tail\\"}"}}',
        b'{"error":{"details":{"wsChannel":{"secret":"t0p-s3cret-tail"}}}}',
        b'{"data":{"wsChannel":{"secret":"t0p-s3cret-tail"}}}',
    ],
)
async def test_a_channels_secret_is_not_shown(body: bytes) -> None:
    async with Faulty(reply(body, 400)) as server, server.session(retry=ONCE) as session:
        with pytest.raises(ChatRestError) as caught:
            await session.request("GET", "/a")
    assert "s3cret-tail" not in shown(caught.value)


@pytest.mark.parametrize("body", ['{{"message":{0}}}', '{{"error":{{"message":{0}}}}}'])
async def test_a_key_that_json_escapes_is_not_shown(body: str) -> None:
    key = 'k3y"with\\quotes'
    escaped = json.dumps(f"no such key: {key}")
    async with (
        Faulty(reply(body.format(escaped), 401)) as server,
        AsyncSession(server.app(key=key), retry=ONCE) as session,
    ):
        with pytest.raises(ChatRestError) as caught:
            await session.request("GET", "/a")
    assert "with" not in str(caught.value)


async def test_every_view_hides_its_own_key() -> None:
    other = "an0ther-k3y"
    async with (
        Faulty(reply({"error": {"message": f"no key {other}"}}, 401)) as server,
        server.session(retry=ONCE) as session,
    ):
        with pytest.raises(ChatRestError) as caught:
            await session.for_app(server.app(key=other)).request("GET", "/a")
    assert other not in shown(caught.value)


def test_no_printed_text_shows_a_key() -> None:
    app = App("app-1", KEY, base_url="https://chat.example.com/v3")
    session = AsyncSession(app)
    for value in (app, session, session.app, session.messages.list_user("bob"), vars(session)):
        assert KEY not in f"{value!r} {value}"
    assert KEY not in str(session.messages.list_user("bob").cursor)
