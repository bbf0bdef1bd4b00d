"""The table of HTTP statuses: complete, with times, and without anything of the errors' texts."""

from chatrest import (
    ChatRestError,
    CursorError,
    DeadlineExceededError,
    RateLimitError,
    ServerError,
    errors,
)
from chatrest.examples.web_requests import answer_error
from tests.cases import loop_over

CLASSES = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
NOT_OF_A_REQUEST = (ChatRestError, errors.ExportIncompleteError)
"""The base class, and what no request of a browser raises."""
SECRET = "the text of the error: k3y"


@loop_over("kind", [kind for kind in CLASSES if kind not in NOT_OF_A_REQUEST])
def test_every_error_has_an_answer_of_its_own_that_shows_nothing_of_it(kind: type[ChatRestError]) -> None:
    answer = answer_error(kind(SECRET))
    assert answer.body != answer_error(ChatRestError()).body
    assert 400 <= answer.status < 600
    assert answer.status != 401  # the browser would sign its user out
    assert SECRET not in str(answer)


@loop_over("kind", [kind for kind in CLASSES if issubclass(kind, errors.OutcomeUnknownError)])
def test_an_unknown_outcome_never_looks_like_a_failure(kind: type[ChatRestError]) -> None:
    error = kind(SECRET)
    vars(error).update(retry_after=5.0, reason="rate limit")  # as of a 503 with a time, and of a deadline
    answer = answer_error(error)
    assert (answer.status, answer.body["error"], answer.headers) == (504, "outcome_unknown", {})


@loop_over(("seconds", "header"), [(0.0, "1"), (0.2, "1"), (20.0, "20"), (20.1, "21")])
def test_a_time_is_passed_on_in_whole_seconds(seconds: float, header: str) -> None:
    error = RateLimitError(SECRET)
    error.retry_after = seconds
    assert answer_error(error).headers == {"Retry-After": header}
    assert answer_error(RateLimitError(SECRET)).headers == {}


def test_a_deadline_that_the_rate_limit_exceeds_is_answered_as_the_rate_limit() -> None:
    limited = answer_error(DeadlineExceededError(SECRET, reason="rate limit", retry_after=60.0))
    assert limited.status == answer_error(RateLimitError(SECRET)).status
    assert limited.headers == {"Retry-After": "60"}
    assert answer_error(DeadlineExceededError(SECRET, reason="network")).status == 504


def test_the_cursors_of_the_service_are_not_the_browsers_fault() -> None:
    error = CursorError(SECRET)
    assert answer_error(error).status == 400
    error.operation = "messages.list_user"
    assert answer_error(error) == answer_error(ServerError(SECRET))
