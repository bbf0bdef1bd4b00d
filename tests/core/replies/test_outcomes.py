"""Replies that acknowledge: one for a call, and an outcome for each item of a batch."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET

from chatrest._core.replies.decode import ACK, Ack, each
from chatrest._models.messages import AddedMember
from chatrest._models.users import GroupOutcome, MemberOutcome, User, UserOutcome
from chatrest.errors import ApiError, ReplyUnreadableError
from tests.support.cases import loop_over

ADDED = each(AddedMember)
YES, NO = {"success": True}, {"success": False}


def outcomes(data: Any) -> dict[str, bool]:
    """Return which items succeeded, by key."""
    return {key: each.success for key, each in ADDED(json.dumps({"data": data}).encode()).items()}


@loop_over(
    ("served", "ack"),
    [
        ({"data": {"success": True, "message": "done"}}, Ack(True, "done")),
        ({"data": {"success": True, "Message": "done"}}, Ack(True, "done")),
        ({"data": {"success": False}}, Ack(False)),
        ({"success": True, "message": "done"}, Ack(True, "done")),
        ({"success": True, "data": {"batchId": "x"}}, Ack(True)),
        ({"data": {"success": "true", "more": [1]}}, Ack(True)),
        ({"data": {"success": 1}}, Ack(True)),
        ({"data": {"success": 0}}, Ack(False)),
        ({"data": {"success": "false"}}, Ack(False)),
        ({"data": {"message": "done"}}, Ack(True, "done")),
        ({"data": {"deactivatedUids": ["a"]}}, Ack(True)),
        ({"data": {"success": None, "message": 5}}, Ack(True)),
        ({}, Ack(True)),
    ],
)
def test_an_acknowledgement_is_read_in_data_or_at_the_root(served: Any, ack: Ack) -> None:
    assert ACK(json.dumps(served).encode()) == ack
    assert type(ACK(json.dumps(served).encode()).success) is bool


@loop_over(
    "served",
    [
        b'{"data":"done"}', b'{"data":[]}', b'{"data":[{"success":true}]}', b'{"data":null}', b'{"data":5}',
        b'{"data":true}', b"done", b'"done"', b"[]", b"", b"<html>", b'{"error":{"code":"X"}}',
        b'{"data":{"success":{"bob":{"success":false}}}}', b'{"data":{"success":[]}}',
        b'{"error":"no such user"}', b'{"data":{"error":{"code":"X"}}}',
        b'{"data":{"success":"maybe"}}', b'{"data":{"success":2}}',
    ],
)  # fmt: skip
def test_a_reply_without_an_acknowledgement_is_unreadable(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        ACK(served)


@loop_over(
    ("data", "expected"),
    [
        ({"bob": YES, "carol": NO}, {"bob": True, "carol": False}),
        ({"bob": {"success": "true"}, "carol": {"success": 0}}, {"bob": True, "carol": False}),
        ({"bob": {"success": "yes"}}, {"bob": False}),
        ({"bob": {"success": None}}, {"bob": False}),
        ({"bob": {}}, {"bob": False}),
        ({"bob": {"message": "added"}}, {"bob": False}),
        ({"bob": {"error": {"code": "ERR_X"}}}, {"bob": False}),
        ({"bob": True, "carol": False}, {"bob": True, "carol": False}),
        # grouped
        ({"admins": {"bob": YES}, "usersToBan": {"eve": NO}}, {"bob": True, "eve": False}),
        ({"accepted": {"bob": YES, "carol": YES}}, {"bob": True, "carol": True}),
        ({"admins": {"bob": YES}, "usersToBan": {"bob": NO}}, {"bob": True, "usersToBan:bob": False}),
        ({"admins": {}, "participants": {"bob": YES}}, {"bob": True}),
        ({"admins": [], "participants": {"bob": YES}}, {"bob": True}),
        ({"admins": {"success": YES}}, {"success": True}),
        ({"admins": {"bob": True}, "carol": NO}, {"bob": True, "carol": False}),
        # sorted by what became of them
        ({"success": {"bob": YES}, "failed": {}}, {"bob": True}),
        ({"success": {"bob": {"uid": "bob"}}, "failed": {"eve": "unknown"}}, {"bob": True, "eve": False}),
        ({"success": {"bob": NO}}, {"bob": False}),
        (
            {"success": ["bob"], "failed": ["eve", {"uid": "mallory"}]},
            {"bob": True, "eve": False, "mallory": False},
        ),
        ({"success": ["bob"], "failed": ["bob"]}, {"bob": True, "failed:bob": False}),
        (
            {
                "failed": [], "guid": "g", "members": [{"uid": "bob"}, {"uid": "carol", "success": False}],
                "success": True,
            },
            {"bob": True, "carol": False},
        ),
        ({"members": [{"uid": "bob"}], "success": False}, {"bob": False}),
        ({"members": [{"uid": "bob"}], "failed": [], "success": False}, {"bob": False}),
        ({"members": [{"uid": "bob"}], "failed": ["eve"], "success": False}, {"bob": True, "eve": False}),
        (
            {"members": [{"uid": "bob"}, {"uid": "eve"}], "failed": ["eve"], "success": False},
            {"bob": True, "eve": False},
        ),
        ({"members": [{"uid": "bob"}], "failed": 2, "success": 1}, {"bob": True, "failed": False}),
        ({"members": [{"uid": 5}, {}], "success": True}, {"5": True, "1": True}),
        ({"failed": YES, "bob": NO}, {"failed": True, "bob": False}),
        # a list
        ([{"uid": "bob", "success": True}, {"id": 7, "success": False}], {"bob": True, "7": False}),
    ],
)  # fmt: skip
def test_every_form_gives_an_outcome_by_key(data: Any, expected: dict[str, bool]) -> None:
    assert outcomes(data) == expected


@loop_over(
    "data",
    [
        {}, [], None, "done", 5, True, {"success": True}, {"success": True, "message": "done"}, {"guid": "g"},
        {"success": {}, "failed": {}}, {"success": [], "failed": 0}, {"admins": {"bob": "added"}},
        [{"uid": "bob"}], {"members": []},
    ],
)  # fmt: skip
def test_a_reply_without_outcomes_of_items_is_unreadable(data: Any) -> None:
    with pytest.raises(ReplyUnreadableError):
        outcomes(data)


def test_outcomes_at_the_root_are_read() -> None:
    assert [*ADDED(b'{"bob":{"success":true}}')] == ["bob"]


def test_an_outcome_has_the_error_of_the_service() -> None:
    bob, eve = {"success": True, "data": {"id": "5"}}, {"success": False, "error": {"code": "E"}}
    served = json.dumps({"data": {"admins": {"bob": bob, "eve": eve}}}).encode()
    result = ADDED(served)
    assert result["bob"] == AddedMember(True, data={"id": "5"})
    assert result["eve"] == AddedMember(False, error={"code": "E"})
    assert result.raw == served
    assert ADDED(b'{"data":{"failed":{"eve":"unknown"}}}')["eve"].message == "unknown"
    assert ADDED(b'{"data":{"members":[{"uid":"bob"}]}}')["bob"].to_dict()["data"] == {"uid": "bob"}


@loop_over(
    ("kind", "record"),
    [(UserOutcome, {"uid": "u", "name": "U"}), (GroupOutcome, {"guid": "g", "name": "G"}),
     (MemberOutcome, {"guid": "g", "uid": "u", "scope": "admin"})],
)  # fmt: skip
@loop_over("wraps", [1, 2, 3])
def test_a_record_that_is_wrapped_again_is_found(kind: Any, record: dict[str, Any], wraps: int) -> None:
    data: Any = record
    for _ in range(wraps):
        data = {"success": True, "data": data}
    outcomes = each(kind)(json.dumps({"data": {"x": data}}).encode())
    assert outcomes["x"].success
    assert outcomes["x"].data.to_dict() == record
    assert outcomes.repairs == ()
    bare = each(kind)(json.dumps({"data": {"x": {"success": True, "data": {"data": record}}}}).encode())
    assert bare["x"] == outcomes["x"]


def test_an_outcome_reports_coerced_fields() -> None:
    bad = {"success": True, "data": {"name": "U"}}
    odd = {"success": True, "data": {"uid": 5}}
    outcomes = each(UserOutcome)(json.dumps({"data": {"a": bad, "b": bad, "c": odd}}).encode())
    assert outcomes["a"].data is UNSET
    assert outcomes.repairs == (
        "data.*.data.uid: expected text, got nothing (2 outcomes)",
        "data.c.data.uid: expected text, got whole number",
    )


def test_an_unreadable_outcome_is_named_by_key() -> None:
    with pytest.raises(ReplyUnreadableError, match=r"^data\.bob\.uid: expected text, got nothing$"):
        each(User)(b'{"data":{"bob":{"success":true}}}')


def test_a_failed_item_raises_when_checked() -> None:
    result = ADDED(json.dumps({"data": {"bob": YES, "eve": NO, "mallory": {"message": "no"}}}).encode())
    assert list(result.succeeded) == ["bob"]
    assert list(result.failed) == ["eve", "mallory"]
    with pytest.raises(ApiError, match="2 of 3 items failed: eve, mallory") as caught:
        result.check()
    assert caught.value.details == {"eve": AddedMember(False), "mallory": AddedMember(False, "no")}
    for count, end in ((5, "4"), (6, "4, …")):
        with pytest.raises(ApiError, match=rf"{count} of {count} items failed: 0, .*{end}$"):
            ADDED(json.dumps({"data": {str(number): NO for number in range(count)}}).encode()).check()
    good = ADDED(b'{"data":{"bob":{"success":true}}}')
    assert good.check() is good
    assert good["bob"].message is UNSET


def test_outcomes_are_a_mapping_that_shows_how_many_failed() -> None:
    result = ADDED(json.dumps({"data": {"bob": YES, "eve": NO}}).encode())
    assert (len(result), list(result), "bob" in result) == (2, ["bob", "eve"], True)
    assert repr(result) == "<Outcomes: 1 succeeded, 1 failed>"


NAMES = ["success", "failed", "members", "bob", "uid", "data", "message"]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner)
    ),
    max_leaves=8,
)  # fmt: skip


@given(values)
def test_an_item_succeeds_only_if_the_reply_states_success(data: Any) -> None:
    for read in (ADDED, ACK):
        with suppress(ReplyUnreadableError):
            read(json.dumps({"data": data}).encode())
    served = json.dumps(data)
    if not any(word in served for word in ("true", "success", "members")):
        with suppress(ReplyUnreadableError):
            assert not any(outcomes(data).values())
