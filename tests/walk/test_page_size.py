"""The parameter that a walk asks for a page's size by, of servers that ignore the documented one."""

from typing import Any

import pytest
from aiohttp import web

from chatrest import App, AsyncSession, MessageQuery
from tests.small_service import talk

pytestmark = pytest.mark.usefixtures("tidy")


class Server:
    """Messages by id, with pages of `default` where `heeded` does not say another size, and at most `cap`."""

    def __init__(self, count: int, *, default: int = 30, cap: int = 100, heeded: str = "limit") -> None:
        self.records = talk(count)
        self.default, self.cap, self.heeded = default, cap, heeded
        self.asked: list[dict[str, str]] = []

    async def serve(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        self.asked.append(query)
        size = int(query.get(self.heeded, str(self.default)))
        first = int(query.get("id", "0"))
        page = [record for record in self.records if int(record["id"]) > first][: min(size, self.cap)]
        pagination = {
            "total": 0, "count": len(page), "per_page": size, "current_page": 1, "total_pages": 1,
        }  # fmt: skip
        cursor = {"cursor": {"id": int(page[-1]["id"]), "affix": "append"}} if page else {}
        return web.json_response({"data": page, "meta": {"pagination": pagination, **cursor}})


@pytest.fixture
def serve(aiohttp_server: Any) -> Any:
    """A function that gives a session with a server."""

    async def open_session(server: Server) -> AsyncSession:
        app = web.Application()
        app.router.add_get("/users/{uid}/messages", server.serve)
        served = await aiohttp_server(app)
        return AsyncSession(App("a", "k" * 20, base_url=str(served.make_url("")).rstrip("/")))

    return open_session


OLDEST_FIRST = MessageQuery(affix="append")


async def test_a_server_that_echoes_another_size_is_asked_by_limit(serve: Any) -> None:
    server = Server(1000)
    async with await serve(server) as session:
        for _ in range(2):
            assert len(await session.messages.list_user("ann", OLDEST_FIRST).collect()) == 1000
    assert [("limit" in asked, "perPage" in asked) for asked in server.asked[:4]] == [
        (False, True), (False, True), (True, False), (True, False),
    ]  # fmt: skip
    assert len(server.asked) <= 13 + 12


@pytest.mark.parametrize(("heeded", "cap"), [("perPage", 100), ("perPage", 30), ("limit", 10), ("size", 100)])
async def test_where_limit_gives_no_larger_pages_the_documented_parameter_stays(
    serve: Any, heeded: str, cap: int
) -> None:
    server = Server(500, heeded=heeded, cap=cap, default=min(cap, 30))
    async with await serve(server) as session:
        messages = await session.messages.list_user("ann", OLDEST_FIRST).collect()
        assert [message.id for message in messages] == [str(number) for number in range(1, 501)]
    assert sum("limit" in asked for asked in server.asked) <= 1
    assert "perPage" in server.asked[-1]


async def test_a_size_that_was_asked_for_is_left_alone(serve: Any) -> None:
    server = Server(200)
    async with await serve(server) as session:
        query = MessageQuery(affix="append", per_page=50)
        assert len(await session.messages.list_user("ann", query).collect()) == 200
    assert all("limit" not in asked for asked in server.asked)
