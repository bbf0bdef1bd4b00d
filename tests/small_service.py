"""A small service on a real socket, with windows, totals and damaged replies that the emulator lacks."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.test_utils import TestServer

from chatrest import App, AsyncSession
from tests.scripted_server import no_wait

Record: TypeAlias = dict[str, Any]
START = 1_600_000_000


def talk(count: int, *, first: int = 1, seconds: int = 1) -> list[Record]:
    """Return messages that ann and bob send to each other in turn, one every `seconds` seconds."""
    ends = ("ann", "bob")
    return [
        {
            "id": str(number), "conversationId": "ann_user_bob", "sender": ends[number % 2],
            "receiver": ends[1 - number % 2], "receiverType": "user", "category": "message", "type": "text",
            "data": {"text": f"message {number}"}, "sentAt": START + number * seconds,
        }
        for number in range(first, first + count)
    ]  # fmt: skip


class SmallService:
    """Users, and a list of messages ordered by id; a user's list has the messages from and to the user.

    `window(record, since, until)` is True for a record in a window, `total(count)` is the total that a list
    of `count` records reports, and `spoil(request, reply)` may change a reply.
    """

    def __init__(self, records: Iterable[Record], users: Iterable[str] = ("ann", "bob")) -> None:
        self.records = list(records)
        self.users = list(users)
        self.largest_page = 25
        self.window: Callable[[Record, int | None, int | None], bool] = lambda *_: True
        self.total: Callable[[int], object] = lambda count: count
        self.spoil: Callable[[web.Request, Record], Record] = lambda _, reply: reply
        self.by_time = False
        """True for lists ordered by time, whose positions are indexes: ids come in any order."""
        self.requests: list[dict[str, str]] = []
        """The queries of all requests for message lists."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        app = web.Application()
        app.router.add_get("/users", self._list_users)
        app.router.add_get("/messages", self._list_messages)
        app.router.add_get("/users/{uid}/messages", self._list_messages)
        async with TestServer(app) as server:
            here = App("app-1", "k" * 20, base_url=str(server.make_url("")).rstrip("/"))
            async with AsyncSession(here, sleep=no_wait, dice=lambda: 0.5) as session:
                yield session

    async def _list_users(self, request: web.Request) -> web.Response:
        page = int(request.query.get("page", "1"))
        users = [{"uid": uid, "name": uid} for uid in self.users] if page == 1 else []
        numbers = {
            "total": len(self.users), "count": len(users), "per_page": 1000, "current_page": page,
            "total_pages": 1,
        }  # fmt: skip
        return web.json_response({"data": users, "meta": {"pagination": numbers}})

    async def _list_messages(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        self.requests.append(query)
        uid = request.match_info.get("uid")
        size = min(self.largest_page, int(query.get("perPage") or query.get("limit") or "10"))
        since, until = (
            int(query[name]) if name in query else None for name in ("fromTimestamp", "toTimestamp")
        )
        records = [
            record
            for record in self.records
            if (uid is None or uid in (record["sender"], record["receiver"]))
            and self.window(record, since, until)
        ]
        return web.json_response(self.spoil(request, self._page(records, query, size)), dumps=json.dumps)

    def _page(self, records: list[Record], query: dict[str, str], size: int) -> Record:
        affix, position = query.get("affix", "prepend"), int(query.get("id", "0"))
        if self.by_time:
            return self._page_by_time(records, query, size)
        if affix == "append":
            ahead = [record for record in records if int(record["id"]) > position]
            data = ahead[:size]
            end = data[-1]["id"] if data else position
        else:
            ahead = [record for record in records if not position or int(record["id"]) < position]
            data = ahead[-size:]
            end = data[0]["id"] if data else position
        numbers = {
            "total": self.total(len(ahead)), "count": len(data), "per_page": size, "current_page": 1,
            "total_pages": 1,
        }  # fmt: skip
        return {"data": data, "meta": {"pagination": numbers, "cursor": {"id": int(end), "affix": affix}}}

    def _page_by_time(self, records: list[Record], query: dict[str, str], size: int) -> Record:
        affix = query.get("affix", "prepend")
        direction = 1 if affix == "append" else -1
        ordered = sorted(records, key=lambda record: direction * int(record["sentAt"]))
        times = {record["id"]: direction * int(record["sentAt"]) for record in self.records}
        ahead = [
            record
            for record in ordered
            if "id" not in query or direction * int(record["sentAt"]) > times.get(query["id"], 0)
        ]
        data = ahead[:size]
        next_ = {"affix": affix, "id": data[-1]["id"], "sentAt": data[-1]["sentAt"]} if data else None
        return {"data": data, "meta": {"current": {"limit": size, "count": len(data)}, "next": next_}}
