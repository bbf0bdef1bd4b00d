"""A reply is read up to the cap, before and after decompression."""

import gzip
import tracemalloc
import zlib

import pytest

from chatrest import ReplyUnreadableError
from chatrest._core.replies.bounds import ERROR_BYTES
from chatrest._network.transport import Transport
from tests.network.exchanges import CAP, TIMES, asked, chunked
from tests.scripted_server import Faulty, Peer, hang, reply

pytestmark = pytest.mark.usefixtures("tidy")


@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize("announced", [True, False])
async def test_the_cap_is_exact(transport: Transport, announced: bool, over: int) -> None:
    body = bytes(CAP + over)
    async with Faulty(reply(body) if announced else chunked(body)) as server:
        if over:
            reason = "are announced" if announced else "still going on"
            with pytest.raises(ReplyUnreadableError, match=f"max_reply_bytes = {CAP}.*{reason}"):
                await transport.exchange(asked(server), TIMES)
        else:
            assert (await transport.exchange(asked(server), TIMES)).body == body


@pytest.mark.parametrize("status", [302, 400, 401, 503])
@pytest.mark.parametrize("framing", ["announced", "chunked", "gzip"])
async def test_an_error_that_is_too_large_keeps_its_status(
    transport: Transport, status: int, framing: str
) -> None:
    body = b"no " * CAP
    answers = {
        "announced": reply(body, status),
        "chunked": chunked(body).replace(b"200 OK", b"%d No" % status),
        "gzip": reply(gzip.compress(body), status, content_encoding="gzip"),
    }
    async with Faulty(answers[framing], reply(b'{"next":1}')) as server:
        got = await transport.exchange(asked(server), TIMES)
        assert (got.status, got.body) == (status, body[:ERROR_BYTES])
        assert (await transport.exchange(asked(server), TIMES)).body == b'{"next":1}'


async def test_the_rest_of_a_too_large_reply_is_not_the_next_reply(transport: Transport) -> None:
    async with Faulty(chunked(bytes(3 * CAP)), reply(b'{"next":1}')) as server:
        with pytest.raises(ReplyUnreadableError):
            await transport.exchange(asked(server), TIMES)
        assert (await transport.exchange(asked(server), TIMES)).body == b'{"next":1}'
    assert server.connections == 2


async def test_a_content_length_above_the_cap_is_an_error_at_once(transport: Transport) -> None:
    async def step(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        await hang(peer)

    async with Faulty(step) as server:
        with pytest.raises(ReplyUnreadableError, match="99999999999 bytes are announced"):
            await transport.exchange(asked(server), TIMES)


def bomb(megabytes: int) -> bytes:
    """About 1 kB of gzip for every megabyte of nothing."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + block * megabytes


async def test_a_gzip_bomb_is_an_error_with_little_memory(transport: Transport) -> None:
    data = bomb(200)
    assert len(data) < 250_000
    async with Faulty(reply(data, content_encoding="gzip")) as server:
        tracemalloc.start()
        try:
            with pytest.raises(ReplyUnreadableError, match="max_reply_bytes"):
                await transport.exchange(asked(server), TIMES)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 12 * CAP
