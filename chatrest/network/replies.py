"""The error and the rate limit signal of a reply."""

import time
from typing import Any, Final

from msgspec import structs

from ..core.pace.pacer import Signal
from ..core.replies.decode import NoRecordError
from ..core.replies.faults import error_of, fault, http_date, signal
from ..core.requests.endpoint import Call
from ..errors import (
    ApiError,
    ChatRestError,
    NotFoundError,
    OutcomeUnknownError,
    ReplyUnreadableError,
    ServerError,
    ServerOutcomeUnknownError,
    TransportError,
)
from ..secrets import scrub
from .call_secrets import credentials_of
from .transport import Reply, plain_headers

_NOT_JSON: Final = frozenset({"text/html", "text/plain", "application/xml", "text/xml"})
_LEAST_HOLD: Final = 0.05
_LIMITED: Final = b"ERR_TOO_MANY_REQUESTS"


def is_success(reply: Reply) -> bool:
    """Return True for a status of 2xx except 206, as no request asks for a part."""
    return 200 <= reply.status < 300 and reply.status != 206


def refusal(reply: Reply, call: Call[Any], secrets: tuple[str, ...]) -> ChatRestError:
    """Return the error for a reply without a success status, or with an error in its body."""
    if reply.status == 206:
        return ReplyUnreadableError("206 Partial Content: only a part came, though all of it was asked for")
    secrets = (*secrets, *credentials_of(call))
    headers = plain_headers(reply.headers, secrets)
    return fault(reply.status, headers, reply.body, call.endpoint.name, secrets, _service_time(reply))


def unreadable(
    reply: Reply, error: ReplyUnreadableError, call: Call[Any], secrets: tuple[str, ...]
) -> ChatRestError:
    """Return the error for an unreadable success, without the frames that hold its body."""
    record = error_of(reply.body)
    if record:
        return refusal(reply, call, secrets)
    secrets = (*secrets, *credentials_of(call))
    text = scrub(str(error), secrets)  # it may repeat names of members
    if isinstance(error, NoRecordError) and call.endpoint.replay != "never":
        name, headers = call.endpoint.name, plain_headers(reply.headers, secrets)
        text = f"{name}: {reply.status}: the service answered without a record: {text}"
        return NotFoundError(text, status=reply.status, headers=headers, operation=name)
    failure = ReplyUnreadableError(text)
    failure.is_json = error.is_json
    failure.answered = error.is_json and record is None and bool(reply.body.strip())
    if call.endpoint.replay == "never" and failure.answered:
        failure.args = (f"{failure}; the service answered {reply.status}, so the call was applied",)
    kind = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind in _NOT_JSON:
        failure.args = (f"{failure}; its Content-Type is {kind}: is that the service's address?",)
    return failure


def outcome_unknown(operation: str, error: ApiError | TransportError) -> ChatRestError:
    """Return the error for a call that must not be repeated and may have been applied, caused by `error`."""
    text = f"{operation} is not repeated, and may or may not have been applied: {error}"
    unknown: ChatRestError = OutcomeUnknownError(text)
    if isinstance(error, ServerError):
        unknown = ServerOutcomeUnknownError(text)
        unknown.__dict__.update(error.__dict__)
    unknown.operation = operation
    unknown.__cause__ = error
    return unknown


def limit_signal(reply: Reply, longest_wait: float) -> Signal:
    """Return the rate limit signal of a reply, without a `retry_after` above `longest_wait` seconds, or of 0.

    A wait that this call refuses must not delay other calls, and one of nothing must not let all of them go.
    A rate limit is also recognized by its error code, as in `errors`.
    """
    if reply.status < 400 or (reply.status != 429 and _LIMITED not in reply.body):
        return signal(reply.status, reply.headers, 0.0)
    limit = signal(429, reply.headers, _service_time(reply))
    if limit.retry_after is not None and not _LEAST_HOLD <= limit.retry_after <= longest_wait:
        return structs.replace(limit, retry_after=None)
    return limit


def _service_time(reply: Reply) -> float:
    """Return the epoch seconds of the reply's `Date`, the clock of its other times; else the local time."""
    now = http_date(reply.headers.get("Date", ""))
    return time.time() if now is None else now
