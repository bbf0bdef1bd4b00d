"""Texts: one form for the search, and nothing that acts on its surroundings."""

from datetime import datetime

import pytest

from chatrest.site.text import TextPart, folded, segments, terms, visible
from chatrest.site.zone import Zone


def test_terms_are_words_and_pairs_of_letters_without_spaces() -> None:
    result = terms(folded("Hi 12:30, नमस्ते x_y 今天开 👍"))
    assert result == {"hi", "12", "30", "नमस्ते", "x_y", "今天", "天开", "开", "👍"}
    assert terms("x" * 40 + "y" * 50) == {"x" * 40 + "y" * 40, "y" * 50}


def test_controls_are_shown_as_numbers() -> None:
    assert visible("a\x00b\u202ec\ud800d\r\n\te") == "a⟨U+0000⟩b⟨U+202E⟩c\N{REPLACEMENT CHARACTER}d\n\te"
    assert visible("plain é") == "plain é"


def test_only_addresses_of_the_web_become_links() -> None:
    text = "see https://a.example/(x)?b=1. and javascript:alert(1), <@uid:ann> HTTP://B.example/ https://"
    parts = segments(text, lambda uid: TextPart(f"@{uid}", "u", is_mention=True))
    assert "".join(part.text for part in parts) == text.replace("<@uid:ann>", "@ann")
    links = [part.href for part in parts if part.href]
    assert links == ["https://a.example/(x)?b=1", "u", "HTTP://B.example/"]


def test_a_zone_may_change_at_any_minute() -> None:
    """That of St. John's did it at 00:01 until 2011."""
    zone = Zone("America/St_Johns")
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
