"""Groups of a server that ignores page numbers and gives a position at the reply's top level."""

from typing import Any

import pytest
from aiohttp import web

from chatrest import App, AsyncSession, CursorError, GroupQuery

pytestmark = pytest.mark.usefixtures("tidy")
GROUPS = [
    {"guid": f"g{number:02}", "name": "x", "type": "public", "updatedAt": 1000 + number}
    for number in range(25)
]


async def serve(request: web.Request) -> web.Response:
    after = int(request.query.get("updatedAt", "0"))
    page = [group for group in GROUPS if int(str(group["updatedAt"])) > after][:10]
    cursor = {"cursor": {"updatedAt": page[-1]["updatedAt"], "affix": "append"}} if page else {}
    return web.json_response({"data": page, **cursor})


@pytest.fixture
async def session(aiohttp_server: Any) -> Any:
    app = web.Application()
    app.router.add_get("/groups", serve)
    server = await aiohttp_server(app)
    async with AsyncSession(App("a", "k" * 20, base_url=str(server.make_url("")).rstrip("/"))) as session:
        yield session


@pytest.mark.parametrize("query", [None, GroupQuery(updated_at=1003, affix="append")])
async def test_the_position_is_followed_and_its_tokens_are_of_the_list(
    session: AsyncSession, query: Any
) -> None:
    first = 0 if query is None else 4
    expected = [f"g{number:02}" for number in range(first, 25)]
    walk = session.groups.list(query)
    got = [(group.guid, str(walk.cursor)) async for group in walk]
    assert [guid for guid, _ in got] == expected
    for place, (_, token) in enumerate(got[:-1]):
        rest = await session.groups.list(query, cursor=token).collect()
        assert [group.guid for group in rest] == expected[place + 1 :]


async def test_a_filter_without_a_direction_is_no_position(session: AsyncSession) -> None:
    with pytest.raises(CursorError, match="continues by what the list is filtered by"):
        await session.groups.list(GroupQuery(updated_at=1003)).collect()


async def test_a_token_never_leaves_the_filter(session: AsyncSession) -> None:
    query = GroupQuery(updated_at=1003, affix="append")
    walk = session.groups.list(query)
    tokens = [walk.cursor async for _ in walk]
    assert any("updatedAt" in dict(cursor.position) for cursor in tokens)
    for position in ((("updatedAt", "1002"),), (("affix", "prepend"), ("updatedAt", "1010"))):
        forged = type(walk.cursor)(walk.cursor.query, position, "append")
        with pytest.raises(CursorError, match="leads out of its list"):
            session.groups.list(query, cursor=str(forged))
