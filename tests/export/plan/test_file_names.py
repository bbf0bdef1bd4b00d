"""Names of files for any text, days and months, and names that lead outside."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from chatrest._core.replies.rows import UNKNOWN, Row
from chatrest.errors import ChatRestError
from chatrest.export.plan.file_names import (
    MILLISECONDS,
    UNDATED,
    day,
    file_name,
    partition_rows,
    path_inside,
    source_name,
)
from chatrest.export.plan.ownership import Source, pair_of
from tests.support.cases import loop_over

texts = st.text(st.characters(codec=None, categories=None), max_size=60)
"""Of any characters at all: surrogates, slashes, control characters."""
moments = st.integers(0, 2 * 10**9)
stamps = st.one_of(
    st.just(UNKNOWN), moments, moments.map(lambda each: each * 1000), st.integers(-(2**63), 2**63 - 1)
)


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


@given(texts, texts)
@example("", ".")
@example(".a", "%2Ea")
@example("a" * 500, "a" * 499 + "b")
@example("a" * 150, "a" * 151)
def test_two_texts_never_share_a_name(text: str, other_text: str) -> None:
    assert (file_name(text) == file_name(other_text)) == (text == other_text)


def test_sources_have_names_that_a_person_can_read() -> None:
    assert source_name(Source("everything")) == "everything"
    assert source_name(Source("user", ("alice",))) == "user-alice"
    assert source_name(Source("group", ("a/b",))) == "group-a%2Fb"
    assert source_name(pair_of("bob", "alice")) == "pair-alice-bob"


@loop_over(
    "name",
    [
        "messages/source=user-..%2Fa/messages.ndjson",
        "history.jsonl.zst",
        "spool/3.new",
        "a..b/c",
        "messages.sqlite-wal",
    ],
)
def test_a_name_of_an_export_is_inside(name: str, tmp_path: Path) -> None:
    assert path_inside(tmp_path, name) == tmp_path / name


@loop_over(
    "name",
    [
        "",
        ".",
        "..",
        "/x",
        "a//b",
        "a/",
        "a/../b",
        "./a",
        "a\\b",
        "c:x",
        "a\0",
        "a\n",
        "é",
        "a b",
        "messages/..",
    ],
)
def test_any_other_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ChatRestError, match="is not the name of a file of an export"):
        path_inside(tmp_path, name)


@pytest.mark.parametrize("name", ["link/x", "folder/link", "link"])
def test_a_name_by_way_of_a_link_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for link in (tmp_path / "link", tmp_path / "folder" / "link"):
        link.symlink_to(tmp_path)
    with pytest.raises(ChatRestError, match="symbolic link"):
        path_inside(tmp_path, name)


@loop_over(
    ("stamp", "name"),
    [(0, "1970-01-01"), (1601510399, "2020-09-30"), (1601510400, "2020-10-01"),
     (1601510399_999, "2020-09-30"), (1601510400_000, "2020-10-01"), (1582934400, "2020-02-29"),
     (-2, "1969-12-31"),
     (MILLISECONDS - 1, "5138-11-16"), (MILLISECONDS, "1973-03-03"), (253402300800000, UNDATED),
     (UNKNOWN, UNDATED), (-(2**63), UNDATED), (2**63 - 1, UNDATED)],
)  # fmt: skip
def test_a_message_belongs_to_a_day_of_utc_in_seconds_or_milliseconds(stamp: int, name: str) -> None:
    assert day(stamp) == name


@given(st.lists(stamps, max_size=6), st.sampled_from(["day", "month"]))
@example([-(2**63), -5, UNKNOWN], "month")
@example([1600000000, 5000000000, 1600000000000], "day")
def test_every_row_goes_to_its_partition_in_the_order_of_the_rows(sent: list[int], partition: Any) -> None:
    rows = [Row(str(i), sent_at=time) for i, time in enumerate(sent)]
    length = {"day": 10, "month": 7}[partition]
    parts = partition_rows(partition, Source("user", ("alice",)), rows)
    expected: dict[str, list[Row]] = {}
    for row in rows:
        key = day(row.sent_at)
        expected.setdefault(key if key == UNDATED else key[:length], []).append(row)
    assert parts == expected


def test_partitions_that_are_no_times() -> None:
    rows, alice = [Row("1")], Source("user", ("alice",))
    assert partition_rows("none", alice, rows) == {"": rows}
    assert partition_rows("source", alice, rows) == {alice.key: rows}
    assert partition_rows("none", alice, []) == partition_rows("source", alice, []) == {}
