"""Repeats and their waits: the table of the module, line by line, and the attempts so far."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest._core.pace.retry import (
    MAX_LOGGED,
    Attempts,
    Consequence,
    RetryBudget,
    RetryPolicy,
    attempt_log,
    consequence,
)
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
from tests.support.cases import loop_over

AGAIN, RAISED, UNKNOWN = Consequence.AGAIN, Consequence.RAISED, Consequence.UNKNOWN


def marked(error: ChatRestError, **flags: bool) -> ChatRestError:
    vars(error).update(flags)
    return error


def wait(
    policy: RetryPolicy,
    error: ChatRestError,
    replay: Any = "safe",
    failed: int = 0,
    limited: int = 0,
    connect_failures: int = 0,
    patient: bool = False,
    dice: Callable[[], float] = lambda: 0.5,
) -> float | None:
    """The wait that `policy` decides on after so many attempts of each kind."""
    attempts = Attempts(
        count=failed + limited + connect_failures, limited_count=limited, connect_failures=connect_failures,
        patient=patient, error=error,
    )  # fmt: skip
    return policy.wait(attempts, dice) if policy.repeats(attempts, replay) else None


TABLE: list[tuple[ChatRestError, Consequence, Consequence]] = [
    (ConnectError("x"), AGAIN, AGAIN),
    (marked(ConnectError("x"), is_final=True), RAISED, RAISED),
    (RateLimitError("x", status=429), AGAIN, AGAIN),
    *[(RateLimitError("x", status=s, code="ERR_TOO_MANY_REQUESTS"), AGAIN, AGAIN) for s in (400, 417, 503)],
    (ServerError("x", status=429, code="ERR_OPERATION_FAILED"), AGAIN, AGAIN),
    (TransportError("x"), AGAIN, UNKNOWN),
    (RequestTimeoutError("x"), AGAIN, UNKNOWN),
    (ReplyUnreadableError("x"), AGAIN, UNKNOWN),
    (marked(ReplyUnreadableError("x"), answered=True), RAISED, RAISED),
    *[(ServerError("x", status=status), AGAIN, UNKNOWN) for status in (500, 502, 503, 504, 520, 529)],
    (ServerError("x", status=500, code="ERR_EXCEPTION"), AGAIN, UNKNOWN),
    (ApiError("x", status=408), AGAIN, UNKNOWN),
    *[(ServerError("x", status=status), RAISED, UNKNOWN) for status in (507, 519, 530, 599)],
    *[(ServerError("x", status=status), RAISED, RAISED) for status in (200, 400, 499, 501, 505)],
    *[(ApiError("x", status=status), RAISED, RAISED) for status in (0, 301, 402, 410, 417, 425)],
    (BadRequestError("x", status=400), RAISED, RAISED),
    (BadRequestError("x", status=500, code="ERR_BAD_REQUEST"), RAISED, RAISED),
    (NotFoundError("x", status=404), RAISED, RAISED),
    (NotFoundError("x", status=503, code="ERR_UID_NOT_FOUND"), RAISED, RAISED),
    (ConflictError("x", status=409), RAISED, RAISED),
    (ConflictError("x", status=408, code="ERR_SAME_SCOPE"), RAISED, RAISED),
    (RequestInvalidError("x"), RAISED, RAISED),
    (DeadlineExceededError("x"), RAISED, RAISED),
    (CursorError("x"), RAISED, RAISED),
]  # fmt: skip


@loop_over(("error", "repeatable", "never"), TABLE)
def test_the_table(error: ChatRestError, repeatable: Consequence, never: Consequence) -> None:
    for replay, expected in (("safe", repeatable), ("idempotent", repeatable), ("never", never)):
        assert consequence(error, replay) is expected  # type: ignore[arg-type]
        assert (wait(RetryPolicy(), error, replay, 1, 1) is not None) == (expected is AGAIN)
        assert wait(RetryPolicy(attempts=1), error, replay, 1, 1) is None


def test_a_call_is_sent_at_most_as_often_as_the_policy_allows() -> None:
    policy = RetryPolicy(attempts=3, limited=2)
    for error in (ServerError("x", status=503), ConnectError("x")):
        failing = [wait(policy, error, failed=n) for n in (1, 2, 3, 4)]
        assert [seconds is None for seconds in failing] == [False, False, True, True]
    hits = [wait(policy, RateLimitError("x"), limited=n) for n in (1, 2, 3)]
    assert [seconds is None for seconds in hits] == [False, True, True]


def test_the_bound_of_a_wait_doubles_up_to_the_longest() -> None:
    policy = RetryPolicy(attempts=20, first_wait=0.5, longest_wait=5)
    waits = [wait(policy, TransportError("x"), failed=n, dice=lambda: 1.0) for n in range(1, 8)]
    assert waits == [0.5, 1, 2, 4, 5, 5, 5]
    assert wait(policy, TransportError("x"), failed=3, dice=lambda: 0.0) == 0


def limited(seconds: float | None) -> RateLimitError:
    error = RateLimitError("x", status=429)
    error.retry_after = seconds
    return error


def test_a_named_wait_is_respected_with_a_small_spread() -> None:
    policy = RetryPolicy(first_wait=0.5)
    assert wait(policy, limited(30), "never", limited=1, dice=lambda: 0.0) == 30
    assert wait(policy, limited(30), "safe", limited=1, dice=lambda: 1.0) == 30.5
    assert wait(RetryPolicy(first_wait=9), limited(30), "safe", limited=1, dice=lambda: 1.0) == 31
    assert wait(policy, limited(0), "safe", limited=1, dice=lambda: 0.0) == 0


def test_a_429_waits_for_the_later_of_service_and_pacer() -> None:
    policy, attempts = RetryPolicy(first_wait=0.5), Attempts(count=1, limited_count=1, error=limited(30))
    assert [policy.wait(attempts, lambda: 1.0, slot) for slot in (0.0, 29.0, 40.0)] == [30.5, 30.5, 40.5]
    unnamed = Attempts(count=1, limited_count=1, error=limited(None))
    assert [policy.wait(unnamed, lambda: 1.0, slot) for slot in (3.0, 40.0)] == [4.0, 40.0]
    failed = Attempts(count=1, error=ServerError("x", status=503))
    assert policy.wait(failed, lambda: 1.0, 40.0) == 0.5  # its slot is waited for when it is sent


def test_after_connection_failures_the_wait_is_that_of_the_last_errors_kind() -> None:
    """A patient call: three times without a connection, then a 503."""
    assert wait(RetryPolicy(), ConnectError("x"), connect_failures=3, patient=True, dice=lambda: 1.0) == 2.0
    busy = ServerError("x", status=503)
    assert wait(RetryPolicy(), busy, failed=1, connect_failures=3, patient=True, dice=lambda: 1.0) == 0.5


def test_a_wait_longer_than_a_service_may_dictate_is_not_waited_for() -> None:
    policy = RetryPolicy(longest_server_wait=60)
    assert wait(policy, limited(60), "safe", limited=1, dice=lambda: 0.0) == 60
    assert wait(policy, limited(60.1), "safe", limited=1, dice=lambda: 0.0) is None


def test_a_429_that_names_no_time_waits_longer_each_time_up_to_its_window() -> None:
    policy = RetryPolicy(first_wait=0.5, longest_wait=20, unnamed_limit_wait=60)
    waits = [
        wait(policy, limited(None), limited=n, patient=True, dice=lambda: 1.0) for n in (1, 2, 3, 4, 5, 9)
    ]
    assert waits == [4, 8, 16, 32, 60, 60]
    assert wait(policy, limited(None), limited=9, patient=True, dice=lambda: 0.0) == 30


@loop_over("named", [0.0, 0.001, 0.999])
@loop_over("patient", [False, True])
def test_a_named_time_of_nothing_is_believed_once(named: float, patient: bool) -> None:
    policy, empty, plain = RetryPolicy(limited=9), RateLimitError("x"), RateLimitError("x")
    empty.retry_after = named
    assert wait(policy, empty, limited=1, patient=patient, dice=lambda: 0.0) == named
    for limited in range(2, 9):
        as_unnamed = wait(policy, plain, limited=limited, patient=patient)
        assert wait(policy, empty, limited=limited, patient=patient) == as_unnamed
        assert as_unnamed is not None
        assert as_unnamed >= 1.0
    empty.retry_after = 1.0
    assert wait(policy, empty, limited=5, patient=patient, dice=lambda: 0.0) == 1.0


@given(st.lists(st.tuples(st.sampled_from(["call", "repeat", "repeat"]), st.floats(0, 3)), max_size=300))
def test_the_retry_budget_is_a_quarter_of_calls_plus_ten_per_second(events: list[tuple[str, float]]) -> None:
    budget, now, calls = RetryBudget(), 50.0, 0
    times: list[float] = []
    for what, passed in events:
        now += passed / 20
        if what == "call":
            budget.calls += 1
            calls += 1
        else:
            wait = budget.spend(now)
            assert wait >= 0
            times.append(now + wait)
    for number, time in enumerate(sorted(times), 1):
        assert number <= 101 + calls / 4 + 10 * (time - 50.0)
    if len(times) <= 100:
        assert all(budget.spend(now) == 0 for _ in range(100 - len(times)))


def test_the_saved_budget_is_bounded_and_further_repeats_are_delayed() -> None:
    budget = RetryBudget()
    for _ in range(10_000):
        budget.calls += 1
    waits = [budget.spend(1.0) for _ in range(105)]
    assert waits == pytest.approx([0.0] * 100 + [0.1, 0.2, 0.3, 0.4, 0.5])
    assert [budget.spend(10_000.0) for _ in range(101)] == pytest.approx([0.0] * 100 + [0.1])


def test_a_clock_that_goes_back_gives_and_takes_nothing() -> None:
    budget = RetryBudget()
    assert [budget.spend(now) for now in [500.0] * 60 + [0.0] * 41] == pytest.approx([0.0] * 100 + [0.1])


def test_attempts_are_counted_by_their_kind() -> None:
    attempts = Attempts(patient=True)
    for error in (TransportError("a"), RateLimitError("b"), ConnectError("c"), ServerError("d")):
        attempts = attempts.with_failure(error, has_replied=True)
    assert (attempts.count, attempts.failed, attempts.limited_count, attempts.connect_failures) == (
        4,
        2,
        1,
        1,
    )
    assert (str(attempts.error), attempts.pause) == ("d", None)


@pytest.mark.parametrize(("patient", "has_replied"), [(False, True), (True, False), (False, False)])
def test_no_connection_counts_as_a_failure_if_no_call_waits_for_the_region(
    patient: bool, has_replied: bool
) -> None:
    attempts = Attempts(patient=patient).with_failure(ConnectError("c"), has_replied=has_replied)
    assert (attempts.failed, attempts.connect_failures) == (1, 0)


def test_a_pause_is_recorded_with_the_attempt_before_it() -> None:
    first = Attempts().with_failure(TransportError("lost"), has_replied=True)
    second = first.with_pause(2.0).with_failure(ConnectError("refused"), has_replied=True).with_pause(0.5)
    assert (first.pause, first.log, second.pause) == (None, (), 0.5)
    assert second.log == (("lost", 2.0), ("refused", 0.5))


def test_the_log_names_like_attempts_once() -> None:
    entries = [("a", 1.0), ("a", 2.0), ("b", 0.0), ("c", None)]
    assert attempt_log(entries, "c") == (
        "attempts 1-2: a; waited 1.0, 2.0 s; attempt 3: b; waited 0.0 s; attempt 4: the same"
    )


def test_the_log_of_thousands_of_attempts_keeps_the_first() -> None:
    attempts = Attempts(patient=True)
    for _ in range(5000):
        attempts = attempts.with_failure(TransportError("a"), has_replied=True).with_pause(1.0)
    assert (attempts.count, len(attempts.log)) == (5000, MAX_LOGGED)
    text = attempt_log(attempts.log, more=attempts.count - MAX_LOGGED)
    assert text.startswith("attempts 1-20: a; waited 1.0, ")
    assert text.endswith("1.0 s; 4980 more attempts")


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
def test_every_wait_is_within_bounds(
    policy: RetryPolicy, error: ChatRestError, failed: int, hit: int, dice: float
) -> None:
    seconds = wait(policy, error, "safe", failed, hit, dice=lambda: dice)
    if seconds is None:
        return
    assert seconds >= 0
    if not isinstance(error, RateLimitError):
        assert failed < policy.attempts
        assert seconds <= policy.longest_wait
    elif error.retry_after is None:
        assert seconds <= policy.unnamed_limit_wait
    else:
        assert error.retry_after <= seconds <= policy.longest_server_wait + 1


@loop_over("name", ["attempts", "limited"])
@loop_over("value", [0, -1, 1001, 2.0, True, None, "3"])
def test_a_count_of_none_is_refused(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"retry\.{name} = .*expected a whole number"):
        RetryPolicy(**{name: value})


@loop_over("name", ["first_wait", "longest_wait", "longest_server_wait", "unnamed_limit_wait"])
@loop_over("value", [0, -1.0, float("inf"), float("nan"), True, None, "3"])
def test_a_wait_that_is_no_number_of_seconds_is_refused(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"retry\.{name} = "):
        RetryPolicy(**{name: value})
