"""The tree of errors, and which answer becomes which."""

import copy
import pickle
from typing import Any

from hypothesis import given, strategies as st

import chatrest
from chatrest import errors
from chatrest.errors import (
    ApiError,
    AuthenticationError,
    BadRequestError,
    ChatRestError,
    ConflictError,
    DeadlineExceededError,
    DeadlineOutcomeUnknownError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    ServerOutcomeUnknownError,
    api_error_class,
)
from tests.support.cases import loop_over

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


def test_every_error_is_in_the_tree_and_a_public_name() -> None:
    for kind in CLASSES:
        assert issubclass(kind, ChatRestError)
        assert getattr(chatrest, kind.__name__) is kind
        assert kind.__doc__


@loop_over("kind", CLASSES)
@loop_over("again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_every_error_survives_pickle_and_copy(kind: type[ChatRestError], again: Any) -> None:
    error = kind("what happened")
    assert error.operation == ""
    error.operation = "users.list"
    error.add_note("said later")
    twin = again(error)
    assert type(twin) is kind
    assert (str(twin), twin.args, vars(twin)) == ("what happened", ("what happened",), vars(error))


API = {
    "status": 429, "code": "ERR_X", "message": "m", "details": {"uid": ["bad"]},
    "headers": {"Retry-After": "3"}, "operation": "users.list", "attempts": 4,
}  # fmt: skip
DEADLINE = {"operation": "users.list", "attempts": 3, "reason": "rate limit", "retry_after": 48.3}


@loop_over(
    ("kind", "attributes"),
    [
        (ApiError, API), (RateLimitError, API | {"retry_after": 3.0}), (ServerOutcomeUnknownError, API),
        (DeadlineExceededError, DEADLINE), (DeadlineOutcomeUnknownError, DEADLINE),
    ],
)  # fmt: skip
def test_an_error_survives_pickle_with_all_attributes(kind: type[Exception], attributes: Any) -> None:
    given = attributes.copy()
    retry_after = given.pop("retry_after") if kind is RateLimitError else None
    error: Any = kind("text", **given)
    if retry_after is not None:
        error.retry_after = retry_after
    twin = pickle.loads(pickle.dumps(error))
    assert {name: getattr(twin, name) for name in attributes} == attributes
    assert (str(twin), vars(twin)) == ("text", vars(error))


STATUSES = {
    400: BadRequestError, 401: AuthenticationError, 403: PermissionDeniedError, 404: NotFoundError,
    409: ConflictError, 422: BadRequestError, 429: RateLimitError, 500: ServerError, 502: ServerError,
    503: ServerError, 504: ServerError, 599: ServerError, 402: ApiError, 405: ApiError, 408: ApiError,
    410: ApiError, 413: ApiError, 417: ApiError, 418: ApiError, 301: ApiError, 302: ApiError, 304: ApiError,
    307: ApiError, 501: ServerError,
}  # fmt: skip


@loop_over(("status", "kind"), STATUSES.items())
@loop_over("code", [None, "ERR_OF_NO_KNOWN_KIND"])
def test_the_status_determines_the_class_without_a_known_code(
    status: int, kind: type[ApiError], code: str | None
) -> None:
    assert api_error_class(status, code) is kind


@given(st.integers(0, 999), st.none() | st.text())
def test_any_answer_has_a_class(status: int, code: str | None) -> None:
    kind = api_error_class(status, code)
    assert issubclass(kind, ApiError)
    if status in STATUSES and STATUSES[status] is not ApiError:
        assert kind is STATUSES[status]
