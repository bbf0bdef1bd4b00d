"""Plans: values that are checked when they are made, and stored in the journal unchanged."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from chatrest.errors import RequestInvalidError
from chatrest.export import Plan
from chatrest.export.plan.export_plan import COMPRESS, FORMATS, PARTITIONS, difference
from chatrest.export.plan.file_names import local_path
from chatrest.export.plan.ownership import Source, pair_of
from tests.support.cases import loop_over

uids = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=6).filter(
    lambda uid: uid == uid.strip() and uid not in (".", "..")
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    members: dict[str, Any] = {"everything": True}
    if draw(st.booleans()):
        members = {
            "users": draw(st.lists(uids, max_size=3)),
            "groups": draw(st.lists(uids, max_size=3)),
            "pairs": draw(st.lists(st.lists(uids, min_size=2, max_size=2, unique=True), max_size=3)),
            "all_users": draw(st.booleans()),
        }
    since = draw(st.none() | st.integers(0, 9) | st.integers(0, 2**70))
    format_name = draw(st.sampled_from(FORMATS))
    members["compress"] = draw(st.sampled_from([None, *COMPRESS]))
    members["partition"] = draw(st.sampled_from([None, *PARTITIONS]))
    until = None if since is None else draw(st.none() | st.integers(since, since + 9))
    return Plan(**members, since=since, until=until, format=format_name)  # type: ignore[arg-type]


@given(plans())
def test_a_plan_round_trips_through_json(plan: Plan) -> None:
    back = Plan.parse(plan.encoded())
    assert back == plan
    assert back.sources == plan.sources
    assert Plan.parse(plan.encoded().decode()).encoded() == plan.encoded()


def test_a_plan_has_each_source_once() -> None:
    plan = Plan(users=["a", "b"], groups=["g"], pairs=[("b", "a")], all_users=True)
    assert len(plan.sources) == 4
    assert set(plan.sources) == {
        Source("group", ("g",)), pair_of("a", "b"), Source("user", ("a",)), Source("user", ("b",))
    }  # fmt: skip
    assert Plan(everything=True).sources == (Source("everything"),)


@loop_over("name", ["users", "groups", "pairs"])
def test_an_empty_list_of_names_exports_no_user(name: str) -> None:
    plan = Plan(**{name: []})
    assert not plan.all_users
    assert plan.sources == ()
    assert plan != Plan()
    assert not Plan.parse(plan.encoded()).all_users
    assert Plan(**{name: []}, all_users=True).all_users


@loop_over("name", ["users", "pairs", "groups"])
@loop_over("value", ["a", b"a", None, 5, {"a": 1}])
def test_a_list_of_names_is_a_list(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError) as caught:
        Plan(**{name: value})
    assert str(caught.value) == f"{name} = {value!r}: expected a list"


@loop_over("name", ["users", "groups"])
@loop_over("value", ["", ".", "..", "a\nb", "a\0", "\ud800", 5, None, b"a", {}, ["a"], ("a", [])])
def test_a_name_is_one_that_can_be_asked_for(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = "):
        Plan(**{name: ["good", value]})


@loop_over(
    "value",
    ["ab", ("a",), ("a", "b", "c"), ("a", "a"), (), 5, None, ("a", 5), ("a", ""), ("a", ".."), (" a", "b"),
     ("a", "b "), ("a", "x\n"), ("a", "\ud800"), ("a", ["b"]), (["a"], "b"), {"a": "b"}, [["a"], "b"]],
)  # fmt: skip
def test_a_pair_is_two_different_uids_that_can_stand_in_a_header(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^pairs = .*expected|^pairs = .*surrogate"):
        Plan(pairs=[value])


@loop_over(
    ("members", "words"),
    [
        ({"all_users": 1}, "all_users = 1: expected True or False"),
        ({"everything": None}, "everything = None: expected True or False"),
        ({"since": -1}, "since = -1: expected a datetime with a time zone, a date, "),
        ({"since": datetime(2020, 1, 1)}, "since = datetime.*expected a datetime with a time zone"),
        ({"until": date(1969, 12, 30)}, r"until = datetime.date\(1969.*: expected a datetime"),
        ({"since": True}, "since = True: expected"),
        ({"until": 1.5}, "until = 1.5: expected"),
        ({"until": "2020"}, "until = '2020': it may be a date or the timestamp of 1970-01-01"),
        ({"since": "2020-01-01T12:00"}, "since = .*: it has no time zone: expected .*'2020-01-01T12:00Z'"),
        ({"since": 5, "until": 4}, r"until = 4: .*expected 5 or later"),
        ({"format": "csv"}, "format = 'csv': expected ndjson or parquet"),
        ({"format": None}, "format = None: expected ndjson"),
        ({"format": ["ndjson"]}, "format = .*expected ndjson"),
        ({"compress": "xz"}, "compress = 'xz': expected none, gzip, zstd or None"),
        ({"partition": "week"}, "partition = 'week': expected none, source, month, day or None"),
    ],
)
def test_the_error_of_a_wrong_field_has_name_value_and_expected_ones(
    members: dict[str, Any], words: str
) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{words}"):
        Plan(**members)


@loop_over("more", [{"users": ["a"]}, {"groups": ["g"]}, {"pairs": [("a", "b")]}, {"all_users": True}])
def test_everything_cannot_be_combined_with_other_sources(more: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalidError, match=r"^everything: expected no other sources"):
        Plan(everything=True, **more)


@loop_over(
    ("moment", "since", "until"),
    [
        (date(2020, 1, 1), 1_577_836_800, 1_577_923_199),
        (datetime(2020, 1, 1, tzinfo=UTC), 1_577_836_800, 1_577_836_800),
        (datetime(2020, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 1_577_836_800, 1_577_836_800),
        (1_577_836_800_000, 1_577_836_800_000, 1_577_836_800_000),
        ("2020-01-01", 1_577_836_800, 1_577_923_199),
        ("2020-01-01T01:00+01:00", 1_577_836_800, 1_577_836_800),
        ("1577836800", 1_577_836_800, 1_577_836_800),
        ("9999-12-31", 253_402_214_400, 253_402_300_799),
    ],
)
def test_a_time_becomes_a_timestamp_and_until_includes_a_full_day(
    moment: int | date | str, since: int, until: int
) -> None:
    plan = Plan(since=moment, until=moment)
    assert plan.window == (since, until)
    assert plan == Plan(since=since, until=until)
    assert Plan.parse(plan.encoded()) == plan


@loop_over(
    "text",
    [
        "",
        "{",
        "[]",
        '{"users":5}',
        '{"colour":"red"}',
        '{"format":"csv"}',
        '{"users":[".."]}',
        '{"since":-1}',
    ],
)
def test_a_plan_that_was_damaged_is_refused_in_words(text: str) -> None:
    with pytest.raises(RequestInvalidError):
        Plan.parse(text)


@loop_over("out", ["s3://bucket/chat", "gs://b", Path("s3://bucket/chat")])
def test_the_address_of_an_object_store_is_not_a_folder(out: str | Path) -> None:
    with pytest.raises(RequestInvalidError, match=r"^out = .*: \w+:// is not a local folder; .* expected"):
        local_path(out)


@loop_over("out", ["", None, 5, b"out", "a\0b"])
def test_a_value_that_is_not_a_path_is_refused(out: object) -> None:
    with pytest.raises(RequestInvalidError, match=r"^out = .*: expected the path of a folder"):
        local_path(out)


@loop_over("out", ["out", "./s3:/out", "C:/out", "/a/b:c", "a-b"])
def test_a_local_path_is_unchanged(out: str) -> None:
    assert local_path(out) == Path(out)


def test_the_words_of_a_plan_include_its_window() -> None:
    plan = Plan(all_users=True, groups=["den"], since="2026-01-01", until="2026-02-01T10:00:00Z")
    assert plan.full_words == "all users; group den, since=2026-01-01, until=2026-02-01T10:00:00Z"
    assert Plan(users=["ann"]).full_words == "user ann"


def test_a_continued_plan_keeps_order_and_fields_that_are_not_given() -> None:
    first = Plan(users=["ann", "bob"], groups=["den", "oak"], since=5, format="parquet", partition="day")
    again = first.continued(Plan(groups=["oak", "den"], users=["bob", "ann", "bob"]))
    assert (again, again.users) == (first, ("ann", "bob"))
    changed = first.continued(Plan(users=["eve"], until=9, format="ndjson"))
    assert changed == Plan(users=["eve"], since=5, until=9)


@loop_over("age", ["7d", "yesterday", timedelta(days=7)])
def test_the_same_age_is_the_moment_that_the_first_run_has_read(age: Any) -> None:
    again = Plan(since=age)
    stored = Plan.parse(structs.replace(again, since=1_000_000_000).encoded())
    assert stored.continued(again) == stored
    assert stored.continued(again, is_literal=True) == again
    assert again.part_of(stored) == again  # --only reads from the moment that it is given
    for other in (Plan(since="8d"), Plan(since=timedelta(days=9)), Plan(since="2020-01-01")):
        assert stored.continued(other) == other  # another age is another window
        assert other.continued(again).since == again.since
    assert difference(stored, Plan(since=1_000_000_000)) == ("", "")
