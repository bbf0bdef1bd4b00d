"""A service of the same wire that others wrote, on a real socket: its nodes' clocks may disagree.

It ignores acting users. With a `reader` the list of a user has the messages between the two, as with a login
token. Lists are ordered by (sentAt, id); `id` alone is a place by id, `id` with `sentAt` one by time, and
`fromTimestamp` the place from which one continues: with prepend it asks for earlier items.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web
from aiohttp.test_utils import TestServer

from chatrest import App, AsyncSession
from tests.scripted_server import no_wait
from tests.small_service import START, Record

LARGEST: Final = 100
DEFAULT: Final = 30


class CompatibleService:
    """Users, groups and their messages; `now` is the true time, and `clocks` what each node adds to it."""

    def __init__(
        self,
        users: tuple[str, ...] = ("ann", "bob"),
        *,
        clocks: tuple[int, ...] = (0,),
        reader: str | None = None,
    ) -> None:
        self.users = users
        self.reader = reader
        self.clocks = clocks
        self.now = START
        self.records: list[Record] = []
        self.next_id = 1
        self.gone: dict[int, Record] = {}
        """Deleted messages: they leave the lists, and stay readable by id."""
        self.before_list: Callable[[], object] = lambda: None
        """Called before a list of messages is answered: what arrives while a run reads."""
        self.requests: list[tuple[str, dict[str, str]]] = []
        """The path and the query of each request."""

    def send(self, sender: str, receiver: str, *, node: int = 0, to_group: bool = False) -> Record:
        """Take a message by a node: its id is the next one, and its time that of the node's clock."""
        record = {
            "id": self.next_id, "sender": sender, "receiver": receiver,
            "receiverType": "group" if to_group else "user", "category": "message", "type": "text",
            "data": {"text": f"message {self.next_id}"}, "sentAt": self.now + self.clocks[node],
        }  # fmt: skip
        self.records.append(record)
        self.next_id += 1
        return record

    def talk(self, count: int, *, node: int = 0, seconds: int = 1) -> None:
        """Take messages of ann and bob, one every `seconds` seconds."""
        for _ in range(count):
            self.now += seconds
            self.send(*(("ann", "bob") if self.next_id % 2 else ("bob", "ann")), node=node)

    def delete(self, number: int, *, for_good: bool = False) -> None:
        if not for_good:
            [self.gone[number]] = [record for record in self.records if record["id"] == number]
        self.records = [record for record in self.records if record["id"] != number]

    def lose_all(self) -> None:
        """Lose all data: ids begin at 1 again."""
        self.records, self.gone, self.next_id = [], {}, 1

    @property
    def ids(self) -> list[str]:
        return [str(record["id"]) for record in self.records]

    def lists_asked(self) -> list[dict[str, str]]:
        """Return the queries of all requests for lists of messages of users and groups."""
        return [query for path, query in self.requests if path.count("/") == 3]

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        app = web.Application()
        app.router.add_get("/users", self._list_users)
        app.router.add_get("/messages", self._list_all)
        app.router.add_get("/messages/{id}", self._get)
        app.router.add_get("/{kind:users|groups}/{name}/messages", self._list)
        async with TestServer(app) as server:
            here = App("app-1", "k" * 20, base_url=str(server.make_url("")).rstrip("/"))
            async with AsyncSession(here, sleep=no_wait, dice=lambda: 0.5, clock=lambda: self.now) as session:
                yield session

    def _note(self, request: web.Request) -> dict[str, str]:
        query = dict(request.query)
        self.requests.append((request.path, query))
        return query

    async def _list_users(self, request: web.Request) -> web.Response:
        query = self._note(request)
        size, page = _size(query), int(query.get("page", "1"))
        shown = self.users[(page - 1) * size : page * size]
        return web.json_response({"data": [{"uid": uid, "name": uid} for uid in shown]})

    async def _list_all(self, request: web.Request) -> web.Response:
        self._note(request)
        return web.json_response({"data": []})

    async def _get(self, request: web.Request) -> web.Response:
        self._note(request)
        number = int(request.match_info["id"])
        matches = [each for each in (*self.records, *self.gone.values()) if each["id"] == number]
        if matches:
            return web.json_response({"data": matches[0]})
        error = {"code": "ERR_MESSAGE_NOT_FOUND", "message": f"The message {number} does not exist."}
        return web.json_response({"error": error}, status=400)

    async def _list(self, request: web.Request) -> web.Response:
        query = self._note(request)
        self.before_list()
        is_group, name = request.match_info["kind"] == "groups", request.match_info["name"]
        ends = ("receiver",) if is_group else ("sender", "receiver")
        parties = {name} if is_group or self.reader is None else {name, self.reader}
        data = [
            record
            for record in self.records
            if (record["receiverType"] == "group") is is_group
            and parties <= (ends_of := {record[end] for end in ends})
            and (is_group or self.reader is None or ends_of == parties)
        ]
        return web.json_response(_page(data, query))


def _size(query: dict[str, str]) -> int:
    return min(LARGEST, int(query.get("limit") or query.get("per_page") or DEFAULT))


def _page(records: list[Record], query: dict[str, str]) -> dict[str, Any]:
    affix, size = query.get("affix", "prepend"), _size(query)
    sign = 1 if affix == "append" else -1

    def place(record: Record) -> tuple[int, int]:
        return sign * record["sentAt"], sign * record["id"]

    if "id" in query and "sentAt" in query:
        start = (sign * int(query["sentAt"]), sign * int(query["id"]))
        records = [record for record in records if place(record) > start]
    elif "id" in query:
        records = [record for record in records if sign * record["id"] > sign * int(query["id"])]
    for name in ("sentAt", "fromTimestamp") if "id" not in query else ("fromTimestamp",):
        if name in query:
            records = [record for record in records if sign * record["sentAt"] > sign * int(query[name])]
    data = sorted(records, key=place)[:size]
    if affix == "prepend":
        data.reverse()
    end = data[-1 if affix == "append" else 0] if data else None
    cursor = {"id": end["id"], "sentAt": end["sentAt"], "affix": affix} if end else None
    numbers = {
        "total": size + 1 if len(records) > size else len(data), "count": len(data),
        "per_page": int(query.get("perPage") or size), "current_page": 1, "total_pages": 1,
    }  # fmt: skip
    return {"data": data, "meta": {"pagination": numbers} | ({"cursor": cursor} if cursor else {})}
