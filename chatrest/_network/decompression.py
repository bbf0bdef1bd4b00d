"""Decompression with a cap: a small body may hold a huge one, and must not be unpacked to be refused.

aiohttp unpacks as it reads, but takes a gzip stream that ends early for a whole one. Here its end is
checked.
"""

import zlib
from collections.abc import Iterator
from typing import Final

from ..errors import ReplyUnreadableError

ACCEPTED: Final = "gzip"
_STEP: Final = 1 << 20


class Inflate:
    """One body, unpacked piece by piece. `encoding` is its `Content-Encoding`."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("gzip", "x-gzip"):
            raise ReplyUnreadableError(f"the reply's Content-Encoding is not {ACCEPTED}")
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._ended = False

    def feed(self, piece: bytes, room: int) -> list[bytes]:
        """Unpack `piece`, and stop a step after `room` bytes, where the caller refuses the body."""
        pieces: list[bytes] = []
        size = 0
        for part in self.steps(piece):
            pieces.append(part)
            size += len(part)
            if size > room:
                break
        return pieces

    def steps(self, piece: bytes) -> Iterator[bytes]:
        """Unpack `piece` in steps of at most a mebibyte; the caller ends the iteration to refuse the body."""
        packed = self._after_end(piece) if self._ended else piece
        while packed is not None:
            unpacked = self._unpack(packed)
            packed = self._rest(len(unpacked))
            yield unpacked

    def finish(self) -> None:
        """Check at the end of the body that the stream has ended, too: else `ReplyUnreadableError`."""
        if not self._ended:
            raise ReplyUnreadableError("the reply was cut off: its compressed stream has no end")

    def _unpack(self, packed: bytes) -> bytes:
        try:
            return self._stream.decompress(packed, _STEP)
        except zlib.error:
            pass
        raise ReplyUnreadableError("the reply is garbled: its body does not match its Content-Encoding")

    def _rest(self, unpacked: int) -> bytes | None:
        if self._stream.eof:
            self._ended = True
            return self._after_end(self._stream.unused_data)
        if self._stream.unconsumed_tail or unpacked == _STEP:  # a full step may leave output behind
            return self._stream.unconsumed_tail
        return None

    def _after_end(self, piece: bytes) -> bytes | None:
        """Another gzip member may follow, or padding."""
        rest = piece.lstrip(b"\x00")
        if not rest:
            return None
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._ended = False
        return rest
