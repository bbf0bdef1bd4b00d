"""The settings of a plan in words: what a user reads where two plans differ."""

from datetime import date
from typing import Any

import pytest

from chatrest import MessageQuery
from chatrest.export import Plan
from chatrest.export.plan import difference
from chatrest.times import timestamp_words


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({}, {}, ("", "")),
        ({"since": date(2020, 1, 1)}, {}, ("since=2020-01-01", "no since")),
        ({"until": date(2020, 1, 1)}, {"until": 7}, ("until=2020-01-01", "until=7")),
        ({"users": ["a"]}, {"users": ["a", "b"]}, ("users=a", "users=a, b")),
        ({"users": ["a"]}, {"groups": ["g"]}, ("no groups and users=a", "groups=g and no users")),
        ({"pairs": [("b", "a")]}, {"pairs": [("b", "c"), ("a", "b")]}, ("pairs=a+b", "pairs=b+c, a+b")),
        ({"format": "parquet"}, {}, ("format=parquet", "format=ndjson")),
        ({"compress": "gzip"}, {"compress": "zstd"}, ("compress=gzip", "compress=zstd")),
        ({"compress": "gzip"}, {"compress": "none"}, ("compress=gzip", "compress=none")),
        ({"query": MessageQuery(type="text")}, {}, ("query.type='text'", "no query.type")),
    ],
)  # fmt: skip
def test_both_sides_are_named_as_they_would_be_typed(
    one: dict[str, Any], other: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert difference(Plan(**one), Plan(**other)) == expected
    assert difference(Plan(**other), Plan(**one)) == expected[::-1]


def test_long_lists_are_shortened_and_differ_all_the_same() -> None:
    names = [f"user-{number}" for number in range(9)]
    mine, others = difference(Plan(users=names), Plan(users=[*names[:8], "else"]))
    assert mine == others == "users=user-0, user-1, user-2, user-3, user-4 and 4 more"


@pytest.mark.parametrize(
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
def test_a_timestamp_is_a_date_where_it_was_one(timestamp: int, words: str) -> None:
    assert timestamp_words(timestamp) == words
