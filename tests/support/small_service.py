"""Small services on a socket, with windows, orders and damaged replies that the emulator lacks."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.test_utils import TestServer

from chatrest import App, AsyncSession
from tests.support.scripted_server import no_wait

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


def pages(total: int, count: int, size: int) -> Record:
    return {"total": total, "count": count, "per_page": size, "current_page": 1, "total_pages": 1}


class SmallService:
    """Users, and a list of messages ordered by id; a user's list has the messages from and to the user.

    `window(record, since, until)` returns True for a record in a window; `change_reply(request, reply)`
    returns the reply to send.
    """

    paths = ("/messages", "/users/{uid}/messages")

    def __init__(self, records: Iterable[Record] = (), users: Iterable[str] = ("ann", "bob")) -> None:
        self.records = list(records)
        self.users = list(users)
        self.largest_page = 25
        self.window: Callable[[Record, int | None, int | None], bool] = lambda *_: True
        self.change_reply: Callable[[web.Request, Record], Record] = lambda _, reply: reply
        self.by_time = False
        """True for lists ordered by time, whose positions are indexes: ids come in any order."""
        self.requests: list[Any] = []
        """The queries of all requests for message lists."""
        self.options: dict[str, Any] = {"sleep": no_wait, "dice": lambda: 0.5}
        """Those of the session."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        app = web.Application()
        for path in self.paths:
            app.router.add_get(path, self._list_messages)
        app.router.add_get("/users", self._list_users)
        async with TestServer(app) as server:
            served_app = App("app-1", "k" * 20, base_url=str(server.make_url("")).rstrip("/"))
            async with AsyncSession(served_app, **self.options) as session:
                yield session

    async def _list_users(self, request: web.Request) -> web.Response:
        users = [{"uid": uid, "name": uid} for uid in self.users]
        users = users if request.query.get("page", "1") == "1" else []
        meta = {"pagination": pages(len(self.users), len(users), 1000)}
        return web.json_response({"data": users, "meta": meta})

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
        return web.json_response(self.change_reply(request, self.page(records, query, size)))

    def page(self, records: list[Record], query: dict[str, str], size: int) -> Record:
        affix, position = query.get("affix", "prepend"), int(query.get("id", "0"))
        if self.by_time:
            return self.page_by_time(records, query, size)
        if affix == "append":
            ahead = [record for record in records if int(record["id"]) > position]
            data = ahead[:size]
            end = data[-1]["id"] if data else position
        else:
            ahead = [record for record in records if not position or int(record["id"]) < position]
            data = ahead[-size:]
            end = data[0]["id"] if data else position
        numbers = pages(len(ahead), len(data), size)
        return {"data": data, "meta": {"pagination": numbers, "cursor": {"id": int(end), "affix": affix}}}

    def page_by_time(self, records: list[Record], query: dict[str, str], size: int) -> Record:
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


class CompatibleService(SmallService):
    """A service of the same wire that others wrote: its nodes' clocks may disagree.

    It ignores acting users. With a `reader` the list of a user has the messages between the two, as with a
    login token. Lists are ordered by (sentAt, id); `id` alone is a place by id, `id` with `sentAt` one by
    time, and `fromTimestamp` the place from which one continues: with prepend it asks for earlier items.

    `now` is the true time, and `clocks` what each node adds to it.
    """

    paths = ("/messages", "/messages/{id}", "/{kind:users|groups}/{uid}/messages")

    def __init__(
        self,
        users: tuple[str, ...] = ("ann", "bob"),
        *,
        clocks: tuple[int, ...] = (0,),
        reader: str | None = None,
    ) -> None:
        super().__init__(users=users)
        self.largest_page = 100
        self.reader, self.clocks, self.now, self.next_id = reader, clocks, START, 1
        self.options["clock"] = lambda: self.now
        self.deleted: dict[int, Record] = {}
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

    def delete(self, number: int) -> None:
        [self.deleted[number]] = [record for record in self.records if record["id"] == number]
        self.records = [record for record in self.records if record["id"] != number]

    @property
    def ids(self) -> list[str]:
        return [str(record["id"]) for record in self.records]

    def lists_asked(self) -> list[dict[str, str]]:
        """Return the queries of all requests for lists of messages of users and groups."""
        return [query for path, query in self.requests if path.count("/") == 3]

    async def _list_users(self, request: web.Request) -> web.Response:
        self.requests.append((request.path, dict(request.query)))
        size, page = self._size(dict(request.query)), int(request.query.get("page", "1"))
        shown = self.users[(page - 1) * size : page * size]
        return web.json_response({"data": [{"uid": uid, "name": uid} for uid in shown]})

    async def _list_messages(self, request: web.Request) -> web.Response:
        query, place = dict(request.query), request.match_info
        self.requests.append((request.path, query))
        if "id" in place:
            every = (*self.records, *self.deleted.values())
            matches = [record for record in every if record["id"] == int(place["id"])]
            if matches:
                return web.json_response({"data": matches[0]})
            error = {"code": "ERR_MESSAGE_NOT_FOUND", "message": f"The message {place['id']} does not exist."}
            return web.json_response({"error": error}, status=400)
        if "kind" not in place:
            return web.json_response({"data": []})
        self.before_list()
        is_group, name = place["kind"] == "groups", place["uid"]
        ends = ("receiver",) if is_group else ("sender", "receiver")
        parties = {name} if is_group or self.reader is None else {name, self.reader}
        data = [
            record
            for record in self.records
            if (record["receiverType"] == "group") is is_group
            and parties <= (ends_of := {record[end] for end in ends})
            and (is_group or self.reader is None or ends_of == parties)
        ]
        return web.json_response(self.page(data, query, self._size(query)))

    def _size(self, query: dict[str, str]) -> int:
        return min(self.largest_page, int(query.get("limit") or query.get("per_page") or "30"))

    def page(self, records: list[Record], query: dict[str, str], size: int) -> Record:
        affix = query.get("affix", "prepend")
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
        end = data[-1] if data else None
        data = data if affix == "append" else data[::-1]
        cursor = {"cursor": {"id": end["id"], "sentAt": end["sentAt"], "affix": affix}} if end else {}
        total = size + 1 if len(records) > size else len(data)
        numbers = pages(total, len(data), int(query.get("perPage") or size))
        return {"data": data, "meta": {"pagination": numbers, **cursor}}
