"""Bounds of a reply: a body of a few kilobytes may unpack to gigabytes of objects.

The transport keeps those in bytes, with `AsyncSession(max_reply_bytes=…)`, and `_network.reply_results` those
of the time on the event loop. Records and values are counted before objects are made of a body of more than
4 MiB.
"""

from typing import Final

from ...errors import ReplyUnreadableError
from ..requests.dialects import MAX_PAGE_SIZE

MAX_RECORDS: Final = 10 * MAX_PAGE_SIZE
"""Records of a list; the largest page that can be asked for has a tenth of them."""
MAX_VALUES: Final = 1_000_000
"""Texts, numbers, arrays, objects and other values of a body: about 100 MB of Python objects."""
ERROR_BYTES: Final = 64 * 1024
"""Bytes of an error's body that are read."""
INLINE_BYTES: Final = 16 * 1024
"""Bytes of a body that is decoded on the event loop in any case, also record by record."""
STRICT_BYTES: Final = 1024 * 1024
"""Bytes of a body whose strict decode, of about 10 ms, runs on the event loop: pages of 1000 messages."""
COUNTED_BYTES: Final = 4 * 1024 * 1024
_SLICE_BYTES: Final = 1024 * 1024
_DENSE_RECORDS: Final = 5 * MAX_RECORDS


def check_values(body: bytes) -> None:
    """Raise `ReplyUnreadableError` for a large body of more than `MAX_VALUES` values.

    Each value comes after a comma or a bracket; those inside of texts are counted too.
    """
    if len(body) <= COUNTED_BYTES:
        return
    count = 0
    # In slices, between which the event loop continues; a body of commas alone ends with the first of them.
    for start in range(0, len(body), _SLICE_BYTES):
        count += sum(body.count(mark, start, start + _SLICE_BYTES) for mark in (b",", b"{", b"["))
        if count > MAX_VALUES:
            raise ReplyUnreadableError(
                f"the body has too many values in {len(body)} bytes: expected at most {MAX_VALUES}"
            )


def check_records(count: int) -> None:
    """Raise `ReplyUnreadableError` for a list of more than `MAX_RECORDS` records."""
    if count > MAX_RECORDS:
        raise ReplyUnreadableError(f"data: expected at most {MAX_RECORDS} records, got {count}")


def is_dense(body: bytes) -> bool:
    """Return True for a body of more than `COUNTED_BYTES` with far more objects than `MAX_RECORDS`."""
    return body.count(b"{") > _DENSE_RECORDS
