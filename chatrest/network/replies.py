"""From a reply to its error, and to what it shows of the rate limit."""

import time
from typing import Final

from msgspec import structs

from ..core.arguments import detach
from ..core.faults import error_of, fault, http_date, signal
from ..core.pacer import Signal
from ..errors import (
    ApiError,
    ChatRestError,
    OutcomeUnknownError,
    ReplyUnreadableError,
    ServerError,
    ServerOutcomeUnknownError,
    TransportError,
)
from .transport import Reply, plain_headers

_NOT_JSON: Final = frozenset({"text/html", "text/plain", "application/xml", "text/xml"})
_LIMITED: Final = b"ERR_TOO_MANY_REQUESTS"


def is_success(reply: Reply) -> bool:
    """True for a status of 2xx but 206: nobody asks for a part."""
    return 200 <= reply.status < 300 and reply.status != 206


def refusal(reply: Reply, operation: str, secrets: tuple[str, ...]) -> ChatRestError:
    """The error for a reply whose status is no success, or whose body holds an error."""
    if reply.status == 206:
        return ReplyUnreadableError("206 Partial Content: only a part came, though all of it was asked for")
    headers = plain_headers(reply.headers, secrets)
    return fault(reply.status, headers, reply.body, operation, secrets, _service_time(reply))


def unreadable(
    reply: Reply, error: ReplyUnreadableError, operation: str, secrets: tuple[str, ...]
) -> ChatRestError:
    """The error for a success that cannot be read, without the frames that hold its body."""
    if error_of(reply.body):
        return refusal(reply, operation, secrets)
    kind = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind in _NOT_JSON:
        error.args = (f"{error}; its Content-Type is {kind}: is that the service's address?",)
    return detach(error)


def outcome_unknown(operation: str, error: ApiError | TransportError) -> ChatRestError:
    """The error for a call that must not be repeated and may have been applied; `error` is its cause."""
    text = f"{operation} is not repeated, and may or may not have been applied: {error}"
    unknown: ChatRestError = OutcomeUnknownError(text)
    if isinstance(error, ServerError):
        unknown = ServerOutcomeUnknownError(text)
        unknown.__dict__.update(error.__dict__)
    unknown.operation = operation
    unknown.__cause__ = error
    return unknown


def limit_signal(reply: Reply, longest_wait: float) -> Signal:
    """The state of the rate limit in a reply; a wait beyond `longest_wait` seconds is left out.

    What is not waited for holds up nobody else. A rate limit counts by its code, too, as in `errors`.
    """
    if reply.status != 429 and not (reply.status >= 400 and _LIMITED in reply.body):
        return signal(reply.status, reply.headers, 0.0)
    limit = signal(429, reply.headers, _service_time(reply))
    if limit.retry_after is not None and limit.retry_after > longest_wait:
        return structs.replace(limit, retry_after=None)
    return limit


def _service_time(reply: Reply) -> float:
    """Epoch seconds on the service's own clock where it sends them: times that it names are on that clock."""
    now = http_date(reply.headers.get("Date", ""))
    return time.time() if now is None else now
