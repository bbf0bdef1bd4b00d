"""The bodies and filters of messages: members, their wire names, and what is refused."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec import UNSET

from chatrest.core.encode import query_pairs
from chatrest.core.wire import json_body
from chatrest.errors import RequestInvalidError
from chatrest.parameters.messages import MessageQuery, NewMessage
from tests.cases import loop_over

# ── what is sent ──


def test_a_body_always_names_its_receivers_type() -> None:
    """Specification, Other operations: `receiverType` is a member of the body, and no default is shown."""
    assert json.loads(json_body(NewMessage.text("bob", "hello")))["receiverType"] == "user"


def test_all_members_travel_under_their_wire_names() -> None:
    message = NewMessage(
        receiver="g",
        receiver_type="group",
        category="custom",
        type="poll",
        data={"customData": {"q": 1}},
        muid="m",
        tags=("a",),
    )
    assert json.loads(json_body(message)) == {
        "receiver": "g", "receiverType": "group", "category": "custom", "type": "poll",
        "data": {"customData": {"q": 1}}, "muid": "m", "tags": ["a"],
    }  # fmt: skip
    text = NewMessage.text("g", "t", receiver_type="group", metadata={"a": 1}, muid="m", tags=["x"])
    assert (text.data, text.muid, text.tags, text.receiver_type) == (
        {"text": "t", "metadata": {"a": 1}},
        "m",
        ("x",),
        "group",
    )


@pytest.mark.parametrize("name", ["muid", "tags", "category"])
@pytest.mark.parametrize("nothing", [None, UNSET])
def test_an_optional_member_that_is_none_is_as_good_as_none(name: str, nothing: Any) -> None:
    plain = NewMessage(**GOOD)
    assert NewMessage(**{**GOOD, name: nothing}) == plain
    assert name not in json.loads(json_body(plain))
    if name != "category":
        assert NewMessage.text("bob", "t", **{name: nothing}) == NewMessage.text("bob", "t")


@pytest.mark.parametrize("name", ["receiver", "receiver_type", "type", "data"])
def test_a_member_that_is_needed_cannot_be_unset(name: str) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = UNSET: allowed is "):
        NewMessage(**{**GOOD, name: UNSET})


GOOD: dict[str, Any] = {"receiver": "bob", "type": "text", "data": {"text": "t"}}


@loop_over(
    ("name", "value"),
    [
        *[("receiver", value) for value in ("", None, 5, b"bob", ["bob"], "bob\n", "b\x00ob")],
        *[("receiver_type", value) for value in ("", "users", None, 5)],
        *[("category", value) for value in ("", "call", "action", 5)],
        *[("type", value) for value in ("", None, 5)],
        *[("data", value) for value in (None, "text", [], {1: "x"}, 5)],
        *[("muid", value) for value in ("", 5)],
        *[("tags", value) for value in ("a", [""], [1], [], 5)],
    ],
)
def test_a_wrong_member_is_refused_by_name_with_what_is_allowed(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = .*: allowed is "):
        NewMessage(**{**GOOD, name: value})


@pytest.mark.parametrize("text", ["", None, 5, b"x"])
def test_an_empty_text_is_refused(text: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^text = .*: allowed is a text that is not empty"):
        NewMessage.text("bob", text)


def test_a_receiver_that_cannot_be_sent_is_refused() -> None:
    for receiver in ("\ud800", "bob\x7f", "\x85bob"):
        with pytest.raises(RequestInvalidError, match=r"^receiver = "):
            NewMessage.text(receiver, "t")


# ── moments ──

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@loop_over("name", ["from_timestamp", "to_timestamp"])
@loop_over(
    ("moment", "seconds"),
    [
        (0, 0),
        (1_767_355_200, 1_767_355_200),
        (NOON, 1_767_355_200),
        (NOON.astimezone(timezone(timedelta(hours=-7, minutes=-30))), 1_767_355_200),
        (NOON + timedelta(microseconds=999_999), 1_767_355_200),
        (date(2026, 1, 2), 1_767_312_000),
        ("2026-01-02", 1_767_312_000),
        ("2026-01-02T13:00+01:00", 1_767_355_200),
        ("1767355200", 1_767_355_200),
    ],
)
def test_a_moment_travels_as_epoch_seconds(name: str, moment: Any, seconds: int) -> None:
    query = MessageQuery(**{name: moment})
    assert getattr(query, name) == seconds
    [(_, sent)] = query_pairs(query, "comma")
    assert sent == str(seconds)
    assert query == MessageQuery(**{name: seconds})


@pytest.mark.parametrize("name", ["from_timestamp", "to_timestamp"])
@pytest.mark.parametrize("moment", [datetime(2026, 1, 2), datetime(2026, 1, 2, 12, fold=1)])
def test_a_datetime_without_a_time_zone_is_refused_by_its_field(name: str, moment: datetime) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^{name} = .*: allowed is a datetime with a time zone"):
        MessageQuery(**{name: moment})


@pytest.mark.parametrize("moment", [datetime(1969, 12, 31, tzinfo=UTC), date(1, 1, 1), "2026-02-30", 1.5])
def test_a_moment_before_1970_or_of_another_type_is_refused(moment: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^from_timestamp = .*: allowed is a datetime with"):
        MessageQuery(from_timestamp=moment)


@pytest.mark.parametrize("name", ["limit", "id", "sender"])
def test_a_moment_is_no_value_of_another_field(name: str) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^{name} = "):
        MessageQuery(**{name: NOON})


def test_a_window_between_moments_ends_where_it_begins_or_later() -> None:
    assert MessageQuery(from_timestamp=date(2026, 1, 2), to_timestamp=NOON).to_timestamp == 1_767_355_200
    with pytest.raises(RequestInvalidError, match="the window ends before it begins"):
        MessageQuery(from_timestamp=NOON, to_timestamp=date(2026, 1, 2))
