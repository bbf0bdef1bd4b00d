"""Every error that chatrest raises, and the rule that turns a service's answer into one.

```
ChatRestError
├── RequestInvalidError (also ValueError)   the caller's fault; nothing was sent
├── ApiError                                the service answered, and said no
│   ├── BadRequestError         400, 422
│   ├── AuthenticationError     401
│   ├── PermissionDeniedError   403
│   ├── NotFoundError           404
│   ├── ConflictError           409
│   ├── RateLimitError          429
│   └── ServerError             5xx
├── TransportError                          no usable reply came
│   ├── ConnectError                        nothing was sent
│   ├── RequestTimeoutError (also TimeoutError)
│   └── ReplyUnreadableError                cut off, too large, not JSON, not the documented shape
├── OutcomeUnknownError                     a call that must not be repeated may have been applied
├── DeadlineExceededError (also TimeoutError)
└── CursorError                             a walk cannot honestly go on
```

Two are both of what they say: a 5xx (but 501 and 505) to a call that must not be repeated is a
`ServerError` and an `OutcomeUnknownError`, and a deadline that passes while such a call is under way is a
`DeadlineExceededError` and an `OutcomeUnknownError`.

The specification (Errors) leaves codes, statuses and body open, so the HTTP status decides the class
where it is one of the above, and the service's own code where it is not: 417 carries domain errors.
"""

from collections.abc import Mapping
from typing import Any

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


class RequestInvalidError(ChatRestError, ValueError):
    """An argument, an address or an environment variable is wrong. Nothing was sent."""


class ApiError(ChatRestError):
    """The service answered with an error.

    `status` is the HTTP status; `code`, `message` and `details` are the service's own (`code` and
    `details` are None where it gave none); `headers` are the reply's; `operation` is the endpoint's
    name, such as `messages.list_user`; `attempts` counts what was sent. `retry_after` is in seconds, for
    a 429 or a 503 that names a time; else None.
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
    """400 or 422: the service refuses the request; `details` names the fields where it says them."""


class AuthenticationError(ApiError):
    """401: the API key is missing, wrong, or of another app or region."""


class PermissionDeniedError(ApiError):
    """403: the key's scope is too small, or a rule of the app forbids it."""


class NotFoundError(ApiError):
    """404: no such user, group, message or operation."""


class ConflictError(ApiError):
    """409, or a code that says the thing is so already."""


class RateLimitError(ApiError):
    """429, or its code: too many requests. `retry_after` is None where the service named no time."""


class ServerError(ApiError):
    """5xx: the service failed."""


class TransportError(ChatRestError):
    """No usable reply came."""


class ConnectError(TransportError):
    """No connection could be made, so nothing was sent.

    `retry_after` is in seconds where the region counts as down and is not asked before; else None.
    """

    retry_after: float | None = None


class RequestTimeoutError(TransportError, TimeoutError):
    """One attempt took longer than its `Timeouts` allow."""


class ReplyUnreadableError(TransportError):
    """A reply was cut off, too large, not JSON, or not of the documented shape."""


class OutcomeUnknownError(ChatRestError):
    """A call that must not be repeated was sent, and no reply says whether it was applied."""


class DeadlineExceededError(ChatRestError, TimeoutError):
    """The call's deadline has passed, or what is left of it cannot be enough."""


class ServerOutcomeUnknownError(ServerError, OutcomeUnknownError):
    """5xx to a call that must not be repeated: the service failed, before or after it applied the call."""


class DeadlineOutcomeUnknownError(DeadlineExceededError, OutcomeUnknownError):
    """The deadline passed while a call that must not be repeated was under way."""


class CursorError(ChatRestError):
    """A walk cannot honestly go on: a damaged or foreign token, or cursors that go round in a circle."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: BadRequestError,
    429: RateLimitError,
}
_BY_CODE: dict[str, type[ApiError]] = {
    "AUTH_ERR_APIKEY_NOT_FOUND": AuthenticationError,
    "AUTH_ERR_EMPTY_APIKEY": AuthenticationError,
    "AUTH_ERR_NO_ACCESS": PermissionDeniedError,
    "ERR_ALREADY_BANNED": ConflictError,
    "ERR_ALREADY_FRIEND": ConflictError,
    "ERR_ALREADY_JOINED": ConflictError,
    "ERR_BAD_REQUEST": BadRequestError,
    "ERR_PERMISSION_DENIED": PermissionDeniedError,
    "ERR_SAME_SCOPE": ConflictError,
    "ERR_TOO_MANY_REQUESTS": RateLimitError,
}


def api_error_class(status: int, code: str | None) -> type[ApiError]:
    """The class for an HTTP status and a service code (None where the body had none)."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return ServerError
    if code is None:
        return ApiError
    if code.endswith("_NOT_FOUND"):
        return _BY_CODE.get(code, NotFoundError)
    return _BY_CODE.get(code, ApiError)
