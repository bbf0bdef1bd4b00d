"""`session.users`."""

from typing import Any

from chatrest._core.replies.decode import Listing
from chatrest._core.requests.endpoint import Call
from chatrest._models.meta import Meta, Pagination
from chatrest._models.users import User
from chatrest._parameters.users import UserQuery
from chatrest._resources.users import Users
from tests.session_double import Sender


async def test_a_limited_walk_begins_at_the_same_user_as_one_without_a_limit() -> None:
    """Page 2 is the second one of the size that the walk has without a limit."""

    def page(call: Call[Any]) -> Listing[User]:
        position = dict(call.position)
        size, number = int(position["perPage"]), int(position.get("page", (call.query or {})["page"]))
        users = [User(f"user-{n:04}") for n in range((number - 1) * size, number * size)]
        return Listing(users, Meta(pagination=Pagination(0, size, size, number, 9)), b"{}")

    users = await Users(Sender(page)).list(UserQuery(page=2)).limit(3).collect()
    assert [user.uid for user in users] == ["user-1000", "user-1001", "user-1002"]
