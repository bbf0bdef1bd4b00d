"""Days and times are those of one zone, whose clock may change at any minute."""

from datetime import datetime

import pytest

from chatrest.site.zone import Zone


def test_a_zone_may_change_at_any_minute() -> None:
    zone = Zone("America/St_Johns")  # it changed at 00:01 until 2011
    moments = ["2010-03-14T03:30:59", "2010-03-14T03:31:00", "2010-11-07T02:30:59", "2010-11-07T02:31:00"]
    times = [round(datetime.fromisoformat(f"{each}+00:00").timestamp() * 1000) for each in moments]
    assert list(map(zone.iso, times)) == [
        "2010-03-14T00:00:59-03:30", "2010-03-14T01:01:00-02:30",
        "2010-11-07T00:00:59-02:30", "2010-11-06T23:01:00-03:30",
    ]  # fmt: skip
    assert [zone.day_number(time) for time in (*times, 0)] == [14_682, 14_682, 14_920, 14_919, -1]


@pytest.mark.parametrize("name", ["UTC", "Asia/Tokyo", "America/Havana"])
def test_a_window_may_end_with_the_last_day_of_all(name: str) -> None:
    zone = Zone(name)
    end = zone.milliseconds_of("until", "9999-12-31", end=True)
    assert end > zone.milliseconds_of("until", "9998-12-31", end=True)
    assert zone.window_text(None, end).startswith("until 9999-12-31")


@pytest.mark.parametrize(("name", "day"), [("America/Havana", "2025-11-02"), ("Asia/Beirut", "2024-10-26")])
def test_a_day_has_both_hours_where_the_clock_goes_back_at_midnight(name: str, day: str) -> None:
    begin, end = (Zone(name).milliseconds_of("since", day, end=end) for end in (False, True))
    assert end - begin == 25 * 3_600_000 - 1
