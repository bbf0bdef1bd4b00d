"""Decompression of gzip in steps: a small body may hold a huge one, and is refused before it is unpacked.

aiohttp decompresses as it reads, but accepts a gzip stream that ends early as complete. Here its end is
checked.
"""

import zlib
from collections.abc import Iterator
from typing import Final

from ..errors import ReplyUnreadableError

ACCEPTED: Final = "gzip"
"""The value of `Accept-Encoding`."""
_STEP_BYTES: Final = 1 << 20


class Decompressor:
    """The decompression of one body, piece by piece; `encoding` is its `Content-Encoding`.

    Raises `ReplyUnreadableError` for an encoding that is not gzip, and for a stream that is not of it.
    """

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("gzip", "x-gzip"):
            raise ReplyUnreadableError(f"the reply's Content-Encoding is not {ACCEPTED}")
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._has_ended = False

    def steps(self, piece: bytes) -> Iterator[bytes]:
        """Decompress `piece` in steps of at most a mebibyte; to refuse the body, stop the iteration."""
        data = self._next_member(piece) if self._has_ended else piece
        while data is not None:
            block = self._decompress(data)
            data = self._unread_data(len(block))
            yield block

    def finish(self) -> None:
        if not self._has_ended:
            raise ReplyUnreadableError("the reply was cut off: its compressed stream has no end")

    def _decompress(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data, _STEP_BYTES)
        except zlib.error:
            pass
        raise ReplyUnreadableError("the reply is garbled: its body does not match its Content-Encoding")

    def _unread_data(self, block_bytes: int) -> bytes | None:
        """Return the data for the next step, after one of `block_bytes`; None if there is none yet."""
        if self._stream.eof:
            self._has_ended = True
            return self._next_member(self._stream.unused_data)
        if self._stream.unconsumed_tail or block_bytes == _STEP_BYTES:  # after a full step, output may wait
            return self._stream.unconsumed_tail
        return None

    def _next_member(self, piece: bytes) -> bytes | None:
        """Begin the gzip member that follows the end of another one; None for padding alone."""
        data = piece.lstrip(b"\x00")
        if not data:
            return None
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._has_ended = False
        return data
