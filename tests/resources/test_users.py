"""Users: listed by page numbers."""

from typing import Any

import pytest

from chatrest.core.decode import Listing
from chatrest.core.endpoint import Call
from chatrest.errors import CursorError, RequestInvalidError
from chatrest.models.meta import Meta, Pagination
from chatrest.models.user import User
from chatrest.queries.messages import MessageQuery
from chatrest.queries.users import UserQuery
from chatrest.resources.users import Users


class Session:
    """A hundred users, in the pages asked for."""

    app_id = "app"
    acting_user = None

    def __init__(self, count: int = 100) -> None:
        self.users = [User(f"user-{n:03}") for n in range(count)]
        self.calls: list[Call[Any]] = []

    async def __call__(self, call: Call[Any], /) -> Listing[User]:
        self.calls.append(call)
        place = dict(call.place)
        asked = (call.query or {}).get("perPage")
        size, page = int(place.get("perPage", asked or 100)), int(place.get("page", 1))
        found = self.users[(page - 1) * size : page * size]
        return Listing(
            found, Meta(pagination=Pagination(0, len(found), size, page, -(-len(self.users) // size))), b"{}"
        )

    @property
    def uids(self) -> list[str]:
        return [user.uid for user in self.users]


async def taken(walk: Any, count: int) -> list[str]:
    found = []
    async for user in walk:
        found.append(user.uid)
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("size", [None, 1, 7, 50, 100, 1000])
async def test_all_users_come_once_in_the_services_order(size: int | None) -> None:
    session = Session()
    query = None if size is None else UserQuery(per_page=size)
    assert [user.uid for user in await Users(session).list(query).collect()] == session.uids
    assert len(session.calls) == -(-100 // (size or 1000))
    assert {call.path for call in session.calls} == {"/users"}


async def test_a_walk_begins_at_the_page_that_the_query_names() -> None:
    session = Session()
    found = await Users(session).list(UserQuery(per_page=30, page=3)).collect()
    assert [user.uid for user in found] == session.uids[60:]


@pytest.mark.parametrize("count", [1, 10, 29, 30, 31, 60, 100])
async def test_a_token_goes_on_after_any_user(count: int) -> None:
    session = Session()
    query = UserQuery(per_page=30)
    walk = Users(session).list(query)
    assert await taken(walk, count) == session.uids[:count]
    rest = await Users(session).list(query, cursor=str(walk.cursor)).collect()
    assert [user.uid for user in rest] == session.uids[count:]


@pytest.mark.parametrize("count", [1, 5, 40])
async def test_a_token_of_a_limited_walk_leads_to_all_the_rest(count: int) -> None:
    session = Session()
    walk = Users(session).list().limit(count)
    assert [user.uid for user in await walk.collect()] == session.uids[:count]
    rest = await Users(session).list(cursor=str(walk.cursor)).collect()
    assert [user.uid for user in rest] == session.uids[count:]


@pytest.mark.parametrize("count", [1, 3, 5])
async def test_a_limit_goes_on_from_the_midst_of_a_page(count: int) -> None:
    session = Session()
    walk = Users(session).list()
    await taken(walk, 3)
    assert [user.uid for user in await walk.limit(count).collect()] == session.uids[3 : 3 + count]


def test_a_wrong_filter_or_token_is_refused_before_anything_is_sent() -> None:
    session = Session()
    with pytest.raises(RequestInvalidError, match="allowed is a UserQuery, or None"):
        Users(session).list(MessageQuery())  # type: ignore[arg-type]
    token = str(Users(session).list(UserQuery(role="a")).cursor)
    with pytest.raises(CursorError):
        Users(session).list(UserQuery(role="b"), cursor=token)
    assert session.calls == []
