"""An HTTP status for each error, which a web backend answers with.

| status | errors                                             | reason                                       |
|--------|----------------------------------------------------|----------------------------------------------|
| 400    | `RequestInvalidError`, `BadRequestError`           | what the browser sent is wrong               |
| 400    | `CursorError` of a token                           | damaged, of another list, or not signed here |
| 403    | `PermissionDeniedError`                            | as the service says                          |
| 404    | `NotFoundError`                                    | as the service says                          |
| 409    | `ConflictError`                                    | as the service says                          |
| 500    | `AuthenticationError`                              | the key; a 401 would sign the user out       |
| 502    | `ServerError`, any other `ApiError`, `FanOutError` | the service failed                           |
| 502    | `ReplyUnreadableError`, `CursorError` of a list    | the service failed                           |
| 503    | `RateLimitError`, `ConnectError`                   | all share the limit; a 429 would blame one   |
| 504    | `DeadlineExceededError`, `RequestTimeoutError`     | no answer in time                            |
| 504    | `OutcomeUnknownError`                              | may be made already; never a `Retry-After`   |

An exceeded deadline counts as the rate limit if that was the reason. `Retry-After` is passed on where the
error has a time. The browser gets a code and a text of this file, never the error's own text: that names
operations, statuses and arguments, and belongs into the log.
"""

from math import ceil
from typing import Final, NamedTuple

from chatrest import (
    ActingUserIgnoredError,
    ApiError,
    AuthenticationError,
    BadRequestError,
    ChatRestError,
    ConflictError,
    ConnectError,
    CursorError,
    DeadlineExceededError,
    FanOutError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    RateLimitError,
    RequestInvalidError,
    RequestTimeoutError,
    ServerError,
    TransportError,
)


class ErrorStatus(NamedTuple):
    """A row of the table: the answer for one class of errors and its subclasses."""

    kind: type[ChatRestError]
    status: int
    code: str
    message: str


class ErrorAnswer(NamedTuple):
    """The answer to a request that failed."""

    status: int
    body: dict[str, str]
    headers: dict[str, str]


ERROR_STATUSES: Final = (
    # First, as two of its subclasses are also a ServerError or a DeadlineExceededError.
    ErrorStatus(OutcomeUnknownError, 504, "outcome_unknown", "It is not known if the change was made."),
    ErrorStatus(RequestInvalidError, 400, "invalid_argument", "An argument is not allowed."),
    ErrorStatus(BadRequestError, 400, "bad_request", "The chat service refused the request."),
    ErrorStatus(CursorError, 400, "cursor_refused", "The list cannot be continued: start it again."),
    ErrorStatus(AuthenticationError, 500, "misconfigured", "The backend is not set up correctly."),
    ErrorStatus(PermissionDeniedError, 403, "permission_denied", "That is not permitted."),
    ErrorStatus(ActingUserIgnoredError, 502, "wrong_user", "The chat service answered for another user."),
    ErrorStatus(NotFoundError, 404, "not_found", "There is no such user, group or message."),
    ErrorStatus(ConflictError, 409, "conflict", "The state does not allow it, or it is done already."),
    ErrorStatus(RateLimitError, 503, "busy", "The chat service is busy: try again later."),
    ErrorStatus(ConnectError, 503, "unavailable", "The chat service cannot be reached: try again later."),
    ErrorStatus(RequestTimeoutError, 504, "timeout", "The chat service did not answer in time."),
    ErrorStatus(DeadlineExceededError, 504, "timeout", "The chat service did not answer in time."),
    ErrorStatus(ServerError, 502, "service_failed", "The chat service failed: try again later."),
    ErrorStatus(ApiError, 502, "service_failed", "The chat service failed: try again later."),
    ErrorStatus(TransportError, 502, "service_failed", "The chat service failed: try again later."),
    ErrorStatus(FanOutError, 502, "service_failed", "The chat service failed: try again later."),
    ErrorStatus(ChatRestError, 500, "failed", "The request failed."),
)
"""The first row whose class fits is the answer."""


def answer_error(error: ChatRestError) -> ErrorAnswer:
    """Return the answer for an error, without anything of its text."""
    kind = _kind_of(error)
    row = next(row for row in ERROR_STATUSES if issubclass(kind, row.kind))
    seconds: float | None = getattr(error, "retry_after", None)
    headers = {}
    # After an unknown outcome, a client that repeats by itself at that time could make the change twice.
    if seconds is not None and row.kind is not OutcomeUnknownError:
        headers["Retry-After"] = str(max(1, ceil(seconds)))
    return ErrorAnswer(row.status, {"error": row.code, "message": row.message}, headers)


def _kind_of(error: ChatRestError) -> type[ChatRestError]:
    """Return the class that decides; two errors are answered as one of another class."""
    is_unknown = isinstance(error, OutcomeUnknownError)
    if isinstance(error, DeadlineExceededError) and error.reason == "rate limit" and not is_unknown:
        return RateLimitError  # the limit's wait did not fit into the deadline
    if isinstance(error, CursorError) and error.operation:
        return ServerError  # the service's own cursors; a token is refused before any operation
    return type(error)
