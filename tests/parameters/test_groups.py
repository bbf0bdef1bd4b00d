"""The filter of a member list, and the bodies that change members."""

from typing import Any

import pytest
from msgspec import UNSET

from chatrest._core.requests.wire import json_body
from chatrest._parameters.users import NewMembers
from chatrest.errors import RequestInvalidError


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
    with pytest.raises(RequestInvalidError, match="expected at least one uid, in admins, moderators"):
        NewMembers(**given)
