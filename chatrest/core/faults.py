"""From a reply that is no success to the error that tells it (specification, Errors).

The body of an error is not shown by the specification. On services of this kind it is
`{"error": {"code", "message", "devMessage", "details", "source"}}`; where it isn't (a proxy's HTML, plain
text, nothing) the error says what came in its place. Whatever the service wrote is scrubbed of keys.
"""

import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import msgspec

from ..errors import ApiError, RateLimitError, api_error_class
from .pace import Signal
from .scan import bytes_of, text_of
from .secrets import scrub, scrub_all

_LONGEST = 300
_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def fault(
    status: int, headers: Mapping[str, str], body: bytes, operation: str, secrets: Iterable[str], now: float
) -> ApiError:
    """The error for a reply; `now` is epoch seconds, for a `Retry-After` that is a date."""
    secrets = tuple(secrets)
    told = scrub_all(error_of(body) or {}, secrets)
    code = told.get("code") if isinstance(told.get("code"), str) else None
    message = _message(told, body, secrets) or _phrase(status)
    kind = api_error_class(status, code)
    error = kind(
        f"{operation}: {status}{f' {code}' if code else ''}: {message}{_hint(status, headers)}",
        status=status,
        code=code,
        message=message,
        details=told.get("details"),
        headers=headers,
        operation=operation,
    )
    if isinstance(error, RateLimitError):
        error.retry_after = retry_after(headers, now)
    return error


def error_of(body: bytes) -> dict[str, Any] | None:
    """The `error` member of a reply's JSON, None where there is none."""
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    error = told.get("error") if isinstance(told, dict) else None
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait before asking again, from `Retry-After` or the rate limit's reset; None: not told."""
    named = {name.lower().replace("x-ratelimit-", "x-rate-limit-"): value for name, value in headers.items()}
    after = named.get("retry-after", "").strip()
    if _is_number(after):
        return float(after)
    if after:
        try:
            return max(0.0, parsedate_to_datetime(after).timestamp() - now)
        except (ValueError, OverflowError):
            pass
    reset = named.get("x-rate-limit-reset", "").strip()
    return max(0.0, float(reset) - now) if _is_number(reset) else None


def signal(status: int, headers: Mapping[str, str], now: float) -> Signal:
    """What a reply tells of the rate limit, in either spelling; `headers` take names without case."""
    limit = headers.get("X-Rate-Limit") or headers.get("X-RateLimit-Limit") or ""
    left = headers.get("X-Rate-Limit-Remaining") or headers.get("X-RateLimit-Remaining") or ""
    return Signal(
        limited=status == 429,
        limit=float(limit) if limit and _is_number(limit) else None,
        remaining=float(left) if left and _is_number(left) else None,
        retry_after=retry_after(headers, now) if status == 429 else None,
    )


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text))


def _message(told: dict[str, Any], body: bytes, secrets: tuple[str, ...]) -> str:
    for name in ("message", "devMessage"):
        if isinstance(told.get(name), str) and told[name]:
            return str(told[name])[:_LONGEST]
    text = bytes_of(text_of(body[: 20 * _LONGEST])).decode("utf-8", "replace")
    plain = " ".join(_TAG.sub(" ", text).split())
    return scrub(plain, secrets)[:_LONGEST]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no reason given"


def _hint(status: int, headers: Mapping[str, str]) -> str:
    if 300 <= status < 400:
        return " (redirects are not followed: the key would travel with them)"
    return ""
