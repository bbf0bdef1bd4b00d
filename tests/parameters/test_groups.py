"""The filter of a member list, and the bodies that change members."""

from typing import Any

import pytest
from msgspec import UNSET

from chatrest.core.requests.encode import query_pairs
from chatrest.core.requests.wire import json_body
from chatrest.errors import RequestInvalidError
from chatrest.parameters.groups import MemberQuery, NewMembers, NewScope
from tests.cases import loop_over


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"per_page": 7, "page": 2}, [("perPage", "7"), ("page", "2")]),
        ({"status": "offline"}, [("status", "offline")]),
        ({"scopes": ["admin", "moderator"]}, [("scopes", "admin,moderator")]),
        ({"scopes": None}, []),
    ],
)
def test_a_filter_travels_under_its_wire_names(given: Any, sent: list[tuple[str, str]]) -> None:
    assert list(query_pairs(MemberQuery(**given), "comma")) == sent


@pytest.mark.parametrize(
    ("name", "value"),
    [("per_page", 0), ("per_page", 1001), ("page", 0), ("status", "online"), ("scopes", "admin"),
     ("scopes", []), ("scopes", ["owner"])],
)  # fmt: skip
def test_a_wrong_filter_is_refused_by_its_field(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = .*: allowed is "):
        MemberQuery(**{name: value})


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ({"admins": ["a"]}, b'{"admins":["a"]}'),
        ({"participants": ("a", "b"), "moderators": None}, b'{"participants":["a","b"]}'),
        ({"users_to_ban": {"b", "a"}}, b'{"usersToBan":["a","b"]}'),
    ],
)
def test_a_scope_without_anybody_is_not_sent(given: Any, body: bytes) -> None:
    assert json_body(NewMembers(**given)) == body


@pytest.mark.parametrize("given", [{}, {"admins": None}, {"admins": UNSET, "users_to_ban": None}])
def test_nobody_at_all_is_refused(given: Any) -> None:
    with pytest.raises(RequestInvalidError, match="one uid at least is needed, in admins, moderators"):
        NewMembers(**given)


@loop_over("name", ["admins", "moderators", "participants", "users_to_ban"])
@loop_over("uids", ["bob", [], [""], ["a,b"], ["a\n"], [None], 5])
def test_wrong_uids_are_refused_by_their_field(name: str, uids: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = .*: allowed is a list of uids"):
        NewMembers(**{name: uids})


@pytest.mark.parametrize("scope", ["", "owner", "Admin", None, UNSET, 5, ["admin"]])
def test_a_scope_that_is_none_is_refused(scope: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^scope = .*: allowed is 'admin', 'moderator' or"):
        NewScope(scope=scope)
