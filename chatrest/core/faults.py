"""From a reply that is no success to its error.

The body of an error is not documented. On services of this kind it is
`{"error": {"code", "message", "devMessage", "details", "source"}}`; the agent operations have
`{"statusCode", "message", "error"}` at the root, without a code. Where it is neither (a proxy's HTML, plain
text, nothing) the error says what came in its place. Whatever the service wrote is scrubbed of keys.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

import msgspec

from ..errors import ApiError, RateLimitError, ReplyUnreadableError, api_error_class
from ..secrets import longest, scrub, scrub_all
from .lenient import text_of, whole
from .pacer import Signal

_LONGEST: Final = 300
_WINDOW: Final = 20 * _LONGEST
_QUIET: Final = Signal(limited=False)
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^<>]*+>", re.DOTALL | re.IGNORECASE)


def fault(
    status: int, headers: Mapping[str, str], body: bytes, operation: str, secrets: Iterable[str], now: float
) -> ApiError:
    """The error for a reply; `now` is epoch seconds, for a `Retry-After` that is a date."""
    secrets = tuple(secrets)
    record = scrub_all(error_of(body) or {}, secrets)
    code = _printable(record["code"]) if isinstance(record.get("code"), str) else None
    message = _printable(_message(record) or _text(body, secrets)) or _phrase(status)
    kind = api_error_class(status, code)
    error = kind(
        f"{operation}: {status}{f' {code}' if code else ''}: {message}{_fields(record)}{_hint(status)}",
        status=status,
        code=code,
        message=message,
        details=record.get("details"),
        headers=headers,
        operation=operation,
    )
    if isinstance(error, RateLimitError) or status in (429, 503):
        error.retry_after = retry_after(headers, now)
    return error


def error_of(body: bytes) -> dict[str, Any] | None:
    """The error record in a reply's JSON, None where there is none."""
    try:
        value = _read(body)
    except ReplyUnreadableError:
        return None
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, str):
        return {"message": _root_message(value) or error}
    return error if isinstance(error, dict) else None


def _root_message(value: dict[str, Any]) -> str:
    """The message of the agent operations: beside `error`, a text, or a list of them."""
    message = value.get("message")
    texts = message if isinstance(message, list) else [message]
    return "; ".join(text for text in texts if isinstance(text, str))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, from `Retry-After` or the limit's reset; None where neither is there."""
    named = {name.lower().replace("x-ratelimit-", "x-rate-limit-"): value for name, value in headers.items()}
    after = named.get("retry-after", "").strip()
    seconds = _number(after)
    if seconds is not None:
        return seconds
    at = http_date(after)
    if at is None:
        at = _number(named.get("x-rate-limit-reset", "").strip())
    return None if at is None else max(0.0, at - now)


def signal(status: int, headers: Mapping[str, str], now: float) -> Signal:
    """The state of the rate limit in a reply, in either spelling; `headers` take names without case."""
    limit = headers.get("X-Rate-Limit") or headers.get("X-RateLimit-Limit")
    left = headers.get("X-Rate-Limit-Remaining") or headers.get("X-RateLimit-Remaining")
    if status != 429:
        return Signal(False, _number(limit), _number(left)) if limit or left else _QUIET
    return Signal(True, _number(limit), _number(left), retry_after(headers, now))


def _number(text: str | None) -> float | None:
    return float(text) if text and _NUMBER.fullmatch(text) else None


def http_date(date: str) -> float | None:
    """Epoch seconds of an HTTP date; one that names no zone is in UTC (RFC 9110, 5.6.7)."""
    try:
        at = parsedate_to_datetime(date)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _read(body: bytes) -> Any:
    """The body's JSON, however odd its bytes; `ReplyUnreadableError` where it is none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return whole(body)


def _message(record: dict[str, Any]) -> str:
    texts = (record.get(name) for name in ("message", "devMessage"))
    return next((text[:_LONGEST] for text in texts if isinstance(text, str) and text), "")


def _fields(record: dict[str, Any]) -> str:
    """The texts of `details`, a list of texts for each wrong field: ` (uid: The uid is taken.)`."""
    details = record.get("details")
    if not isinstance(details, dict):
        return ""
    texts = [
        f"{name}: {text}"
        for name, items in details.items()
        if isinstance(items, list)
        for text in items
        if isinstance(text, str)
    ]
    return f" ({_printable('; '.join(texts))[:_LONGEST]})" if texts else ""


def _text(body: bytes, secrets: tuple[str, ...]) -> str:
    """The text of a body without the service's own message; JSON without its escapes, which hide keys."""
    try:
        value = _read(body)
        text = "" if value is None else json.dumps(scrub_all(value, secrets), ensure_ascii=False)
    except ReplyUnreadableError:
        text = _beginning(body, secrets)
    plain = " ".join(_TAG.sub(" ", text[:_WINDOW]).split())
    return scrub(plain, secrets)[:_LONGEST]


def _beginning(body: bytes, secrets: tuple[str, ...]) -> str:
    """The first characters of a text, scrubbed; where it is cut, a piece of a key may stand last: it goes."""
    reach = longest(secrets)
    text = scrub(text_of(body[: _WINDOW + reach]), secrets)
    return text[:-reach] if reach and len(body) > _WINDOW + reach else text


def _printable(text: str) -> str:
    """`text` with what no terminal or file takes, lone surrogates and bytes that are not UTF-8, replaced."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no reason given"


def _hint(status: int) -> str:
    if status < 200:
        return " (an interim status, and no reply came after it)"
    if status == 304:
        return " (the request set no condition: a cache before the service says so)"
    if 300 <= status < 400:
        return " (redirects are not followed: the key would travel with them)"
    return ""
