"""`session.users` and `session.auth_tokens`."""

from typing import Any

import pytest

from chatrest.core.paging.paging import PageSizes
from chatrest.core.replies.decode import Listing
from chatrest.core.requests.endpoint import Call
from chatrest.core.requests.wire import json_body
from chatrest.errors import CursorError, RequestInvalidError
from chatrest.models.meta import Meta, Pagination
from chatrest.models.users import User
from chatrest.parameters.messages import MessageQuery
from chatrest.parameters.users import UserQuery
from chatrest.resources.users import AUTH_TOKENS_CREATE, AuthTokens, Users
from tests.sending import Sender


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


async def first(walk: Any, count: int) -> list[str]:
    uids: list[str] = []
    async for user in walk:
        uids.append(user.uid)
        if len(uids) == count:
            break
    return uids


@pytest.mark.parametrize("size", [None, 1, 7, 50, 100, 1000])
async def test_all_users_come_once_in_the_services_order(size: int | None) -> None:
    session = Session()
    query = None if size is None else UserQuery(per_page=size)
    assert [user.uid for user in await Users(session).list(query).collect()] == session.uids
    size = size or 1000
    is_ended_by_a_short_page = size < 100 and 100 % size > 0
    assert len(session.calls) == -(-100 // size) + (not is_ended_by_a_short_page)
    assert {call.path for call in session.calls} == {"/users"}


async def test_a_walk_begins_at_the_page_that_the_query_names() -> None:
    session = Session()
    users = await Users(session).list(UserQuery(per_page=30, page=3)).collect()
    assert [user.uid for user in users] == session.uids[60:]


async def test_a_limited_walk_begins_at_the_same_user_as_one_without_a_limit() -> None:
    """Page 2 is the second one of the size that the walk has without a limit."""
    session = Session(1500)
    users = await Users(session).list(UserQuery(page=2)).limit(3).collect()
    assert [user.uid for user in users] == session.uids[1000:1003]


@pytest.mark.parametrize("count", [1, 10, 29, 30, 31, 60, 100])
async def test_a_token_goes_on_after_any_user(count: int) -> None:
    session = Session()
    query = UserQuery(per_page=30)
    walk = Users(session).list(query)
    assert await first(walk, count) == session.uids[:count]
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
    await first(walk, 3)
    assert [user.uid for user in await walk.limit(count).collect()] == session.uids[3 : 3 + count]


def test_a_wrong_filter_or_token_is_refused_before_anything_is_sent() -> None:
    session = Session()
    with pytest.raises(RequestInvalidError, match="allowed is a UserQuery, or None"):
        Users(session).list(MessageQuery())  # type: ignore[arg-type]
    token = str(Users(session).list(UserQuery(role="a")).cursor)
    with pytest.raises(CursorError):
        Users(session).list(UserQuery(role="b"), cursor=token)
    assert session.calls == []


# ── auth tokens ──

REPLY = b'{"data":{"uid":"bob","authToken":"t0ken","createdAt":1}}'


@pytest.mark.parametrize(
    ("force", "body"),
    [({}, b"{}"), ({"force": False}, b'{"force":false}'), ({"force": True}, b'{"force":true}')],
)
async def test_a_token_is_asked_for_and_handed_on(force: Any, body: bytes) -> None:
    sender = Sender(REPLY)
    token = await AuthTokens(sender).create("b/ob", **force)
    assert (token.uid, token.auth_token) == ("bob", "t0ken")
    assert "t0ken" not in repr(token)
    call = sender.call
    assert (call.endpoint, call.path, call.acting_user) == (
        AUTH_TOKENS_CREATE,
        "/users/b%2Fob/auth_tokens",
        None,
    )
    assert json_body(call.body) == body


@pytest.mark.parametrize("uid", ["", "..", "a\n", None])
async def test_a_uid_that_is_no_path_segment_is_refused_before_anything_is_sent(uid: Any) -> None:
    sender = Sender(REPLY)
    with pytest.raises(RequestInvalidError):
        await AuthTokens(sender).create(uid)
    assert sender.calls == []
