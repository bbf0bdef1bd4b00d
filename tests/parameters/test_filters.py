"""Filters: each field's values, its name on the wire, and what an error says."""

from typing import Any

import msgspec
import pytest

from chatrest._core.requests.encode import query_pairs
from chatrest._parameters.messages import MessageQuery
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over


@loop_over(
    ("given", "sent"),
    [
        ({"has_links": True}, [("hasLinks", "true")]),
        ({"has_links": False, "edited_at_to": 0}, [("hasLinks", "false"), ("editedAt[to]", "0")]),
        ({"attachment_types": "image"}, [("attachmentTypes", "image")]),
        ({"search_key": "a b&c=d"}, [("searchKey", "a b&c=d")]),
        ({"types": {"b", "a"}, "mentioned_uids": ("x",)}, [("mentionedUids", "x"), ("types", "a,b")]),
    ],
)
def test_a_value_is_sent_with_its_name_in_the_query(given: Any, sent: list[tuple[str, str]]) -> None:
    assert list(query_pairs(MessageQuery(**given), "comma")) == sent


def test_a_message_filter_begins_with_the_27_parameters_of_the_specification() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(MessageQuery)]
    assert (names[0], names[26], len(set(names[:27]))) == ("searchKey", "tags", 27)


@pytest.mark.parametrize("kind", ["sent_at", "updated_at", "edited_at"])
def test_a_window_of_another_time_ends_where_it_begins_or_later(kind: str) -> None:
    assert getattr(MessageQuery(**{f"{kind}_from": 5, f"{kind}_to": 5}), f"{kind}_to") == 5
    with pytest.raises(RequestInvalidError, match=rf"^{kind}_to = 4: .* expected {kind}_from \(5\)"):
        MessageQuery(**{f"{kind}_from": 5, f"{kind}_to": 4})


@pytest.mark.parametrize("name", ["sender", "id", "mentioned_uids"])
def test_an_id_or_a_uid_with_control_characters_is_refused(name: str) -> None:
    for uid in ("bob\n", "\rbob", "b\x00ob", "bob\x7f", "b\x1fob"):
        with pytest.raises(RequestInvalidError, match=f"^{name} = "):
            MessageQuery(**{name: [uid] if name == "mentioned_uids" else uid})


@loop_over("name", ["search_key", "id", "category", "sender", "tags"])
def test_a_lone_surrogate_is_an_error(name: str) -> None:
    """A lone surrogate has no UTF-8."""
    with pytest.raises(RequestInvalidError):
        MessageQuery(**{name: ["\ud800"] if name == "tags" else "\ud800"})


@loop_over("value", [object(), iter(["a"]), {1, "a"}, lambda: None])
def test_a_value_of_any_kind_gets_the_same_error(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^tags = .*: expected a list of texts"):
        MessageQuery(tags=value)


def test_a_number_of_very_many_digits_is_an_error() -> None:
    for name in ("limit", "from_timestamp", "search_key"):
        with pytest.raises(RequestInvalidError, match=f"^{name} = .*: expected "):
            MessageQuery(**{name: -(10**5000)})  # type: ignore[arg-type]
