"""Timestamps in the service's units and datetimes of the caller's: `to_datetime`, and back to seconds."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET

from chatrest import RequestInvalidError, times, to_datetime
from chatrest.times import parse_timestamp, read_time, timestamp_words
from tests.support.cases import loop_over


@loop_over(
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


@loop_over("stamp", [None, UNSET])
def test_none_and_unset_give_none(stamp: Any) -> None:
    assert to_datetime(stamp) is None


@loop_over("stamp", ["5", "2020-01-01", True, False, [], {}, datetime(2020, 1, 1, tzinfo=UTC)])
def test_a_time_that_is_no_number_is_refused(stamp: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"stamp = .*expected a number"):
        to_datetime(stamp)


BEYOND = {"far": 10**18, "before": -(10**18), "huge": 10**5000, "inf": float("inf"), "nan": float("nan")}


@loop_over("stamp", BEYOND.values())
def test_a_timestamp_beyond_the_calendar_is_an_error(stamp: Any) -> None:
    with pytest.raises(RequestInvalidError, match="expected the years 1 to 9999"):
        to_datetime(stamp)


@given(st.integers(-(10**15), 10**15) | st.floats(allow_nan=False))
def test_any_number_is_a_datetime_or_refused(stamp: float) -> None:
    try:
        moment = to_datetime(stamp)
    except RequestInvalidError:
        return
    assert moment is not None
    assert moment.utcoffset() == timedelta(0)


@loop_over(
    ("moment", "seconds"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(2023, 11, 14, 22, 13, 20, 999_999, tzinfo=UTC), 1_700_000_000),
        (datetime(2023, 11, 15, 0, 13, 20, tzinfo=timezone(timedelta(hours=2))), 1_700_000_000),
        (date(1970, 1, 2), 86_400),
    ],
)
def test_a_datetime_or_a_date_is_epoch_seconds(moment: date, seconds: int) -> None:
    assert parse_timestamp("since", moment) == seconds


BERLIN = timezone(timedelta(hours=1))
NOW = int(datetime(2026, 3, 1, 15, 30, 20, tzinfo=UTC).timestamp())
MIDNIGHT = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp())
DAY = 86_400


@loop_over(
    ("text", "stamp", "end"),
    [
        ("1970-01-02", 86_400, 172_799),
        ("2026-11-01", 1_793_491_200, 1_793_577_599),
        ("9999-12-31", 253_402_214_400, 253_402_300_799),
        ("2026-11-01T12:00Z", 1_793_534_400, 1_793_534_400),
        ("2026-11-01 12:00:30z", 1_793_534_430, 1_793_534_430),
        ("2026-11-01t12:00:00+02:00", 1_793_527_200, 1_793_527_200),
        ("2026-11-01T12:00:00-0230", 1_793_543_400, 1_793_543_400),
        ("2026-11-01T12:00:00.5Z", 1_793_534_400, 1_793_534_400),
        ("1793491200", 1_793_491_200, 1_793_491_200),
        ("1793491200123", 1_793_491_200_123, 1_793_491_200_123),
        ("100000000", 100_000_000, 100_000_000),
        ("@0", 0, 0),
        ("@20260101", 20_260_101, 20_260_101),
        ("today", MIDNIGHT, MIDNIGHT + DAY - 1),
        ("Yesterday", MIDNIGHT - DAY, MIDNIGHT - 1),
        ("7d", NOW - 7 * DAY, NOW - 7 * DAY),
        ("90s", NOW - 90, NOW - 90),
        (timedelta(hours=12), NOW - DAY // 2, NOW - DAY // 2),
        (timedelta(), NOW, NOW),
    ],
)
def test_a_text_is_a_moment_and_a_date_a_full_day(
    text: Any, stamp: int, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(times, "clock", lambda: NOW + 0.5)
    assert parse_timestamp("since", text) == stamp
    assert parse_timestamp("until", text, end=True) == end


def test_a_text_is_read_as_a_number_a_date_or_a_datetime() -> None:
    assert read_time("1767225600") == 1_767_225_600
    assert read_time("2026-01-31") == date(2026, 1, 31)
    assert read_time("2026-01-31T12:00Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    with pytest.raises(ValueError, match=r"^expected a datetime with a time zone"):
        read_time("soon")


def test_a_date_is_in_the_unit_of_its_field() -> None:
    assert parse_timestamp("from_date", "1970-01-02", per_second=1000) == 86_400_000
    assert parse_timestamp("to_date", date(1970, 1, 1), per_second=1000, end=True) == 86_399_999
    assert parse_timestamp("to_date", "1970-01-01T00:00:01.25Z", per_second=1000) == 1250
    assert parse_timestamp("to_date", 5, per_second=1000) == 5


def test_a_text_without_a_zone_is_in_the_one_that_is_assumed_or_refused() -> None:
    assert parse_timestamp("since", "1970-01-01T02:00", zone=BERLIN) == 3600
    with pytest.raises(RequestInvalidError, match=r"since = .*no time zone: .*such as '1970-01-01T02:00Z'"):
        parse_timestamp("since", "1970-01-01T02:00")


@loop_over(
    ("value", "words"),
    [
        ("20260101", "expected '2026-01-01' for the date, or '@20260101' for the timestamp"),
        (20260101, "it may be a date or the timestamp of 1970-08-23"),
        ("2026", "'2026-01-01' for the date"),
        ("202602", "'2026-02-01' for the date"),
        ("202601311200", "'2026-01-31' for the date"),
        ("20260131120000", "'2026-01-31' for the date"),
        (20260131120000, "'2026-01-31' for the date"),
        ("1000000", "at least 100000000; write @1000000 if 1970-01-12 13:46:40 UTC is meant"),
        ("01/02/2026", "day and month are not distinct: expected year-month-day"),
        ("1.2.2026", "day and month are not distinct"),
        ("12026-01-01", "expected years of four digits"),
        ("+12026-01-01T00:00Z", "expected years of four digits"),
        ("9" * 19, "before the year 10000"),
        ("@999999999999999999", "before the year 10000"),
        ("20260101T120000Z", "expected a datetime with a time zone, a date"),
        ("2026-W01-1", "expected a datetime"),
        ("2026-02-30", "expected a datetime"),
        ("2026-01-31T24:00Z", "expected a datetime"),
        ("2026-01-31T12:00+99:00", "expected a datetime"),
        ("2026-01-31 12", "expected a datetime"),
        ("1969-12-31", "expected a datetime"),
        ("-1", "expected a datetime"),
        ("", "expected a datetime"),
        ("٢٠٢٦-٠١-٠١", "expected a datetime"),
        (-1, "0 or later"),
        (1.5, "expected a datetime"),
        (True, "expected a datetime"),
        (None, "expected a datetime"),
        (datetime(1969, 12, 31, tzinfo=UTC), "expected a datetime"),
        (datetime(2026, 1, 1), r"expected a datetime with a time zone \(tzinfo=UTC\)"),
        *((text, "expected a datetime") for text in ("tomorrow", "0d", "7 d", "-7d", "7y", "999999999w")),
        (timedelta(seconds=-1), "it is in the future"),
        (timedelta.max, "expected a datetime"),
    ],
)
def test_a_wrong_or_ambiguous_time_is_refused_with_a_hint(value: Any, words: str) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^since = .*{words}"):
        parse_timestamp("since", value)


@given(st.datetimes(datetime(1970, 1, 1)), st.sampled_from(["seconds", "minutes", "milliseconds"]))
def test_any_moment_can_be_written_as_text(moment: datetime, detail: str) -> None:
    aware = moment.replace(tzinfo=UTC)
    text = aware.isoformat(timespec=detail)
    assert parse_timestamp("since", text) == parse_timestamp("since", datetime.fromisoformat(text))


@given(st.text(max_size=20) | st.from_regex(r"[0-9@:TZ+-]{0,24}", fullmatch=True))
def test_any_text_is_a_timestamp_or_refused(text: str) -> None:
    refusal = ""
    try:
        stamp = parse_timestamp("since", text)
    except RequestInvalidError as error:
        refusal = str(error)
    assert refusal.startswith(f"since = {text!r}: ") if refusal else 0 <= stamp < 253_402_300_800_000


@loop_over(
    ("timestamp", "words"),
    [
        (0, "0"),
        (5, "5"),
        (1_577_836_800, "2020-01-01"),
        (1_577_836_799, "2019-12-31"),
        (1_577_836_801, "2020-01-01T00:00:01Z"),
        (1_577_836_800_000, "2020-01-01"),
        (1_577_836_800_250, "2020-01-01T00:00:00.250000Z"),
        (2**70, str(2**70)),
    ],
)
def test_a_timestamp_made_from_a_date_is_shown_as_a_date(timestamp: int, words: str) -> None:
    assert timestamp_words(timestamp) == words
