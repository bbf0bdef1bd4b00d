"""`session.users` and `session.auth_tokens`."""

from typing import Any

from chatrest._core.paging.page_sizes import PageSizes
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.endpoint import Call
from chatrest._models.meta import Meta, Pagination
from chatrest._models.users import User
from chatrest._parameters.users import UserQuery
from chatrest._resources.users import Users


class Session:
    """A hundred users, in the pages asked for."""

    app_id = "app"
    acting_user = None
    cursor_key = None
    check_acting_user = True

    def __init__(self, count: int = 100) -> None:
        self.page_sizes = PageSizes()
        self.users = [User(f"user-{n:03}") for n in range(count)]
        self.calls: list[Call[Any]] = []

    async def sleep(self, seconds: float, /) -> None:
        raise AssertionError(f"asked to sleep {seconds} s")

    async def __call__(self, call: Call[Any], /) -> Listing[User]:
        self.calls.append(call)
        position = dict(call.position)
        asked = (call.query or {}).get("perPage")
        size, page = int(position.get("perPage", asked or 100)), int(position.get("page", 1))
        users = self.users[(page - 1) * size : page * size]
        pages = -(-len(self.users) // size)
        return Listing(users, Meta(pagination=Pagination(0, len(users), size, page, pages)), b"{}")

    @property
    def uids(self) -> list[str]:
        return [user.uid for user in self.users]


async def test_a_limited_walk_begins_at_the_same_user_as_one_without_a_limit() -> None:
    """Page 2 is the second one of the size that the walk has without a limit."""
    session = Session(1500)
    users = await Users(session).list(UserQuery(page=2)).limit(3).collect()
    assert [user.uid for user in users] == session.uids[1000:1003]
