"""All errors of chatrest, and the rule that gives a service's reply its error class.

```
ChatRestError                               operation
├── RequestInvalidError (also ValueError)   a wrong argument; nothing was sent
├── ApiError                                the service's error, by its code, else by the status
│   ├── BadRequestError                     400, 422; ERR_BAD_REQUEST, ERR_EMPTY_…, ERR_INVALID_…
│   ├── AuthenticationError                 401; AUTH_ERR_…, ERR_NO_AUTH
│   ├── PermissionDeniedError               403; …_DENIED, …_NOT_ALLOWED, …_NO_ACCESS, ERR_NOT_A_MEMBER
│   ├── NotFoundError                       404; …_NOT_FOUND; is_unserved
│   ├── ConflictError                       409; …_ALREADY_…, ERR_SAME_SCOPE; details "already taken"
│   ├── RateLimitError                      429; ERR_TOO_MANY_REQUESTS; retry_after
│   └── ServerError                         5xx; ERR_OPERATION_FAILED, …_FAILED
│       └── ServerOutcomeUnknownError (also OutcomeUnknownError)
├── TransportError                          no usable reply came
│   ├── ConnectError                        nothing was sent
│   ├── RequestTimeoutError (also TimeoutError)
│   └── ReplyUnreadableError                cut off, too large, not JSON, not the documented shape
├── OutcomeUnknownError                     a call that must not be repeated may have been applied; muid
├── DeadlineExceededError (also TimeoutError)   attempts, reason, retry_after
│   └── DeadlineOutcomeUnknownError (also OutcomeUnknownError)
├── ActingUserIgnoredError                  the service answered for another user than the one asked for
├── CursorError                             a walk cannot continue without a gap or repetition
├── FanOutError                             too many items of a fan-out failed; failed, succeeded
└── ExportIncompleteError                   an export does not hold all of its plan: `report.check()`
```

A known service code (`chatrest.error_codes`) determines the class, for any status: services of this kind
answer 400 for a missing message, and 417 for domain errors. Without a known code the status determines the
class. This is also so for `ERR_EXCEPTION` and `ERR_BAD_ERROR_RESPONSE`, which do not name a cause: they are a
`ServerError` if the status has no class. An unknown code that ends in `_NOT_FOUND` is a `NotFoundError` if
the status has no class.
Class and status together decide about repetition, see `_core.pace.retry`.

An error is made of its text and, by keyword, of any of its attributes: `ApiError("…", status=404)`. A type
checker knows the attributes of each class as the arguments of a dataclass.
"""

import re
from collections.abc import Mapping
from dataclasses import InitVar, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, dataclass_transform

from .error_codes import KINDS, Kind

__all__ = [
    "ActingUserIgnoredError",
    "ApiError",
    "AuthenticationError",
    "BadRequestError",
    "ChatRestError",
    "ConflictError",
    "ConnectError",
    "CursorError",
    "DeadlineExceededError",
    "DeadlineOutcomeUnknownError",
    "ExportIncompleteError",
    "FanOutError",
    "NotFoundError",
    "OutcomeUnknownError",
    "PermissionDeniedError",
    "RateLimitError",
    "ReplyUnreadableError",
    "RequestInvalidError",
    "RequestTimeoutError",
    "ServerError",
    "ServerOutcomeUnknownError",
    "TransportError",
    "api_error_class",
]


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class _TypedArguments:
    """The arguments of a derived class are its annotated attributes, for a type checker."""


class ChatRestError(_TypedArguments, Exception):
    """The base class of all errors of chatrest."""

    operation: str = ""
    """The endpoint's name, such as `messages.list_user`; empty if no operation was called."""

    if TYPE_CHECKING:
        text: InitVar[str] = field(default="", kw_only=False)
    else:
        # All have defaults, as an exception is unpickled from its text and its __dict__.
        def __init__(self, text: str = "", **attributes: Any) -> None:
            super().__init__(text)
            for name, value in attributes.items():
                if not hasattr(type(self), name):
                    raise TypeError(f"{type(self).__name__} has no attribute {name!r}")
                setattr(self, name, value)


class RequestInvalidError(ChatRestError, ValueError):
    """A wrong argument, address or environment variable. Nothing was sent."""

    name: str = ""
    """The parameter or field that is wrong, where the text begins with it."""
    arguments: tuple[str, ...] = ()
    """The arguments that the text advises or names, each written as `name=True`."""


_REQUEST_IDS: Final = ("X-Request-Id", "X-Amzn-RequestId", "X-Correlation-Id", "X-Trace-Id", "CF-Ray")
_ID: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,100}")


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the id of a request in the service's logs, from a reply's headers; None if they have no id."""
    value = next((headers[name] for name in _REQUEST_IDS if name in headers), None)
    return value if value is not None and _ID.fullmatch(value) else None


class ApiError(ChatRestError):
    """An error reply of the service."""

    status: int = 0
    """The HTTP status."""
    code: str | None = None
    """The service's code, such as `ERR_UID_NOT_FOUND`; None if the reply has none."""
    message: str = ""
    """The service's text, without secrets, or the beginning of a reply that has none."""
    details: Any = None
    """The decoded `details` of the reply's error, such as the faults by field; None if it has none."""
    headers: Mapping[str, str] = MappingProxyType({})
    """The reply's headers, without secrets."""
    attempts: int = 1
    """The number of requests that were sent."""
    retry_after: float | None = None
    """The seconds that a rate limit or a 503 names, else None."""

    @property
    def request_id(self) -> str | None:
        """The id that the service gave the request, for its support; None if the reply names none."""
        return request_id_of(self.headers)


