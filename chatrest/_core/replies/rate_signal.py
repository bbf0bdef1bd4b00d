"""The state of the rate limit that a reply shows, by its headers and its status."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from msgspec import Struct

from ...errors import ApiError, ChatRestError, RateLimitError

_LIMIT_PREFIX: Final = re.compile(r"^(?:x-)?rate-?limit-")
_MIN_EPOCH: Final = 1e9
"""A smaller reset is no time of this century, but a number of seconds from now."""
_MAX_EPOCH: Final = 1e11
"""A larger reset is in milliseconds."""
_NUMBER = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,9})?")


class Signal(Struct, frozen=True):
    """The state of the rate limit as one reply shows it."""

    is_limited: bool
    """True for a 429."""
    limit: float | None = None
    """The stated limit, in requests of a window that no header names."""
    remaining: float | None = None
    retry_after: float | None = None
    """The seconds to wait that a 429 names."""


_QUIET: Final = Signal(is_limited=False)
HEADER_NAMES: Final = (
    "X-Rate-Limit", "X-RateLimit-Limit", "X-Rate-Limit-Remaining", "X-RateLimit-Remaining"
)  # fmt: skip
"""The headers of the limit and of the remaining requests, each in two spellings."""


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait, by `Retry-After` or the limit's reset; None without either.

    The reset is an epoch in seconds or milliseconds, or a small number of seconds from `now`.
    """
    named = {_LIMIT_PREFIX.sub("x-rate-limit-", name.lower()): value for name, value in headers.items()}
    after = named.get("retry-after", "").strip()
    seconds = _number(after)
    if seconds is not None:
        return seconds
    at = http_date(after)
    if at is None:
        at = _number(named.get("x-rate-limit-reset", "").strip())
        if at is not None and at < _MIN_EPOCH:
            return at
        if at is not None and at > _MAX_EPOCH:
            at /= 1000
    return None if at is None else max(0.0, at - now)


def signal(
    headers: Mapping[str, str], error: ChatRestError | None = None, names: Sequence[str] = HEADER_NAMES
) -> Signal:
    """Return the state of the rate limit in a reply; `headers` find names in any case of letters.

    `error` is the reply's: for a 429, by its status or its code, it has the seconds to wait. `names` are
    `HEADER_NAMES` in the form that these headers find fastest.
    """
    limit = headers.get(names[0]) or headers.get(names[1])
    remaining = headers.get(names[2]) or headers.get(names[3])
    if isinstance(error, ApiError) and (error.status == 429 or isinstance(error, RateLimitError)):
        return Signal(True, _number(limit), _number(remaining), error.retry_after)
    return Signal(False, _number(limit), _number(remaining)) if limit or remaining else _QUIET


def _number(text: str | None) -> float | None:
    return float(text) if text and _NUMBER.fullmatch(text) else None


def http_date(date: str) -> float | None:
    """Return the epoch seconds of an HTTP date, in UTC without a zone (RFC 9110, 5.6.7); None for no date."""
    try:
        at = parsedate_to_datetime(date)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
