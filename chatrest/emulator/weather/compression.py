"""Compression, good and bad: an answer as gzip, as wrong gzip, and as a bomb."""

import gzip
import zlib
from functools import lru_cache
from struct import pack
from typing import ClassVar, Final, Literal, final

from msgspec import structs

from ..service.request import Request
from .faults import Change, Outgoing, at_least

_BLOCK: Final = b" " * (1 << 20)


@final
class Gzip(Change, frozen=True):
    """The answer compressed, where the client accepts gzip. Accompanies other faults."""

    accompanies: ClassVar[bool] = True

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the answer compressed; empty bodies and compressed ones stay as they are."""
        if "gzip" not in request.headers.get("accept-encoding", "") or not reply.body:
            return reply
        if "Content-Encoding" in reply.headers:
            return reply
        compressed = structs.replace(reply, body=gzip.compress(reply.body, 6, mtime=0))
        return compressed.with_headers(Content_Encoding="gzip")


@final
class BadGzip(Change, frozen=True):
    """An answer that is declared as gzip, and is none."""

    wrong: Literal["garbage", "cut", "checksum"] = "garbage"
    """garbage: not gzip at all; cut: its second half is missing; checksum: its last bytes are wrong."""

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the answer, wrongly compressed."""
        compressed = gzip.compress(reply.body, 6, mtime=0)
        bodies = {
            "garbage": reply.body,
            "cut": compressed[: len(compressed) // 2],
            "checksum": compressed[:-8] + bytes(byte ^ 0xFF for byte in compressed[-8:]),
        }
        return structs.replace(reply, body=bodies[self.wrong]).with_headers(Content_Encoding="gzip")


@final
class GzipBomb(Change, frozen=True):
    """A small gzip body that decompresses to `size` bytes."""

    size: int = 1 << 30

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("gzip_bomb.size", self.size, 1)

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the bomb; a gigabyte takes about a megabyte and less than a second."""
        return structs.replace(reply, body=bomb(self.size)).with_headers(Content_Encoding="gzip")


@lru_cache(maxsize=4)
def bomb(size: int) -> bytes:
    """Return a gzip body of `size` spaces; one compressed block stands for every megabyte of them."""
    whole, rest = divmod(size, len(_BLOCK))
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = compressor.compress(_BLOCK) + compressor.flush(zlib.Z_FULL_FLUSH)
    end = compressor.compress(_BLOCK[:rest]) + compressor.flush()
    checksum = 0
    for _ in range(whole):
        checksum = zlib.crc32(_BLOCK, checksum)
    checksum = zlib.crc32(_BLOCK[:rest], checksum)
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return head + block * whole + end + pack("<II", checksum, size & 0xFFFFFFFF)
