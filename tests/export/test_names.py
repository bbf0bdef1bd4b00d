"""Names of files for any text, and months."""

import time
from datetime import UTC, datetime
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings, strategies as st

from chatrest.core.rows import UNKNOWN, Row
from chatrest.export.file_names import MILLISECONDS, UNDATED, by_month, file_name, month, seconds, source_name
from chatrest.export.ownership import Source, pair_of

some = settings(max_examples=200, deadline=None, database=None)
texts = st.text(st.characters(codec=None, categories=None), max_size=60)
"""Of any characters at all: surrogates, slashes, control characters."""
moments = st.integers(0, 2 * 10**9)
stamps = st.one_of(
    st.just(UNKNOWN), moments, moments.map(lambda each: each * 1000), st.integers(-(2**63), 2**63 - 1)
)


@some
@given(texts)
@example("")
@example(".")
@example("..")
@example("é" * 500)
@example("\0")
def test_a_name_is_never_a_path_never_hidden_and_never_too_long(text: str) -> None:
    name = file_name(text)
    assert name
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>|\0 \n')
    assert not name.startswith(".")
    assert len(name) < 200


@some
@given(texts, texts)
@example("", ".")
@example(".a", "%2Ea")
@example("a" * 500, "a" * 499 + "b")
@example("a" * 150, "a" * 151)
def test_two_texts_never_share_a_name(one: str, other: str) -> None:
    assert (file_name(one) == file_name(other)) == (one == other)


@given(st.text(min_size=1, max_size=12))
@some
def test_a_short_name_reads_back_as_its_text(text: str) -> None:
    assert unquote(file_name(text)) == text


def test_sources_have_names_that_a_person_can_read() -> None:
    assert source_name(Source("everything")) == "messages"
    assert source_name(Source("user", ("alice",))) == "user-alice"
    assert source_name(Source("group", ("a/b",))) == "group-a%2Fb"
    assert source_name(pair_of("bob", "alice")) == "pair-alice-bob"


# ── months ──


@pytest.mark.parametrize(
    ("stamp", "name"),
    [(0, "1970-01"), (1601510399, "2020-09"), (1601510400, "2020-10"), (1601510399_999, "2020-09"),
     (1601510400_000, "2020-10"), (1582934400, "2020-02"), (1583020799, "2020-02"), (1583020800, "2020-03"),
     (-2, "1969-12"), (MILLISECONDS - 1, "5138-11"), (MILLISECONDS, "1973-03"),
     (UNKNOWN, UNDATED), (-(2**63), UNDATED)],
)  # fmt: skip
def test_a_message_belongs_to_a_month_of_utc_in_seconds_or_milliseconds(stamp: int, name: str) -> None:
    assert month(stamp) == name


@some
@given(st.integers(0, MILLISECONDS - 1))
def test_seconds_and_milliseconds_of_one_moment_are_one_month(moment: int) -> None:
    found = datetime.fromtimestamp(moment, UTC)
    assert month(moment) == f"{found:%Y-%m}"
    assert seconds(moment) == moment
    if moment * 1000 >= MILLISECONDS:
        assert month(moment * 1000 + 999) == month(moment)
        assert seconds(moment * 1000 + 999) == moment


def test_months_do_not_depend_on_where_the_export_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        assert month(1601510399) == "2020-09"
    finally:
        monkeypatch.undo()
        time.tzset()


@some
@given(st.lists(stamps, max_size=6))
@example([-(2**63), -5, UNKNOWN])
@example([1600000000, 5000000000, 1600000000000])
def test_every_row_goes_to_its_month_in_the_order_of_the_rows(sent: list[int]) -> None:
    rows = [Row(str(i), sent_at=each) for i, each in enumerate(sent)]
    found = by_month(rows)
    assert {name: [row for row in rows if month(row.sent_at) == name] for name in found} == found
    assert sum(map(len, found.values())) == len(rows)