class BadRequestError(ApiError):
    """The request is invalid; `details` names the wrong fields if the service does."""


class AuthenticationError(ApiError):
    """The API key is missing, wrong, or for another app or region."""


class PermissionDeniedError(ApiError):
    """The key's scope, or a rule of the app, its plan or a group, does not permit the call."""


class NotFoundError(ApiError):
    """The user, group, message, membership or operation does not exist.

    `is_unserved` is True if the reply names no record that is missing: the service does not serve this
    operation, or not at this address.
    """

    is_unserved: bool = False


class ConflictError(ApiError):
    """The change is already made, or the state does not allow the call."""


class RateLimitError(ApiError):
    """Too many requests; this one was not processed. `retry_after` is None if the service names no time."""


class ServerError(ApiError):
    """A failure of the service: a status of 5xx, or a code of such a failure."""


class TransportError(ChatRestError):
    """No usable reply came. `sent` is False if certainly no byte of the request was sent."""

    sent: bool = True


class ConnectError(TransportError):
    """No connection could be made, and nothing was sent.

    `is_final` is True if a repetition would end the same: a refused certificate, or a host without TLS.
    `reason` is `name` (the host has no address), `tls` (it does not speak TLS), `certificate`, `expired`,
    `not yet valid` or `other host` (its certificate is refused), `proxy` (no connection to it), `by proxy`
    (it refuses the host), or `connection`.
    """

    sent = False
    is_final: bool = False
    reason: str = "connection"


class RequestTimeoutError(TransportError, TimeoutError):
    """An attempt took longer than its `Timeouts`."""


class ReplyUnreadableError(TransportError):
    """A reply was cut off, too large, not JSON, or not of the documented shape.

    `answered` is True for a complete reply with a success status that is only too large, or not of the
    documented shape: the call was applied, and a repetition would bring the same. `muid` is then that of the
    message, for the operations that send one, as in an `OutcomeUnknownError`.
    """

    answered: bool = False
    muid: str | None = None
    is_json: bool = True
    """False if the reply's text is not JSON, is cut off, or is nested too deeply to be read."""


class OutcomeUnknownError(ChatRestError):
    """A call that must not be repeated was sent, and it is unknown if it was applied.

    `muid` is the id of the message, for the operations that send one: with it `messages.find_sent` asks the
    service for the message. None for every other operation.
    """

    muid: str | None = None


DeadlineReason: TypeAlias = Literal["rate limit", "place", "network", "wait"]


class DeadlineExceededError(ChatRestError, TimeoutError):
    """The call's deadline has passed, or is sooner than the end of a necessary wait.

    Its `__cause__` is the error of the last failed attempt.
    """

    attempts: int = 0
    """The number of requests that were sent."""
    reason: DeadlineReason = "network"
    """The stage of the call: `rate limit` for its slot, `place` for a place in the pool, `network`, or `wait`
    before the next attempt.
    """
    retry_after: float | None = None
    """The length of that wait in seconds; None if it is unknown."""


class ServerOutcomeUnknownError(ServerError, OutcomeUnknownError):
    """A 5xx for a call that must not be repeated, which the service may have applied before it failed."""


class DeadlineOutcomeUnknownError(DeadlineExceededError, OutcomeUnknownError):
    """The deadline passed after a call that must not be repeated was sent."""


class ActingUserIgnoredError(ChatRestError):
    """The service ignored the acting user, and served a list of other users; none of its page is given."""


class CursorError(ChatRestError):
    """A walk cannot continue: a damaged token, a token of another list, or cursors that repeat."""


class FanOutError(ChatRestError):
    """A fan-out stopped, as `stop_after` items failed. Its cause is the last of their errors."""

    failed: int = 0
    """The items that failed."""
    succeeded: int = 0
    """The items that succeeded until all workers had stopped."""


class ExportIncompleteError(ChatRestError):
    """An export ran to its end, and lacks messages of its plan; the text has the reasons."""

    can_continue: bool = True
    """False if another run would end the same way, such as for a user that does not exist."""


_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: BadRequestError,
    429: RateLimitError,
}
_BY_KIND: Final[Mapping[Kind, type[ApiError]]] = {
    "authentication": AuthenticationError,
    "bad_request": BadRequestError,
    "conflict": ConflictError,
    "not_found": NotFoundError,
    "permission_denied": PermissionDeniedError,
    "rate_limit": RateLimitError,
    "server": ServerError,
}


def api_error_class(status: int, code: str | None) -> type[ApiError]:
    """Return the class for an HTTP status and a service code (None if the body has none)."""
    kind = None if code is None else KINDS.get(code)
    if kind is not None and kind != "unspecified":
        return _BY_KIND[kind]
    if code is not None and kind is None and "_ALREADY_" in code and status < 500 and status != 429:
        return ConflictError
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500 or kind is not None:
        return ServerError
    return NotFoundError if code is not None and code.endswith("_NOT_FOUND") else ApiError
