"""Filters and mappings as the pairs of a query string."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET

from chatrest._core.requests.encode import WalkQuery, encoded, query_pairs, query_string
from chatrest._parameters.messages import MessageQuery
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over


def pairs(query: Any) -> list[tuple[str, str]]:
    return list(query_pairs(query))


def test_none_and_unset_are_not_sent() -> None:
    assert pairs({"a": None, "b": UNSET, "c": 0, "d": "", "e": False}) == [
        ("c", "0"),
        ("d", ""),
        ("e", "false"),
    ]


def test_values_travel_as_text_in_the_querys_order() -> None:
    query = {"z": True, "a": 1, "m": 1.5, "t": "x y"}
    assert pairs(query) == [("z", "true"), ("a", "1"), ("m", "1.5"), ("t", "x y")]


def test_arrays_travel_as_a_comma_list_of_values() -> None:
    assert pairs(MessageQuery(tags=("a", "b"))) == [("tags", "a,b")]
    assert pairs({"x": [True, 1, "a"]}) == [("x", "true,1,a")]
    assert pairs({"x": frozenset({"a"})}) == [("x", "a")]


def test_a_comma_in_a_comma_list_is_refused() -> None:
    with pytest.raises(RequestInvalidError, match=r"^query tags = 'a,b': a value with a comma"):
        pairs({"tags": ["x", "a,b"]})


@loop_over("value", [{"a": 1}, b"x", object(), [["a"]], [None], 1j])
def test_a_value_that_no_query_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^query q = .*expected"):
        pairs({"q": value})


@given(st.lists(st.tuples(st.text(min_size=1), st.text())))
def test_a_query_string_round_trips(pairs: list[tuple[str, str]]) -> None:
    string = query_string(pairs)
    assert parse_qsl(string, keep_blank_values=True, strict_parsing=bool(pairs), errors="strict") == pairs
    assert string.isascii()
    assert not set(string) & set(' #?/"<>\r\n\\')


@pytest.mark.parametrize("pair", [("\ud800", "x"), ("x", "\udfff")])
def test_a_lone_surrogate_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(RequestInvalidError, match="lone surrogate"):
        query_string([pair])


def test_the_position_of_a_walk_replaces_that_of_the_query() -> None:
    query: Mapping[str, Any] = {"id": "1", "affix": "append", "limit": 5, "tags": ["a"]}
    string = encoded(query, (("affix", "append"), ("id", "9"), ("sentAt", "3")))
    assert string == "limit=5&tags=a&affix=append&id=9&sentAt=3"


def test_a_struct_without_fields_or_with_one_is_asked_as_any_other() -> None:
    empty, single = msgspec.defstruct("None_", []), msgspec.defstruct("One", [("a_b", Any)], rename="camel")
    assert pairs(empty()) == []
    assert pairs(single(5)) == [("aB", "5")]
    assert pairs(single(None)) == pairs(single(UNSET)) == []


def test_a_number_that_python_does_not_write_is_refused() -> None:
    with pytest.raises(RequestInvalidError, match=r"^query q = .*too long"):
        pairs({"q": 10**5000})


WORDS = st.sampled_from(["", "a", "b c", "é&="])
NAMES = st.sampled_from(["tags", "id", "affix", "q"])


@given(
    query=st.dictionaries(NAMES, WORDS | st.lists(WORDS)),
    positions=st.lists(st.dictionaries(st.sampled_from(["id", "affix", "sentAt"]), WORDS), max_size=4),
)
def test_the_query_of_a_walk_is_sent_as_that_of_a_call(
    query: dict[str, Any], positions: list[dict[str, str]]
) -> None:
    of_walk = WalkQuery(query)
    for position in [tuple(each.items()) for each in positions]:
        others = [pair for pair in query_pairs(query) if pair[0] not in dict(position)]
        sent = query_string([*others, *position])
        assert encoded(of_walk, position) == encoded(query, position) == sent
