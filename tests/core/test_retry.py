"""What is repeated, and after how long: the table of the module, line by line."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from chatrest.core.retry import RetryPolicy, Tries, is_passing, may_repeat
from chatrest.errors import (
    ApiError,
    BadRequestError,
    ChatRestError,
    ConflictError,
    ConnectError,
    CursorError,
    DeadlineExceededError,
    NotFoundError,
    RateLimitError,
    ReplyUnreadableError,
    RequestInvalidError,
    RequestTimeoutError,
    ServerError,
    TransportError,
)

AGAIN, RAISED = True, False
TABLE: list[tuple[ChatRestError, bool, bool]] = [
    (ConnectError("x"), AGAIN, AGAIN),
    (RateLimitError("x", status=429), AGAIN, AGAIN),
    (TransportError("x"), AGAIN, RAISED),
    (RequestTimeoutError("x"), AGAIN, RAISED),
    (ReplyUnreadableError("x"), AGAIN, RAISED),
    *[(ServerError("x", status=status), AGAIN, RAISED) for status in (500, 502, 503, 504)],
    (ApiError("x", status=408), AGAIN, RAISED),
    *[(ServerError("x", status=status), RAISED, RAISED) for status in (501, 505, 507, 599)],
    *[(ApiError("x", status=status), RAISED, RAISED) for status in (0, 301, 402, 410, 417, 425)],
    (BadRequestError("x", status=400), RAISED, RAISED),
    (NotFoundError("x", status=404), RAISED, RAISED),
    (ConflictError("x", status=409), RAISED, RAISED),
    (RequestInvalidError("x"), RAISED, RAISED),
    (DeadlineExceededError("x"), RAISED, RAISED),
    (CursorError("x"), RAISED, RAISED),
]  # fmt: skip
IDS = [f"{type(error).__name__} {getattr(error, 'status', '')}" for error, _, _ in TABLE]


@pytest.mark.parametrize(("error", "repeatable", "never"), TABLE, ids=IDS)
def test_the_table(error: ChatRestError, repeatable: bool, never: bool) -> None:
    for replay, again in (("safe", repeatable), ("idempotent", repeatable), ("never", never)):
        assert may_repeat(error, replay) == again  # type: ignore[arg-type]
        wait = RetryPolicy().wait(error, replay, Tries(1, 1), lambda: 0.5)  # type: ignore[arg-type]
        assert (wait is not None) == again
        assert RetryPolicy(attempts=1).wait(error, replay, Tries(1, 1), lambda: 0.5) is None  # type: ignore[arg-type]
    assert is_passing(error) == (repeatable and not never)


def test_a_call_is_sent_as_often_as_the_policy_says_and_no_more() -> None:
    policy = RetryPolicy(attempts=3, limited=2)
    failing = [policy.wait(ServerError("x", status=503), "safe", Tries(n), lambda: 1) for n in (1, 2, 3, 4)]
    assert [wait is None for wait in failing] == [False, False, True, True]
    limited = [policy.wait(RateLimitError("x"), "safe", Tries(0, n), lambda: 1) for n in (1, 2, 3)]
    assert [wait is None for wait in limited] == [False, True, True]


def test_the_bound_of_a_wait_doubles_up_to_the_longest() -> None:
    policy = RetryPolicy(attempts=20, first_wait=0.5, longest_wait=5)
    waits = [policy.wait(TransportError("x"), "safe", Tries(n), lambda: 1.0) for n in range(1, 8)]
    assert waits == [0.5, 1, 2, 4, 5, 5, 5]
    assert policy.wait(TransportError("x"), "safe", Tries(3), lambda: 0.0) == 0


def limited(seconds: float | None) -> RateLimitError:
    error = RateLimitError("x", status=429)
    error.retry_after = seconds
    return error


def test_a_wait_that_the_service_names_is_kept_and_spread_a_little() -> None:
    policy = RetryPolicy(first_wait=0.5)
    assert policy.wait(limited(30), "never", Tries(0, 1), lambda: 0.0) == 30
    assert policy.wait(limited(30), "safe", Tries(0, 1), lambda: 1.0) == 30.5
    assert RetryPolicy(first_wait=9).wait(limited(30), "safe", Tries(0, 1), lambda: 1.0) == 31
    assert policy.wait(limited(0), "safe", Tries(0, 1), lambda: 0.0) == 0


def test_a_wait_longer_than_a_service_may_dictate_is_not_waited_for() -> None:
    policy = RetryPolicy(longest_server_wait=60)
    assert policy.wait(limited(60), "safe", Tries(0, 1), lambda: 0.0) == 60
    assert policy.wait(limited(60.1), "safe", Tries(0, 1), lambda: 0.0) is None


def test_a_429_that_names_no_time_waits_longer_each_time_up_to_its_window() -> None:
    policy = RetryPolicy(first_wait=0.5, longest_wait=20, unnamed_limit_wait=60)
    waits = [
        policy.wait(limited(None), "safe", Tries(0, n, patient=True), lambda: 1.0) for n in (1, 2, 3, 4, 5, 9)
    ]
    assert waits == [4, 8, 16, 32, 60, 60]
    assert policy.wait(limited(None), "safe", Tries(0, 9, patient=True), lambda: 0.0) == 30


def test_a_region_that_is_down_is_waited_for_by_patient_calls_alone() -> None:
    error = ConnectError("x")
    error.retry_after = 12.0
    assert RetryPolicy().wait(error, "safe", Tries(1), lambda: 0.5) is None
    assert RetryPolicy().wait(error, "safe", Tries(0, 0, 1, True), lambda: 0.5) == 12


@settings(max_examples=150, deadline=None, database=None)
@given(
    st.builds(
        RetryPolicy,
        attempts=st.integers(2, 1000),
        first_wait=st.floats(1e-3, 1e3),
        longest_wait=st.floats(1e-3, 1e3),
        longest_server_wait=st.floats(1e-3, 1e3),
        unnamed_limit_wait=st.floats(1e-3, 1e3),
    ),
    st.sampled_from(
        [error for error, again, _ in TABLE if again] + [limited(0), limited(77.0), limited(1e6)]
    ),
    st.integers(1, 2000),
    st.integers(1, 2000),
    st.floats(0, 1),
)
def test_every_wait_is_within_its_bounds(
    policy: RetryPolicy, error: ChatRestError, failed: int, hit: int, dice: float
) -> None:
    wait = policy.wait(error, "safe", Tries(failed, hit), lambda: dice)
    if wait is None:
        return
    assert wait >= 0
    if not isinstance(error, RateLimitError):
        assert failed < policy.attempts
        assert wait <= policy.longest_wait
    elif error.retry_after is None:
        assert wait <= policy.unnamed_limit_wait
    else:
        assert error.retry_after <= wait <= policy.longest_server_wait + 1


@pytest.mark.parametrize("name", ["attempts", "limited"])
@pytest.mark.parametrize("value", [0, -1, 1001, 2.0, True, None, "3"])
def test_a_count_that_is_none_is_refused(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"retry\.{name} = .*allowed is a whole number"):
        RetryPolicy(**{name: value})


@pytest.mark.parametrize("name", ["first_wait", "longest_wait", "longest_server_wait", "unnamed_limit_wait"])
@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), True, None, "3"])
def test_a_wait_that_is_no_number_of_seconds_is_refused(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"retry\.{name} = "):
        RetryPolicy(**{name: value})
