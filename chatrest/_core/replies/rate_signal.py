"""The state of the rate limit that a reply shows, by its headers and its status."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from msgspec import Struct

from ...errors import ApiError, ChatRestError, RateLimitError

_LIMIT_PREFIX: Final = re.compile(r"^(?:x-)?rate-?limit-")
_LEAST_EPOCH: Final = 1e9
"""Less is no time of this century, but seconds to go."""
_LARGEST_EPOCH: Final = 1e11
"""More is in milliseconds."""
_NUMBER = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,9})?")


class Signal(Struct, frozen=True):
    """The state of the rate limit as one reply shows it."""

    limited: bool
    """True for a 429."""
    limit: float | None = None
    remaining: float | None = None
    retry_after: float | None = None


_QUIET: Final = Signal(limited=False)
HEADER_NAMES: Final = (
    "X-Rate-Limit", "X-RateLimit-Limit", "X-Rate-Limit-Remaining", "X-RateLimit-Remaining"
)  # fmt: skip
"""The names of the headers with the limit, and of those with what remains of it, each in two spellings."""


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, from `Retry-After` or the limit's reset; None if neither is there.

    The reset is an epoch, in seconds or milliseconds; a number too small for one is seconds to go.
    """
    named = {_LIMIT_PREFIX.sub("x-rate-limit-", name.lower()): value for name, value in headers.items()}
    after = named.get("retry-after", "").strip()
    seconds = _number(after)
    if seconds is not None:
        return seconds
    at = http_date(after)
    if at is None:
        at = _number(named.get("x-rate-limit-reset", "").strip())
        if at is not None and at < _LEAST_EPOCH:
            return at
        if at is not None and at > _LARGEST_EPOCH:
            at /= 1000
    return None if at is None else max(0.0, at - now)


def signal(
    headers: Mapping[str, str], error: ChatRestError | None = None, names: Sequence[str] = HEADER_NAMES
) -> Signal:
    """The state of the rate limit in a reply, in either spelling; `headers` take names without case.

    `error` is that of the reply: a 429 by its status or by its code, which has the time to wait. `names` are
    `HEADER_NAMES` in the form that the headers find fastest.
    """
    limit = headers.get(names[0]) or headers.get(names[1])
    left = headers.get(names[2]) or headers.get(names[3])
    if isinstance(error, ApiError) and (error.status == 429 or isinstance(error, RateLimitError)):
        return Signal(True, _number(limit), _number(left), error.retry_after)
    return Signal(False, _number(limit), _number(left)) if limit or left else _QUIET


def _number(text: str | None) -> float | None:
    return float(text) if text and _NUMBER.fullmatch(text) else None


def http_date(date: str) -> float | None:
    """Epoch seconds of an HTTP date; one that names no zone is in UTC (RFC 9110, 5.6.7)."""
    try:
        at = parsedate_to_datetime(date)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
