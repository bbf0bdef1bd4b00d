"""The window of the usage figures."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from chatrest._core.requests.encode import query_pairs
from chatrest._parameters.apps import UsageQuery
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over


@loop_over(
    ("given", "sent"),
    [
        (5, "5"),
        (datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC), "1500"),
        ("1600000000000", "1600000000000"),
    ],
)
def test_moments_are_sent_in_milliseconds(given: Any, sent: str) -> None:
    query = UsageQuery(from_date=given, to_date=given)
    assert dict(query_pairs(query, "comma")) == {"fromDate": sent, "toDate": sent}


def test_a_day_is_sent_from_its_first_to_its_last_millisecond() -> None:
    query = UsageQuery(from_date=date(1970, 1, 2), to_date="1970-01-02")
    assert dict(query_pairs(query, "comma")) == {"fromDate": "86400000", "toDate": "172799999"}


@loop_over("value", [None, -1, "5", datetime(2020, 1, 1)])
def test_a_wrong_moment_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^from_date = .*: expected "):
        UsageQuery(from_date=value, to_date=5)


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(RequestInvalidError, match=r"to_date = 4: .* from_date \(5\) or later"):
        UsageQuery(from_date=5, to_date=4)
