"""Every error that chatrest raises, and the rule that turns a service's reply into one.

```
ChatRestError                               operation
├── RequestInvalidError (also ValueError)   the caller's fault; nothing was sent
├── ApiError                                the service refused or failed; by its code, else by the status
│   ├── BadRequestError                     400, 422; ERR_BAD_REQUEST, ERR_EMPTY_…, ERR_INVALID_…
│   ├── AuthenticationError                 401; AUTH_ERR_…, ERR_NO_AUTH
│   ├── PermissionDeniedError               403; …_DENIED, …_NOT_ALLOWED, …_NO_ACCESS, …_RESTRICTION
│   ├── NotFoundError                       404; …_NOT_FOUND, ERR_NOT_A_MEMBER
│   ├── ConflictError                       409; …_ALREADY_…, ERR_SAME_SCOPE
│   ├── RateLimitError                      429; ERR_TOO_MANY_REQUESTS; retry_after
│   └── ServerError                         5xx; ERR_OPERATION_FAILED, …_FAILED
│       └── ServerOutcomeUnknownError (also OutcomeUnknownError)
├── TransportError                          no usable reply came
│   ├── ConnectError                        nothing was sent
│   ├── RequestTimeoutError (also TimeoutError)
│   └── ReplyUnreadableError                cut off, too large, not JSON, not the documented shape
├── OutcomeUnknownError                     a call that must not be repeated may have been applied
├── DeadlineExceededError (also TimeoutError)   attempts, reason, retry_after
│   └── DeadlineOutcomeUnknownError (also OutcomeUnknownError)
└── CursorError                             a walk cannot honestly go on
```

A service code that is known (`chatrest.error_codes`) decides the class, whatever the status: services of this
kind answer 400 for a message that is not there, and 417 for domain errors. An unknown code, or none, leaves
it to the status, and so do `ERR_EXCEPTION` and `ERR_BAD_ERROR_RESPONSE`, which say only that something
failed: they are a `ServerError` where the status has no class of its own. An unknown code that ends in
`_NOT_FOUND` is a `NotFoundError` where the status has none.

The class does not decide alone what is repeated, see `core.retry`: a status of 4xx says that the request
was not applied, though its code makes it a `ServerError`; and a code that refuses (bad request, not found,
conflict …) is final, though it came with a status of 5xx.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from .error_codes import KINDS, Kind

__all__ = [
    "ApiError",
    "AuthenticationError",
    "BadRequestError",
    "ChatRestError",
    "ConflictError",
    "ConnectError",
    "CursorError",
    "DeadlineExceededError",
    "DeadlineOutcomeUnknownError",
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


class ChatRestError(Exception):
    """The root: `except ChatRestError` catches all that chatrest raises on purpose."""

    operation: str = ""
    """The endpoint's name, such as `messages.list_user`; empty where no operation was called yet."""


class RequestInvalidError(ChatRestError, ValueError):
    """An argument, an address or an environment variable is wrong. Nothing was sent."""


class ApiError(ChatRestError):
    """The service answered with an error.

    `status` is the HTTP status; `code`, `message` and `details` are the service's own (`code` and
    `details` are None where it gave none); `headers` are the reply's, without secrets; `attempts` counts
    what was sent. `retry_after` is in seconds, for a rate limit or a 503 that names a time; else None.
    """

    retry_after: float | None = None

    # All but the text have defaults: an exception is unpickled from its text and its __dict__.
    def __init__(
        self,
        text: str,
        *,
        status: int = 0,
        code: str | None = None,
        message: str = "",
        details: Any = None,
        headers: Mapping[str, str] | None = None,
        operation: str = "",
        attempts: int = 1,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.headers: Mapping[str, str] = {} if headers is None else headers
        self.operation = operation
        self.attempts = attempts


class BadRequestError(ApiError):
    """The service refuses the request as it is; `details` names the fields where the service says them."""


class AuthenticationError(ApiError):
    """The API key is missing, wrong, or of another app or region."""


class PermissionDeniedError(ApiError):
    """The key's scope is too small, or a rule of the app, of its plan or of a group forbids it."""


class NotFoundError(ApiError):
    """No such user, group, message, membership or operation."""


class ConflictError(ApiError):
    """The thing is so already, or is in a state that the call does not fit."""


class RateLimitError(ApiError):
    """Too many requests: not processed. `retry_after` is None where the service named no time."""


class ServerError(ApiError):
    """The service failed: a status of 5xx, or a code that says so."""


class TransportError(ChatRestError):
    """No usable reply came. `sent` is False where surely no byte of the request left."""

    sent: bool = True


class ConnectError(TransportError):
    """No connection could be made, so nothing was sent.

    `retry_after` is in seconds until the next probe where the region counts as down; else None.
    """

    sent = False
    retry_after: float | None = None


class RequestTimeoutError(TransportError, TimeoutError):
    """One attempt took longer than its `Timeouts` allow."""


class ReplyUnreadableError(TransportError):
    """A reply was cut off, too large, not JSON, or not of the documented shape."""


class OutcomeUnknownError(ChatRestError):
    """A call that must not be repeated was sent, and no reply says whether it was applied."""


DeadlineReason: TypeAlias = Literal["rate limit", "place", "network", "wait"]


class DeadlineExceededError(ChatRestError, TimeoutError):
    """The call's deadline has passed, or what is left of it cannot be enough.

    `reason` says what the call was waiting for: its slot of the `rate limit`, a `place` in the
    pool, the `network`, or the `wait` before the next attempt. `retry_after` is in seconds: how long that
    wait would have taken, where it is known; else None. `attempts` counts what was sent;
    `__cause__` is the error of the last one that failed, if any did.
    """

    def __init__(
        self,
        text: str,
        *,
        operation: str = "",
        attempts: int = 0,
        reason: DeadlineReason = "network",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(text)
        self.operation = operation
        self.attempts = attempts
        self.reason = reason
        self.retry_after = retry_after


class ServerOutcomeUnknownError(ServerError, OutcomeUnknownError):
    """A 5xx to a call that must not be repeated: the service failed, before or after it applied the call."""


class DeadlineOutcomeUnknownError(DeadlineExceededError, OutcomeUnknownError):
    """The deadline passed while a call that must not be repeated was under way."""


class CursorError(ChatRestError):
    """A walk cannot honestly go on: a damaged or foreign token, or cursors that go round in a circle."""


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
    """The class for an HTTP status and a service code (None where the body had none)."""
    kind = None if code is None else KINDS.get(code)
    if kind is not None and kind != "unspecified":
        return _BY_KIND[kind]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500 or kind is not None:
        return ServerError
    return NotFoundError if code is not None and code.endswith("_NOT_FOUND") else ApiError
