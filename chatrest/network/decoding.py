"""Decoding of large replies without holding up the event loop.

A decode of msgspec keeps the interpreter's lock, so a thread does not help against a long one; its time is
bounded by `core.replies.bounds`. What is read record by record is Python code, which gives way to the event
loop every few milliseconds when it runs in a thread. A deadline or a cancel does not wait for that thread.
"""

from asyncio import to_thread
from typing import Any, TypeVar

from ..core.replies.bounds import INLINE_BYTES as INLINE_BYTES, STRICT_BYTES, check_values
from ..core.requests.endpoint import Reader

R = TypeVar("R")


async def decode_large(reader: Reader[R], body: bytes) -> R:
    """Return what `reader` makes of a body of more than `INLINE_BYTES`; errors as for the reader's call.

    A page of 1000 messages as documented is decoded at once, on the event loop.
    """
    read: Any = reader
    strictly = getattr(reader, "strictly", None)
    if strictly is not None and len(body) <= STRICT_BYTES:
        result: R | None = strictly(body)
        if result is not None:
            return result
        read = read.leniently
    return await to_thread(_checked, read, body)


def _checked(read: Reader[R], body: bytes) -> R:
    check_values(body)
    return read(body)
