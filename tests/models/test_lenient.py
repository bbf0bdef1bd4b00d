"""The table of coercions, line by line."""

import pickle
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET, Struct, UnsetType, convert, structs, to_builtins
from msgspec.json import encode

from chatrest._models.lenient import CoercionError, Coercions, coerced, shape
from chatrest._models.messages import CallMessage, CustomMessage, TextMessage
from chatrest._models.record import NO_NUMBER, NO_TEXT, Record
from tests.support.cases import loop_over

Maybe = UnsetType | None


class Inner(Struct):
    n: int
    label: str | Maybe = UNSET


class Outer(Struct, rename="camel"):
    a_text: str
    a_number: int = 0
    a_flag: bool | Maybe = UNSET
    a_float: float | Maybe = UNSET
    inner: Inner | Maybe = UNSET
    list_of: tuple[int, ...] | Maybe = UNSET
    free: dict[str, Any] | Maybe = UNSET
    either: int | str | Maybe = UNSET
    plain: bool = False


def coercion(value: Any, kind: Any) -> tuple[Any, list[str]]:
    notes: list[str] = []
    return coerced(value, shape(kind), "x", notes), notes


@loop_over(
    ("served", "kind", "becomes"),
    [
        (5, str, "5"), (-5, str, "-5"), (10**30, str, str(10**30)),
        ("12", int, 12), ("-7", int, -7), (3.0, int, 3), (1e3, int, 1000),
        (0, bool, False), (1, bool, True), ("true", bool, True), ("false", bool, False),
        (3, float, 3.0), ("4", float, 4.0),
        ([], dict[str, Any], {}), ({}, tuple[int, ...], ()),
        (None, str, ""), (None, int, 0),
    ],
)  # fmt: skip
def test_a_lossless_coercion_is_applied_and_noted(served: Any, kind: Any, becomes: Any) -> None:
    value, notes = coercion(served, kind)
    assert (value, type(value)) == (becomes, type(becomes))
    assert len(notes) == 1
    assert notes[0].startswith("x: expected ")


