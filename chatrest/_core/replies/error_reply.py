"""From a reply without a success status to its error.

The body of an error is not documented (`chatrest guide service`, "Errors"). On services of this kind it is
`{"error": {"code", "message", "devMessage", "details", "source"}}`; the agent operations have
`{"statusCode", "message", "error"}` at the root, without a code. Of any other body (a proxy's HTML, plain
text, nothing) the error has the beginning. Keys are removed from all texts of the service.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from ..._models.raw_json import text_of_bytes
from ..._secrets import longest_spelling, scrub, scrub_all
from ...error_codes import KINDS
from ...errors import (
    ApiError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    RateLimitError,
    ReplyUnreadableError,
    api_error_class,
)
from .bounds import ERROR_BYTES
from .rate_signal import retry_after
from .scanner import read_body

_NOT_JSON: Final = object()
_MAX: Final = 300
_MAX_TEXT: Final = 80
"""Characters of a body that is not the service's own, such as a proxy's page."""
_WINDOW: Final = 20 * _MAX
_UNSERVED: Final = "ERR_ROUTE_NOT_FOUND"
_ROUTE: Final = re.compile(r"ROUTE|ENDPOINT|PATH|METHOD|OPERATION|URL")
_EXISTS: Final = re.compile(
    r"\balready\s+(?:been\s+)?(?:exists?\b|taken\b|in use\b|used\b|registered\b|created\b|present\b)"
    r"|\b(?:is|been)\s+taken\b|\bduplicate\b|\bmust be unique\b|\bexists\s+already\b",
    re.IGNORECASE,
)
_ERROR_HEAD: Final = re.compile(
    rb"""\s*+\{\s*+"error"\s*+:\s*+\{((?:\s*+"[^"\\]*+"\s*+:\s*+(?:"(?:[^"\\]++|\\.)*+"|[\w.+-]++)\s*+,)++)""",
    re.DOTALL,
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^<>]*+>", re.DOTALL | re.IGNORECASE)


def error_of_reply(
    status: int, headers: Mapping[str, str], body: bytes, operation: str, secrets: Iterable[str], now: float
) -> ApiError:
    """Return the error of a reply; `now` is in epoch seconds, for a `Retry-After` that is a date."""
    secrets, body = tuple(secrets), body[:ERROR_BYTES]
    value = _read(body)
    is_json = value is not _NOT_JSON
    record = scrub_all(_error_in(value) or _cut_error(body) or {}, secrets)
    code = _printable(record["code"]) if isinstance(record.get("code"), str) else None
    message = _printable(_message(record) or _text(value if is_json else body, secrets))
    message = message[: _MAX if is_json or record else _MAX_TEXT] or _phrase(status)
    kind = api_error_class(status, code)
    texts = _texts([record.get("message"), record.get("details")])
    if kind is BadRequestError and any(map(_EXISTS.search, texts)):  # the record to create is there already
        kind = ConflictError
    is_unserved = kind is NotFoundError and not _is_about_record(status, code)
    error = kind(
        f"{operation}: {status}{f' {code}' if code else ''}: {message}{_fields(record)}"
        f"{_hint(status, code, is_unserved=is_unserved)}",
        status=status,
        code=code,
        message=message,
        details=record.get("details"),
        headers=headers,
        operation=operation,
    )
    if isinstance(error, NotFoundError):
        error.is_unserved = is_unserved
    if isinstance(error, RateLimitError) or status in (429, 503):
        error.retry_after = retry_after(headers, now)
    return error


def error_member(body: bytes) -> dict[str, Any] | None:
    """Return the `error` of a reply's JSON; None if it has none. Only the beginning of a body is read."""
    cut = body[:ERROR_BYTES]
    record = _error_in(_read(cut))
    return _cut_error(cut) if record is None else record


def _error_in(value: Any) -> dict[str, Any] | None:
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, str):
        return {"message": _root_message(value) or error}
    return error if isinstance(error, dict) else None


def _cut_error(body: bytes) -> dict[str, Any] | None:
    match = _ERROR_HEAD.match(body) if len(body) == ERROR_BYTES else None
    return None if match is None else read_body(b"{%b}" % match[1].rstrip(b", \t\r\n"))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _is_about_record(status: int, code: str | None) -> bool:
    """Return True if a not-found error is about a record, and not about the operation itself."""
    if status != 404:
        return code != _UNSERVED
    return code is not None and not _ROUTE.search(code) and (code in KINDS or code.endswith("_NOT_FOUND"))


def _root_message(value: dict[str, Any]) -> str:
    """Return the message of the agent operations, beside `error`: a text, or a list of texts."""
    message = value.get("message")
    texts = message if isinstance(message, list) else [message]
    return "; ".join(text for text in texts if isinstance(text, str))


def _read(body: bytes) -> Any:
    try:
        return read_body(body)
    except ReplyUnreadableError:
        return _NOT_JSON


def _message(record: dict[str, Any]) -> str:
    texts = (record.get(name) for name in ("message", "devMessage"))
    return next((text[:_MAX] for text in texts if isinstance(text, str) and text), "")


def _fields(record: dict[str, Any]) -> str:
    """Return the texts of `details`, which lists texts for each wrong field: ` (uid: The uid is taken.)`."""
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
    return f" ({_printable('; '.join(texts))[:_MAX]})" if texts else ""


def _text(reply: Any, secrets: tuple[str, ...]) -> str:
    """Return the text of a body without an error message: of bytes, or of JSON without its escapes."""
    if isinstance(reply, bytes):
        text = _beginning(reply, secrets)
    else:
        text = "" if reply is None else json.dumps(scrub_all(reply, secrets), ensure_ascii=False)
    plain = " ".join(_TAG.sub(" ", text[:_WINDOW]).split())
    return scrub(plain, secrets)


def _beginning(body: bytes, secrets: tuple[str, ...]) -> str:
    """Return the first characters of a text, scrubbed; a cut text loses an end that may be half a key."""
    reach = longest_spelling(secrets)
    text = scrub(text_of_bytes(body[: _WINDOW + reach]), secrets)
    return text[:-reach] if reach and len(body) > _WINDOW + reach else text


def _printable(text: str) -> str:
    """Return `text` with each lone surrogate replaced, which no terminal or file can encode."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no reason given"


def _hint(status: int, code: str | None, *, is_unserved: bool) -> str:
    if is_unserved:
        return " (no record is named: the service may not serve this operation)"
    if code == "ERR_NO_AUTH":
        return (
            " (if the key is right, this service wants a user's login token: headers={'authtoken': …}, "
            "or CHATREST_HEADERS)"
        )
    if status < 200:
        return " (an interim status, and no reply came after it)"
    if status == 304:
        return " (the request set no condition: a cache before the service says so)"
    if 300 <= status < 400:
        return " (redirects are not followed: the key would travel with them)"
    return ""
