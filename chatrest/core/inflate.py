"""Decompression with a cap: a small body may hold a huge one, and must not be unpacked to be refused.

aiohttp unpacks as it reads, but takes a gzip stream that ends early for a whole one. This one knows its end.
"""

import zlib
from typing import Final

from ..errors import ReplyUnreadableError

ACCEPTED: Final = "gzip, deflate"
_STEP: Final = 1 << 20


class Inflate:
    """Unpacks one body piece by piece. `encoding` is its `Content-Encoding`."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("gzip", "x-gzip", "deflate"):
            raise ReplyUnreadableError(f"the reply's Content-Encoding is none of {ACCEPTED}")
        self._raw = name == "deflate"
        self._stream = zlib.decompressobj(zlib.MAX_WBITS if self._raw else zlib.MAX_WBITS | 16)
        self._begun = False

    def feed(self, piece: bytes, room: int) -> list[bytes]:
        """What `piece` unpacks to, at most one step more than `room` bytes; the caller judges that."""
        found: list[bytes] = []
        size = 0
        while piece and size <= room:
            try:
                out = self._stream.decompress(piece, _STEP)
            except zlib.error:
                out = self._headless(piece)
            self._begun = True
            found.append(out)
            size += len(out)
            piece = self._stream.unconsumed_tail or self._next_member()
        return found

    def finish(self) -> None:
        """The body is at its end: `ReplyUnreadableError` where the stream is not."""
        if not self._stream.eof:
            raise ReplyUnreadableError("the reply was cut off: its compressed stream has no end")

    def _headless(self, piece: bytes) -> bytes:
        """Some servers send `deflate` without its header."""
        if not self._begun and self._raw:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                return self._stream.decompress(piece, _STEP)
            except zlib.error:
                pass
        raise ReplyUnreadableError("the reply is garbled: it is not compressed as it says")

    def _next_member(self) -> bytes:
        """What comes after a gzip member is another one, or padding."""
        rest = self._stream.unused_data.lstrip(b"\x00")
        if rest and not self._raw:
            self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            return rest
        return b""
