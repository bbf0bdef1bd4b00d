"""One exchange over a real socket: every fault to its class, nothing sent twice, nothing read without end."""

import asyncio
import gzip
import socket
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from typing import Any, Final

import pytest
import trustme
from multidict import CIMultiDict

from chatrest import ConnectError, ReplyUnreadableError, RequestTimeoutError, Timeouts, TransportError
from chatrest._core.replies.bounds import ERROR_BYTES
from chatrest._core.requests.wire import Request
from chatrest._network.decompression import Decompressor
from chatrest._network.transport import Transport, plain_headers
from tests.support.cases import loop_over
from tests.support.scripted_server import KEY, FaultyServer, Peer, Step, cut, deaf, hang, reply, reset, until

pytestmark = pytest.mark.usefixtures("tidy")

CAP: Final = 1 << 20
TIMES: Final = Timeouts()


def asked(server: FaultyServer, method: Any = "GET", body: bytes | None = None) -> Request:
    return Request(method, f"{server.url}/v3/users", {"apikey": KEY}, body)


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + end


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    transport = Transport(cap=CAP)
    yield transport
    await transport.close()


METHODS = ("GET", "PUT", "DELETE", "POST", "PATCH")


async def test_a_reply_has_status_headers_and_body(transport: Transport) -> None:
    async with FaultyServer(reply(b'{"a":1}', 201, x_rate_limit="7")) as server:
        got = await transport.exchange(asked(server), TIMES)
    assert (got.status, got.body, got.headers["X-RATE-LIMIT"]) == (201, b'{"a":1}', "7")


