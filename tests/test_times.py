"""Timestamps in the service's units and datetimes of the caller's: `to_datetime`, and back to seconds."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET

from chatrest import RequestInvalidError, to_datetime
from chatrest.times import to_seconds

# ── from the service ──


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1_700_000_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (1_700_000_000_123, datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)),
        (1.5, datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (-(10**11), datetime(1966, 10, 31, 14, 13, 20, tzinfo=UTC)),
        (10**11, datetime(1973, 3, 3, 9, 46, 40, tzinfo=UTC)),
        (10**11 - 1, datetime(5138, 11, 16, 9, 46, 39, tzinfo=UTC)),
    ],
)
def test_a_stamp_is_an_aware_datetime_in_utc(stamp: float, moment: datetime) -> None:
    assert to_datetime(stamp) == moment
    assert to_datetime(stamp).tzinfo is UTC  # type: ignore[union-attr]


@pytest.mark.parametrize("stamp", [None, UNSET])
def test_none_and_unset_give_none(stamp: Any) -> None:
    assert to_datetime(stamp) is None


@pytest.mark.parametrize("stamp", ["5", "2020-01-01", True, False, [], {}, datetime(2020, 1, 1, tzinfo=UTC)])
def test_what_is_no_number_is_refused(stamp: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"stamp = .*allowed is a number"):
        to_datetime(stamp)


BEYOND = {"far": 10**18, "before": -(10**18), "huge": 10**5000, "inf": float("inf"), "nan": float("nan")}


@pytest.mark.parametrize("stamp", BEYOND.values(), ids=BEYOND)
def test_a_timestamp_beyond_the_calendar_is_an_error(stamp: Any) -> None:
    with pytest.raises(RequestInvalidError, match="allowed are the years 1 to 9999"):
        to_datetime(stamp)


@given(st.integers(-(10**15), 10**15) | st.floats(allow_nan=False))
def test_any_number_is_a_datetime_or_refused(stamp: float) -> None:
    try:
        moment = to_datetime(stamp)
    except RequestInvalidError:
        return
    assert moment is not None
    assert moment.utcoffset() == timedelta(0)


# ── to the service ──


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(2023, 11, 14, 22, 13, 20, 999_999, tzinfo=UTC), 1_700_000_000),
        (datetime(2023, 11, 15, 0, 13, 20, tzinfo=timezone(timedelta(hours=2))), 1_700_000_000),
        (date(1970, 1, 2), 86_400),
        (datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC), -1),
    ],
)
def test_a_datetime_or_a_date_is_epoch_seconds(moment: date, seconds: int) -> None:
    assert to_seconds("since", moment) == seconds


def test_a_datetime_without_a_time_zone_is_refused_by_its_name() -> None:
    with pytest.raises(RequestInvalidError, match=r"^since = .*a datetime with a time zone"):
        to_seconds("since", datetime(2020, 1, 1))


@given(st.integers(0, 10**11 - 1))
def test_seconds_come_back_as_they_were(seconds: int) -> None:
    moment = to_datetime(seconds)
    assert moment is not None
    assert to_seconds("since", moment) == seconds
