"""Texts of numbers."""

from chatrest._texts import about, duration, size
from tests.support.cases import loop_over


@loop_over(
    ("seconds", "text"),
    [
        (4.24, "4.2 s"),
        (59.9, "59.9 s"),
        (60, "1:00"),
        (192, "3:12"),
        (3723, "1:02:03"),
        (180_000, "2 d 02:00:00"),
    ],
)
def test_a_measured_time(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@loop_over(
    ("seconds", "text"),
    [
        (3, "a few seconds"),
        (42, "about 40 s"),
        (89, "about 90 s"),
        (250, "about 4 min"),
        (12_100, "about 3 h 20 min"),
        (7_190, "about 2 h"),
        (90_000, "about 1 d 1 h"),
        (172_800, "about 2 d"),
    ],
)
def test_an_estimated_time(seconds: float, text: str) -> None:
    assert about(seconds) == text


def test_a_number_of_bytes() -> None:
    sizes = {1: "1 byte", 620: "620 bytes", 4_200: "4.2 kB", 12_300_000: "12.3 MB", 1_250_000_000: "1.25 GB"}
    assert {count: size(count) for count in sizes} == sizes
