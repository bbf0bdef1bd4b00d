"""The mending table, line by line."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec import UNSET, Struct, UnsetType, convert, to_builtins

from chatrest.core.lenient import CoercionError, coerced, shape
from chatrest.models.message import CallMessage, CustomMessage, TextMessage

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


def mended(value: Any, kind: Any) -> tuple[Any, list[str]]:
    notes: list[str] = []
    return coerced(value, shape(kind), "x", notes), notes


@pytest.mark.parametrize(
    ("served", "kind", "becomes"),
    [
        (5, str, "5"), (-5, str, "-5"), (10**30, str, str(10**30)),
        ("12", int, 12), ("-7", int, -7), (3.0, int, 3), (1e3, int, 1000),
        (0, bool, False), (1, bool, True), ("true", bool, True), ("false", bool, False),
        (3, float, 3.0), ("4", float, 4.0),
        ([], dict[str, Any], {}), ({}, tuple[int, ...], ()),
        (None, str, ""), (UNSET, str, ""), (None, int, 0), (UNSET, int, 0),
    ],
)  # fmt: skip
def test_what_can_be_mended_without_loss_is_mended_and_noted(served: Any, kind: Any, becomes: Any) -> None:
    value, notes = mended(served, kind)
    assert (value, type(value)) == (becomes, type(becomes))
    assert len(notes) == 1
    assert notes[0].startswith("x: expected ")


@pytest.mark.parametrize(
    ("served", "kind"),
    [
        (1.5, str),
        (True, str),
        ([], str),
        ({}, str),
        ("", int),
        ("1.0", int),
        ("x", int),
        ("--1", int),
        ("-", int),
        ("٣", int),
        ("1" * 41, int),
        (True, int),
        (1.5, int),
        (float("inf"), int),
        (float("nan"), int),
        ([], int),
        (2, bool),
        ("yes", bool),
        ("True", bool),
        (None, bool),
        (1.0, bool),
        ([], bool),
        ("x", float),
        (None, float),
        ([1], dict[str, Any]),
        ("x", dict[str, Any]),
        (None, dict[str, Any]),
        (UNSET, dict[str, Any]),
        ({"a": 1}, tuple[int, ...]),
        ("x", tuple[int, ...]),
        (None, tuple[int, ...]),
        (["x"], tuple[int, ...]),
        (None, Inner),
        ("x", Inner),
        ({"n": "x"}, Inner),
    ],
)
def test_what_cannot_be_mended_is_a_miscoerced(served: Any, kind: Any) -> None:
    with pytest.raises(CoercionError, match=r"^x.*: expected .*, got "):
        mended(served, kind)


@pytest.mark.parametrize(
    "served",
    [
        {"aText": "t", "aFlag": "odd"},
        {"aText": "t", "inner": {"n": []}},
        {"aText": "t", "inner": 5},
        {"aText": "t", "listOf": ["x"]},
        {"aText": "t", "either": []},
    ],
)
def test_an_optional_field_that_does_not_fit_is_left_out_and_noted(served: dict[str, Any]) -> None:
    value, notes = mended(served, Outer)
    assert value == Outer("t")
    assert len(notes) == 1


def test_a_required_field_that_does_not_fit_fails_as_far_as_the_next_optional_one() -> None:
    with pytest.raises(CoercionError, match=r"^x\.aText: expected text, got object$"):
        mended({"aText": {}}, Outer)


def test_a_note_says_where_and_never_what() -> None:
    notes: list[str] = []
    coerced({"aText": 77001, "inner": {"n": "77002"}, "listOf": [1, "77003"]}, shape(Outer), "data[3]", notes)
    assert notes == [
        "data[3].aText: expected text, got whole number",
        "data[3].inner.n: expected whole number, got text",
        "data[3].listOf[1]: expected whole number, got text",
    ]


def test_null_is_kept_where_it_may_stand_and_a_union_takes_what_fits_as_it_is() -> None:
    assert mended({"aText": "t", "aFlag": None, "free": None}, Outer) == (
        Outer("t", a_flag=None, free=None),
        [],
    )
    for value in (5, "5"):
        assert mended(value, int | str) == (value, [])
    assert mended(3.0, int | str)[0] == 3


def test_a_root_has_no_path() -> None:
    notes: list[str] = []
    assert coerced({"n": "1"}, shape(Inner), "", notes) == Inner(1)
    assert notes == ["n: expected whole number, got text"]


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


@settings(max_examples=150, deadline=None, database=None)
@given(json)
def test_any_json_fits_or_is_a_miscoerced(value: Any) -> None:
    for kind in (Outer, Inner, TextMessage, CallMessage, CustomMessage):
        try:
            found, _ = mended(value, kind)
        except CoercionError:
            continue
        assert isinstance(found, kind)


@settings(max_examples=60, deadline=None, database=None)
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
def test_what_needs_no_mending_is_taken_as_a_strict_decoder_takes_it(value: Outer) -> None:
    served = to_builtins(value)
    assert mended(served, Outer) == (convert(served, Outer), [])