@loop_over(
    ("answer", "body"),
    [
        (reply(b""), b""),
        (b"HTTP/1.1 204 Gone quiet\r\n\r\n", b""),
        (chunked(b'{"a"', b":1}"), b'{"a":1}'),
        (cut(b"HTTP/1.1 200 OK\r\n\r\n{}"), b"{}"),
        (b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 100 Go on\r\n\r\n" + reply(b"{}"), b"{}"),
        (reply(gzip.compress(b'{"a":1}'), content_encoding="gzip"), b'{"a":1}'),
    ],
)
async def test_bodies_of_every_framing(transport: Transport, answer: Step, body: bytes) -> None:
    async with FaultyServer(answer) as server:
        assert (await transport.exchange(asked(server), TIMES)).body == body


@loop_over("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_the_key_not_sent_elsewhere(
    transport: Transport, status: int
) -> None:
    async with FaultyServer(reply()) as other:
        async with FaultyServer(reply(b"", status, location=f"{other.url}/v3/users")) as server:
            for method in METHODS:
                got = await transport.exchange(asked(server, method), TIMES)
                assert (got.status, got.headers["location"]) == (status, f"{other.url}/v3/users")
        assert other.connections == 0
    assert len(server.requests) == len(METHODS)


async def test_cookies_are_not_stored(transport: Transport) -> None:
    async with FaultyServer(reply(set_cookie="sid=1; Path=/")) as server:
        for _ in range(2):
            await transport.exchange(asked(server), TIMES)
    assert server.requests[1].header("Cookie") is None


async def test_proxies_and_credentials_of_the_environment_are_ignored(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultyServer(reply()) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        assert (await transport.exchange(asked(server), TIMES)).status == 200


async def test_a_refused_port(transport: Transport) -> None:
    async with FaultyServer(reply()) as server:
        pass
    with pytest.raises(ConnectError, match="nothing was sent"):
        await transport.exchange(asked(server), TIMES)


async def test_a_name_that_does_not_resolve(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_name(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_such_name)
    request = Request("POST", "https://chat.invalid/v3/users", {"apikey": KEY}, b"{}")
    with pytest.raises(ConnectError, match=r"chat\.invalid"):
        await transport.exchange(request, TIMES)


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".b"])
async def test_an_invalid_host_name_sends_nothing(transport: Transport, host: str) -> None:
    with pytest.raises(ConnectError):
        await transport.exchange(Request("POST", f"https://{host}/v3", {}, b"{}"), TIMES)


def to_tls(server: FaultyServer) -> Request:
    """A request by TLS to a server that knows nothing of it."""
    return Request("POST", f"https://127.0.0.1:{server.port}/v3/users", {"apikey": KEY}, b"{}")


async def test_a_connection_that_takes_too_long(transport: Transport) -> None:
    async with FaultyServer(reply(), greet=deaf) as server:
        with pytest.raises(ConnectError, match=r"0\.05 s"):
            await transport.exchange(to_tls(server), Timeouts(connect=0.05))


async def test_a_server_without_tls(transport: Transport) -> None:
    async with FaultyServer(reply(), greet=cut(b"hello, this is no TLS\r\n")) as server:
        with pytest.raises(ConnectError, match=r"nothing was sent: it does not speak TLS$") as caught:
            await transport.exchange(to_tls(server), TIMES)
    assert caught.value.is_final


async def test_tls_is_verified_by_the_context_given() -> None:
    ca, served, trusted = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    ca.issue_cert("127.0.0.1").configure_cert(served)
    ca.configure_trust(trusted)
    async with FaultyServer(reply(), tls=served) as server:
        for verify, fits in ((True, False), (trusted, True), (False, True)):
            transport = Transport(cap=CAP, verify=verify)
            if fits:
                assert (await transport.exchange(asked(server), TIMES)).status == 200
            else:
                with pytest.raises(ConnectError, match="certificate") as caught:
                    await transport.exchange(asked(server), TIMES)
                assert caught.value.is_final
            await transport.close()
    assert len(server.requests) == 2


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_a_failed_connection_names_a_proxy_of_the_environment(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://user:pass-word@proxy.invalid:1")
    with pytest.raises(ConnectError, match=f"{name} is set, and not used: give the session proxy=") as caught:
        await transport.exchange(Request("GET", "https://127.0.0.1:1/v3/a", {}, None), TIMES)
    assert "pass-word" not in str(caught.value)
    with pytest.raises(ConnectError) as plain:
        await transport.exchange(Request("GET", "http://127.0.0.1:1/v3/a", {}, None), TIMES)
    assert ("is set" in str(plain.value)) is (name == "ALL_PROXY")
    async with FaultyServer(reset) as server:
        with pytest.raises(TransportError) as lost:  # after it was connected
            await transport.exchange(asked(server), TIMES)
    assert "is set" not in str(lost.value)


async def test_a_proxy_is_used() -> None:
    async with FaultyServer(reply(b'{"by":"proxy"}')) as proxy:
        transport = Transport(cap=CAP, proxy=proxy.url)
        got = await transport.exchange(Request("GET", "http://127.0.0.1:1/v3/a", {}, None), TIMES)
        await transport.close()
    assert got.body == b'{"by":"proxy"}'
    assert proxy.requests[0].target == "http://127.0.0.1:1/v3/a"


@loop_over("status", [403, 502])
@loop_over("encoding", ["gzip", "br", "nonsense"])
async def test_an_error_with_an_unreadable_body_has_the_status(
    transport: Transport, status: int, encoding: str
) -> None:
    async with FaultyServer(reply(b"<html>no", status, content_encoding=encoding), reply()) as server:
        assert (await transport.exchange(asked(server), TIMES)).status == status
        assert (await transport.exchange(asked(server), TIMES)).status == 200


async def test_an_error_with_a_cut_body_has_status_and_text(transport: Transport) -> None:
    data = reply(b"<html>Blocked", 403).replace(b"Content-Length: 13", b"Content-Length: 99")
    async with FaultyServer(cut(data)) as server:
        got = await transport.exchange(asked(server), TIMES)
    assert (got.status, got.body) == (403, b"<html>Blocked")


async def test_a_proxy_that_refuses_the_tunnel_sent_nothing() -> None:
    async with FaultyServer(reply(b"no", 403)) as proxy:
        transport = Transport(cap=CAP, proxy=proxy.url)
        try:
            with pytest.raises(ConnectError):
                await transport.exchange(
                    Request("POST", "https://chat.invalid/v3", {"apikey": KEY}, b"{}"), TIMES
                )
        finally:
            await transport.close()
    assert [request.method for request in proxy.requests] == ["CONNECT"]
    assert KEY not in str(proxy.requests)


async def test_an_error_shows_if_the_request_was_sent(transport: Transport) -> None:
    async with FaultyServer(reset) as server:
        with pytest.raises(TransportError) as lost:
            await transport.exchange(asked(server, "POST"), TIMES)
    with pytest.raises(ConnectError) as refused:
        await transport.exchange(asked(server, "POST"), TIMES)
    assert (lost.value.sent, refused.value.sent) == (True, False)


async def test_a_cancelled_error_shows_if_the_request_was_sent(transport: Transport) -> None:
    async with FaultyServer(hang) as server:
        task = asyncio.create_task(transport.exchange(asked(server, "POST"), TIMES))
        await server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as under_way:
            await task
    async with FaultyServer(reply(), greet=deaf) as server:
        task = asyncio.create_task(transport.exchange(to_tls(server), TIMES))
        await until(lambda: server.connections == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as before:
            await task
    assert [getattr(each.value, "sent", None) for each in (under_way, before)] == [True, False]


async def drip(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
    while True:
        await peer.send(b" ")
        await asyncio.sleep(0.005)


async def half_then_reset(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}")
    for _ in range(20):
        await asyncio.sleep(0)
    peer.reset()


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_silent_server(transport: Transport, method: str) -> None:
    async with FaultyServer(reply(), hang) as server:
        await transport.exchange(asked(server), TIMES)  # whose timeouts are others
        with pytest.raises(RequestTimeoutError, match=r"silent for 0\.05 s"):
            await transport.exchange(asked(server, method), Timeouts(read=0.05, total=3.0))


async def test_no_time_limit_remains_after_a_reply(transport: Transport) -> None:
    """The next exchange of the same task has all its time."""
    async with FaultyServer(reply(), drip) as server:
        await transport.exchange(asked(server), Timeouts(total=60.0))
        for _ in range(2):
            with pytest.raises(RequestTimeoutError, match=r"no complete reply within 0\.05 s"):
                await transport.exchange(asked(server), Timeouts(total=0.05))
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_large_body_is_sent_without_a_warning(transport: Transport) -> None:
    async with FaultyServer(reply()) as server:
        await transport.exchange(asked(server, "POST", bytes((1 << 20) + 1)), TIMES)
    assert len(server.requests[0].body) == (1 << 20) + 1


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_a_server_that_does_not_read_the_request(transport: Transport) -> None:
    """The connection is made before the clock starts: a slow machine could not connect in the time given."""
    stopped = asyncio.Event()

    async def then_deaf(peer: Peer) -> None:
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await peer.send(reply())
        stopped.set()
        await deaf(peer)

    async with FaultyServer(then_deaf) as server:
        await transport.exchange(asked(server), TIMES)
        await stopped.wait()
        with pytest.raises(RequestTimeoutError):
            await transport.exchange(asked(server, "POST", bytes(1 << 25)), Timeouts(total=0.1))
    assert (server.connections, len(server.requests)) == (1, 1)


@pytest.mark.parametrize("step", [reset, cut(b""), cut(b"HTTP/1.1 200 OK\r\nContent-Le")])
async def test_a_connection_lost_before_the_reply(transport: Transport, step: Step) -> None:
    async with FaultyServer(step) as server:
        with pytest.raises(TransportError, match="lost before a reply came") as caught:
            await transport.exchange(asked(server), TIMES)
    assert not isinstance(caught.value, ConnectError | RequestTimeoutError)


LONG = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n"
MANY = b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5000 + b"\r\n"


@loop_over(
    "step",
    [
        cut(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}"),
        half_then_reset,
        cut(chunked(b"{}", end=b"")),
        cut(chunked(b"{}", end=b"5\r\nhe")),
        cut(chunked(b"{}", end=b"zz\r\nhe\r\n0\r\n\r\n")),
        cut(b"hello\r\n\r\n"),
        cut(b"SSH-2.0-OpenSSH_9.6\r\n"),
        cut(bytes(range(256)) * 20),
        cut(b"HTTP/1.1 abc OK\r\n\r\n"),
        cut(b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n"),
        cut(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        cut(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
        cut(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        cut(LONG),
        cut(MANY),
        reply(b"hello", content_encoding="gzip"),
        reply(gzip.compress(b'{"a":1}')[:-4], content_encoding="gzip"),
        reply(b"hello", content_encoding="deflate"),
        reply(b"hello", content_encoding="br"),
    ],
)  # fmt: skip
@loop_over("method", ["GET", "POST"])
async def test_a_reply_that_cannot_be_read(transport: Transport, method: str, step: Step) -> None:
    async with FaultyServer(step) as server:
        with pytest.raises(ReplyUnreadableError):
            await transport.exchange(asked(server, method), TIMES)
        assert len(server.requests) == 1


@loop_over("method", METHODS)
async def test_a_lost_idle_connection_is_an_error_and_not_replaced_silently(
    transport: Transport, method: str
) -> None:
    async with FaultyServer(reply(), cut(b""), reply()) as server:
        await transport.exchange(asked(server), TIMES)
        with pytest.raises(TransportError, match="lost before a reply came"):
            await transport.exchange(asked(server, method, b"{}"), TIMES)
        assert len(server.requests) == 2
        assert server.connections == 1


@loop_over("method", METHODS)
async def test_an_exchange_has_one_connection_even_if_aiohttp_asks_for_a_second(
    transport: Transport, method: str
) -> None:
    transport._session._retry_connection = True  # as it would be if aiohttp gave it another name
    async with FaultyServer(reply(), cut(b""), reply()) as server:
        await transport.exchange(asked(server), TIMES)
        with pytest.raises(TransportError, match="lost before a reply came") as caught:
            await transport.exchange(asked(server, method, b"{}"), TIMES)
        assert (len(server.requests), server.connections, caught.value.sent) == (2, 1, True)


async def test_a_body_without_a_type_gets_none(transport: Transport) -> None:
    async with FaultyServer(reply()) as server:
        for body in (None, b"{}"):
            for method in METHODS:
                await transport.exchange(asked(server, method, body), TIMES)
    assert [request.header("Content-Type") for request in server.requests] == [None] * 10


async def test_a_connection_that_is_known_to_be_closed_is_not_used_again(transport: Transport) -> None:
    closed = asyncio.Event()

    async def step(peer: Peer) -> None:
        await peer.send(reply())
        peer.close()
        closed.set()

    async with FaultyServer(step) as server:
        await transport.exchange(asked(server, "POST"), TIMES)
        await closed.wait()
        await until(lambda: not transport._session.connector._conns or _all_closing(transport))
        assert (await transport.exchange(asked(server, "POST"), TIMES)).status == 200


def _all_closing(transport: Transport) -> bool:
    idle = [
        protocol
        for connections in transport._session.connector._conns.values()
        for protocol, _ in connections
    ]
    return not any(protocol.is_connected() for protocol in idle)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("stray", [reply(b"stray"), reply(b"", 408, connection="close")])
async def test_an_unrequested_reply_on_an_idle_connection_is_ignored(
    transport: Transport, stray: bytes, method: str
) -> None:
    """Balancers write a 408 to a connection that was idle for too long: it answers no request."""
    later = asyncio.Event()

    async def first(peer: Peer) -> None:
        await peer.send(reply(b"1"))
        await later.wait()
        await peer.send(stray)

    async with FaultyServer(first, reply(b"2")) as server:
        assert (await transport.exchange(asked(server), TIMES)).body == b"1"
        [[(protocol, _)]] = transport._session.connector._conns.values()
        later.set()
        await until(lambda: protocol.should_close or not protocol.is_connected())
        assert (await transport.exchange(asked(server, method), TIMES)).body == b"2"


def test_plain_headers_are_case_insensitive_and_have_no_secrets() -> None:
    headers = plain_headers(CIMultiDict({"X-Echo": f"your {KEY.upper()}", "Date": "now"}), (KEY,))
    assert (headers["x-echo"], headers["DATE"]) == ("your [hidden]", "now")


@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize("announced", [True, False])
async def test_the_cap_is_exact(transport: Transport, announced: bool, over: int) -> None:
    body = bytes(CAP + over)
    async with FaultyServer(reply(body) if announced else chunked(body)) as server:
        if over:
            reason = "are announced" if announced else "still going on"
            with pytest.raises(ReplyUnreadableError, match=f"max_reply_bytes = {CAP}.*{reason}"):
                await transport.exchange(asked(server), TIMES)
        else:
            assert (await transport.exchange(asked(server), TIMES)).body == body


@pytest.mark.parametrize("status", [302, 400, 401, 503])
@pytest.mark.parametrize("framing", ["announced", "chunked", "gzip"])
async def test_an_error_with_a_too_large_body_has_the_status(
    transport: Transport, status: int, framing: str
) -> None:
    body = b"no " * CAP
    answers = {
        "announced": reply(body, status),
        "chunked": chunked(body).replace(b"200 OK", b"%d No" % status),
        "gzip": reply(gzip.compress(body), status, content_encoding="gzip"),
    }
    async with FaultyServer(answers[framing], reply(b'{"next":1}')) as server:
        got = await transport.exchange(asked(server), TIMES)
        assert (got.status, got.body) == (status, body[:ERROR_BYTES])
        assert (await transport.exchange(asked(server), TIMES)).body == b'{"next":1}'


async def test_the_rest_of_a_too_large_reply_is_not_the_next_reply(transport: Transport) -> None:
    async with FaultyServer(chunked(bytes(3 * CAP)), reply(b'{"next":1}')) as server:
        with pytest.raises(ReplyUnreadableError):
            await transport.exchange(asked(server), TIMES)
        assert (await transport.exchange(asked(server), TIMES)).body == b'{"next":1}'
    assert server.connections == 2


async def test_a_content_length_above_the_cap_is_an_error_at_once(transport: Transport) -> None:
    async def step(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        await hang(peer)

    async with FaultyServer(step) as server:
        with pytest.raises(ReplyUnreadableError, match="99999999999 bytes are announced"):
            await transport.exchange(asked(server), TIMES)


def bomb(megabytes: int) -> bytes:
    """About 1 kB of gzip for every megabyte of nothing."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + block * megabytes


async def test_gzip_that_unpacks_to_nothing_has_a_cap_too(transport: Transport) -> None:
    data = bomb(0) + b"\x00\x00\x00\xff\xff" * (CAP // 5 + 1)  # empty blocks
    packed = chunked(data).replace(b"200 OK\r\n", b"200 OK\r\nContent-Encoding: gzip\r\n")
    async with FaultyServer(packed) as server:
        with pytest.raises(ReplyUnreadableError, match="max_reply_bytes"):
            await transport.exchange(asked(server), TIMES)


async def test_other_tasks_run_while_a_small_body_unpacks_to_a_large_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps, turns, turns_at_steps = Decompressor.steps, 0, list[int]()

    async def other_task() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def counted_steps(self: Decompressor, piece: bytes) -> Iterator[bytes]:
        for block in steps(self, piece):
            turns_at_steps.append(turns)
            yield block

    monkeypatch.setattr(Decompressor, "steps", counted_steps)
    body, transport, task = bytes(8 << 20), Transport(cap=8 << 20), asyncio.create_task(other_task())
    async with FaultyServer(reply(gzip.compress(body), content_encoding="gzip")) as server:
        assert (await transport.exchange(asked(server), TIMES)).body == body
    task.cancel()
    await transport.close()
    assert len(turns_at_steps) >= 8
    assert all(before < after for before, after in pairwise(turns_at_steps[1:]))


async def test_a_gzip_bomb_is_an_error_with_little_memory(transport: Transport) -> None:
    data = bomb(200)
    assert len(data) < 250_000
    async with FaultyServer(reply(data, content_encoding="gzip")) as server:
        tracemalloc.start()
        try:
            with pytest.raises(ReplyUnreadableError, match="max_reply_bytes"):
                await transport.exchange(asked(server), TIMES)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 12 * CAP
