"""The rate limit as a reply shows it, and the wait that it names."""

import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest
from hypothesis import given, strategies as st

from chatrest._core.replies.rate_signal import Signal, retry_after, signal
from chatrest.errors import RateLimitError
from tests.support.cases import loop_over

NOW = 1_700_000_000.0


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@loop_over("name", ["Retry-After", "retry-after", "RETRY-AFTER"])
@loop_over(("value", "seconds"), [("0", 0), ("30", 30), (" 7 ", 7), ("1.5", 1.5), ("007", 7)])
def test_seconds_are_taken_as_they_are(name: str, value: str, seconds: float) -> None:
    assert retry_after({name: value}, NOW) == seconds


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("ahead", [90, 0, -90])
def test_a_date_is_counted_from_now_in_any_time_zone(ahead: int) -> None:
    assert retry_after({"Retry-After": formatdate(NOW + ahead, usegmt=True)}, NOW) == max(0, ahead)


@pytest.mark.usefixtures("zone")
def test_a_date_without_a_zone_is_utc() -> None:
    """RFC 9110, 5.6.7: a recipient must take the old asctime form, and it is in UTC."""
    assert retry_after({"Retry-After": time.asctime(time.gmtime(NOW + 90))}, NOW) == 90


@loop_over(
    ("headers", "seconds"),
    [
        *(({name: str(int(NOW) + 40)}, 40)
          for name in ("X-RateLimit-Reset", "X-Rate-Limit-Reset", "x-ratelimit-reset", "RateLimit-Reset")),
        ({"X-RateLimit-Reset": str(int(NOW) - 40)}, 0),
        ({"X-RateLimit-Reset": str(int(NOW) + 40), "Retry-After": "3"}, 3),
        ({"X-RateLimit-Reset": str(int(NOW) + 40), "Retry-After": "nonsense"}, 40),
        ({"X-RateLimit-Reset": "30"}, 30), ({"X-RateLimit-Reset": "1700000030000"}, 30),
    ],
)  # fmt: skip
def test_a_reset_is_an_epoch_or_a_number_of_seconds(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(headers, NOW) == seconds


NONSENSE = [
    "", "-5", "soon", "1e9", "nan", "inf", "0x10", "5s", "1,5", "9" * 400, "Thu, 99 Foo 2020", "٣", "\x00",
    "1 2", "Thu, 01 Jan 99999 00:00:00 GMT", "Thu, 01 Jan 9999 23:59:59 -2359",
]  # fmt: skip


@loop_over("value", NONSENSE)
def test_nonsense_is_no_time(value: str) -> None:
    assert retry_after({"Retry-After": value}, NOW) is None or "9999" in value
    assert retry_after({"X-RateLimit-Reset": value}, NOW) is None
    assert retry_after({}, NOW) is None


@given(st.text(max_size=40) | st.text("0123456789:, -+JanMonTueGMT", max_size=40))
def test_any_header_is_a_wait_of_no_less_than_nothing_or_none(value: str) -> None:
    for name in ("Retry-After", "X-RateLimit-Reset"):
        wait = retry_after({name: value}, NOW)
        assert wait is None or 0 <= wait < float("inf")


@pytest.mark.parametrize(
    "names", [("X-Rate-Limit", "X-Rate-Limit-Remaining"), ("X-RateLimit-Limit", "X-RateLimit-Remaining")]
)
def test_limit_and_remaining_are_read_in_both_spellings(names: tuple[str, str]) -> None:
    heard = signal({names[0]: "500", names[1]: "499"})
    assert (heard.is_limited, heard.limit, heard.remaining, heard.retry_after) == (False, 500, 499, None)
    limited = RateLimitError(status=429, retry_after=5)
    assert signal({names[1]: "0"}, limited) == Signal(True, None, 0, 5)


@loop_over("value", NONSENSE)
def test_a_limit_that_is_nonsense_is_not_heard(value: str) -> None:
    heard = signal({"X-Rate-Limit": value, "X-Rate-Limit-Remaining": value})
    assert (heard.limit, heard.remaining) == (None, None)