@loop_over(
    ("served", "kind"),
    [
        (1.5, str), (True, str), ([], str), ({}, str), ("", int), ("1.0", int), ("x", int), ("--1", int),
        ("-", int), ("٣", int), ("1" * 41, int), (True, int), (1.5, int), (float("inf"), int),
        (float("nan"), int), ([], int), (2, bool), ("yes", bool), ("True", bool), (None, bool),
        (1.0, bool), ([], bool), ("x", float), (None, float), (10**400, float), ([1], dict[str, Any]),
        ("x", dict[str, Any]), (None, dict[str, Any]), (UNSET, dict[str, Any]),
        ({"a": 1}, tuple[int, ...]), ("x", tuple[int, ...]), (None, tuple[int, ...]),
        (["x"], tuple[int, ...]), (None, Inner), ("x", Inner), ({"n": "x"}, Inner),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_coerced_is_an_error(served: Any, kind: Any) -> None:
    with pytest.raises(CoercionError, match=r"^x.*: expected .*, got "):
        coercion(served, kind)


@loop_over(
    "served",
    [
        {"aText": "t", "aFlag": "odd"}, {"aText": "t", "inner": {"n": []}}, {"aText": "t", "inner": 5},
        {"aText": "t", "listOf": ["x"]}, {"aText": "t", "either": []},
    ],
)  # fmt: skip
def test_an_optional_field_that_does_not_fit_is_left_out_and_noted(served: dict[str, Any]) -> None:
    value, notes = coercion(served, Outer)
    assert value == Outer("t")
    assert len(notes) == 1


def test_a_wrong_required_field_fails_up_to_the_next_optional_one() -> None:
    with pytest.raises(CoercionError, match=r"^x\.aText: expected text, got object$"):
        coercion({"aText": {}}, Outer)


def test_a_note_has_the_path_and_no_value() -> None:
    notes: list[str] = []
    coerced({"aText": 77001, "inner": {"n": "77002"}, "listOf": [1, "77003"]}, shape(Outer), "data[3]", notes)
    assert notes == [
        "data[3].aText: expected text, got whole number",
        "data[3].inner.n: expected whole number, got text",
        "data[3].listOf[1]: expected whole number, got text",
    ]


def test_null_is_preserved_if_allowed_and_a_fitting_union_value_unchanged() -> None:
    assert coercion({"aText": "t", "aFlag": None, "free": None}, Outer) == (
        Outer("t", a_flag=None, free=None),
        [],
    )
    for value in (5, "5"):
        assert coercion(value, int | str) == (value, [])
    assert coercion(3.0, int | str)[0] == 3


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["aText", "aNumber", "inner", "n", "listOf", "free", "either"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(json)
def test_any_json_fits_or_is_a_miscoerced(value: Any) -> None:
    for kind in (Outer, Inner, TextMessage, CallMessage, CustomMessage):
        try:
            coerced_value, _ = coercion(value, kind)
        except CoercionError:
            continue
        assert isinstance(coerced_value, kind)


@given(
    st.builds(
        Outer,
        a_text=st.text(),
        a_number=st.integers(-(2**60), 2**60),
        a_flag=st.booleans() | st.none(),
        inner=st.builds(Inner, st.integers(0, 9)),
        either=st.integers(0, 9) | st.text(),
        plain=st.booleans(),
    )
)
def test_values_without_coercion_equal_those_of_a_strict_decoder(value: Outer) -> None:
    served = to_builtins(value)
    assert coercion(served, Outer) == (convert(served, Outer), [])


class Shelf(Struct):
    counts: dict[str, int] | Maybe = UNSET
    moment: datetime | Maybe = UNSET


@loop_over(
    ("served", "becomes", "notes"),
    [
        ({"counts": {"a": "1", "b": 2}}, Shelf(counts={"a": 1, "b": 2}), 1),
        ({"counts": []}, Shelf(counts={}), 1),
        ({"counts": {"a": "x"}}, Shelf(), 1),
        ({"moment": 5}, Shelf(), 1),
    ],
)
def test_other_types_are_coerced_member_by_member(served: Any, becomes: Shelf, notes: int) -> None:
    value, lines = coercion(served, Shelf)
    assert value == becomes
    assert len(lines) == notes


class Thing(Record):
    id: str
    name: str = NO_TEXT
    sender: str = NO_TEXT
    age: int = NO_NUMBER
    free: Any = UNSET


@loop_over(
    ("served", "written", "count"),
    [
        ({"id": "5"}, {"id": "5"}, 0),
        ({"id": "5", "name": "", "age": 0}, {"id": "5", "name": "", "age": 0}, 0),
        ({"id": 5, "name": None, "age": None, "free": None}, {"id": "5", "free": None}, 3),
        ({"id": "5", "name": {"de": "n"}}, {"id": "5"}, 1),
    ],
)
def test_an_absent_text_or_number_is_empty_and_is_not_written(
    served: dict[str, Any], written: dict[str, Any], count: int
) -> None:
    thing, notes = coercion(served, Thing)
    assert (thing.name, thing.age, thing.to_dict(), len(notes)) == ("", 0, written, count)
    for twin in (pickle.loads(pickle.dumps(thing)), deepcopy(thing), structs.replace(thing)):
        assert twin.to_dict() == written
    assert [{"": 1, 0: 2}[each] for each in (thing.name, thing.age)] == [1, 2]
    assert repr(thing) == f"Thing({', '.join(f'{name}={value!r}' for name, value in written.items())})"
    assert (f"{thing.name!r}{thing.age!r}", str(thing.name), encode([thing.name, thing.age])) == (
        "''0", "", b'["",0]'
    )  # fmt: skip


@loop_over(
    ("served", "fault"),
    [
        ({"name": "n"}, "id: expected text, got nothing"),
        ({"id": None, "name": "n"}, "id: expected text, got null"),
        ({"id": "5", "sender": []}, "sender: expected text, got array"),
        ({"id": "5", "age": {}}, "age: expected whole number, got object"),
    ],
)
def test_an_identifier_is_never_made_up_nor_a_text_of_another_type_dropped(
    served: dict[str, Any], fault: str
) -> None:
    with pytest.raises(CoercionError, match=rf"^x\.{fault}$"):
        coercion(served, Thing)


def test_a_record_made_to_be_slow_is_given_up() -> None:
    with pytest.raises(CoercionError, match=r"^x: more than 1000 values are not of their type$"):
        coercion(["1"] * 1001, tuple[int, ...])
    coercions = Coercions()
    coercions.add(0, [f"tags[{index}]: a" for index in range(2000)])
    assert coercions.lines() == ("data[0].tags[*]: a",)


def test_one_warning_per_field_covers_all_records() -> None:
    coercions = Coercions()
    assert not coercions
    for index in range(1000):
        coercions.add(index, ["id: expected text, got whole number"])
    coercions.add(3, ["sentAt: expected whole number, got text", "tags[0]: a", "tags[1]: a"])
    coercions.add(4, [": expected object, got an empty array"])
    coercions.add_other(["meta.pagination: expected object, got text"])
    assert coercions.records("tags: x") == []  # asked for, and not added to
    assert coercions
    assert coercions.lines() == (
        "data[*].id: expected text, got whole number (1000 records)",
        "data[3].sentAt: expected whole number, got text",
        "data[3].tags[*]: a",
        "data[4]: expected object, got an empty array",
        "meta.pagination: expected object, got text",
    )
