"""Records to import: by key or as they are, 1 to 50 of them, and errors that name the record."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from chatrest._parameters.data_import import (
    GroupEntries,
    GroupImport,
    MemberEntries,
    MemberImport,
    MessageEntries,
    MessageImport,
    UserEntries,
    UserImport,
)
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over

ANN = UserImport(uid="ann", name="Ann")
BOB = UserImport(uid="bob", name="Bob", created_at=datetime(1970, 1, 1, 0, 1, tzinfo=UTC), tags=["a"])


def sent(body: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body))


@loop_over(
    "users",
    [
        [ANN, BOB],
        iter((ANN, BOB)),
        {"ann": ANN, "bob": BOB},
        {"ann": {"uid": "ann", "name": "Ann"},
         "bob": {"uid": "bob", "name": "Bob", "createdAt": 60, "tags": ["a"]}},
        {"ann": ANN, "bob": {"uid": "bob", "name": "Bob", "created_at": 60, "tags": ("a",)}},
    ],
)  # fmt: skip
def test_users_are_sent_by_their_uids(users: Any) -> None:
    assert sent(UserEntries(users=users)) == {
        "users": {
            "ann": {"uid": "ann", "name": "Ann"},
            "bob": {"uid": "bob", "name": "Bob", "createdAt": 60, "tags": ["a"]},
        }
    }


@loop_over(
    ("users", "error"),
    [
        ([], "users: got 0 records; expected 1 to 50 per request"),
        ({}, "users: got 0 records; expected 1 to 50 per request"),
        ([UserImport(uid=f"u{n}", name="x") for n in range(51)], "users: got 51 records; expected 1 to 50"),
        (5, "users = 5: expected a list of UserImport, or a mapping by uid"),
        ([5], r"users\[0\] = 5: expected a UserImport, or its JSON object"),
        ([ANN, ANN], r"users\[1\]: uid = 'ann': another record has the same"),
        ({"bob": ANN}, r"users\['bob'\]: uid = 'ann': expected 'bob', its key"),
        ({"ann": {"uid": "ann"}}, r"users\['ann'\]: 'name' is missing"),
        (
            {"ann": {"uid": "ann", "name": ""}},
            r"users\['ann'\]: name = '': expected a non-empty text",
        ),
        ({"ann": {"uid": "ann", "name": "A", "nmae": 1}}, r"users\['ann'\]: unknown field 'nmae'"),
    ],
)
def test_the_record_that_is_wrong_is_named(users: Any, error: str) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{error}"):
        UserEntries(users=users)


def test_details_that_are_wrong_are_refused() -> None:
    with pytest.raises(RequestInvalidError, match=r"^user_details: 'name' is missing"):
        MemberImport(guid="g", uid="ann", user_details={"uid": "ann"})


def test_details_of_users_are_sent_as_their_objects() -> None:
    group = GroupImport(guid="g", name="G", type="public", owner="ann", group_owner_details=ANN)
    message = MessageImport(
        muid="m1", sender="ann", receiver="bob", receiver_type="user", sent_at=5,
        mentioned_user_details={"bob": {"uid": "bob", "name": "Bob", "created_at": 3}, "ann": ANN},
    )  # fmt: skip
    member = MemberImport(guid="g", uid="ann", scope="admin", is_banned=False, user_details=ANN)
    details = {"uid": "ann", "name": "Ann"}
    assert sent(GroupEntries(groups=[group]))["groups"]["g"]["groupOwnerDetails"] == details
    record = sent(MemberEntries(members=[member]))["members"]["g_member_ann"]
    assert (record["memberId"], record["userDetails"]) == ("g_member_ann", details)
    record = sent(MessageEntries(messages={"m1": message}))["messages"]["m1"]
    assert record["mentionedUserDetails"] == {
        "bob": {"uid": "bob", "name": "Bob", "createdAt": 3}, "ann": details
    }  # fmt: skip
