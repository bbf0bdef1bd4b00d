"""Lists that disagree with the documents, on a real socket, as a client without chatrest sees them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession

from chatrest.emulator import Emulator
from chatrest.emulator.weather import (
    CappedPages,
    ExclusiveFrom,
    Fault,
    IgnoredParameter,
    LostPosition,
    NoMeta,
    OddRecords,
    Status,
    TopLevelPositions,
    WrongTotals,
)

MESSAGES = "/users/user-01/messages"


class Client:
    """A client of an emulator with 40 users, and 60 messages between two of them."""

    def __init__(self, emulator: Emulator, http: ClientSession) -> None:
        self.emulator, self.http = emulator, http

    async def __call__(self, path: str, *faults: Fault) -> Any:
        """Return a reply's JSON; with `faults` in the place of those before."""
        self.emulator.weather.clear()
        self.emulator.weather.add(*faults)
        async with self.http.get(f"{self.emulator.base_url}{path}") as response:
            return await response.json()


@pytest.fixture
async def get() -> AsyncIterator[Client]:
    async with (
        Emulator(40, 0, groups=0) as emulator,
        ClientSession(headers={"apikey": emulator.app.api_key}) as http,
    ):
        for number in range(1, 61):
            emulator.store.add_message("user-01", "user-02", str(number), sent_at=number)
        yield Client(emulator, http)


def ids(reply: Any) -> list[int]:
    return [int(record["id"]) for record in reply["data"]]


async def test_capped_pages_repeat_the_size_of_the_request_and_say_last_on_each(get: Client) -> None:
    reply = await get(f"{MESSAGES}?perPage=1000&affix=append", CappedPages(7))
    assert ids(reply) == list(range(1, 8))
    numbers = reply["meta"]["pagination"]
    assert (numbers["count"], numbers["per_page"]) == (7, 1000)
    assert numbers["current_page"] == numbers["total_pages"] == 1
    assert reply["meta"]["cursor"] == {"id": 7, "affix": "append"}
    later = await get(f"{MESSAGES}?perPage=1000&affix=append&id=7", CappedPages(7))
    assert (ids(later), later["meta"]["pagination"]["total_pages"]) == (list(range(8, 15)), 1)


async def test_capped_pages_of_other_lists(get: Client) -> None:
    reply = await get("/messages?limit=50", CappedPages(3))
    assert (len(reply["data"]), reply["meta"]["current"]) == (3, {"limit": 50, "count": 3})
    users = await get("/users?per_page=20&page=2", CappedPages(15))
    assert [users["data"][0]["uid"], len(users["data"])] == ["user-16", 15]
    assert users["meta"]["pagination"] | {"total": 0} == {
        "total": 0, "count": 15, "per_page": 20, "current_page": 1, "total_pages": 1
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/users", "/messages", MESSAGES])
async def test_lists_without_meta(get: Client, path: str) -> None:
    fair = await get(path)
    assert await get(path, NoMeta()) == {"data": fair["data"]}


async def test_a_parameter_that_is_ignored(get: Client) -> None:
    fair = await get("/users")
    assert await get("/users?perPage=3&per_page=4", IgnoredParameter("perPage")) == fair
    first = await get("/users?perPage=3")
    assert await get("/users?perPage=3&page=2", IgnoredParameter("page")) == first
    newest = await get(f"{MESSAGES}?toTimestamp=5", IgnoredParameter("toTimestamp"))
    assert ids(newest) == list(range(1, 61))


async def test_a_from_that_leaves_its_own_second_out(get: Client) -> None:
    path = f"{MESSAGES}?fromTimestamp=57"
    assert ids(await get(path)) == [57, 58, 59, 60]
    assert ids(await get(path, ExclusiveFrom())) == [58, 59, 60]


async def test_totals_that_are_wrong(get: Client) -> None:
    fair = (await get(MESSAGES))["meta"]["pagination"]
    assert (await get(MESSAGES, WrongTotals(2)))["meta"]["pagination"] == fair | {"total": 2}
    wrong = await get("/users?perPage=3", WrongTotals(9, total_pages=7))
    assert (wrong["meta"]["pagination"]["total"], wrong["meta"]["pagination"]["total_pages"]) == (9, 7)


@pytest.mark.parametrize(("path", "name"), [("/messages", "next"), (MESSAGES, "cursor")])
async def test_positions_at_the_top_level(get: Client, path: str, name: str) -> None:
    fair = await get(path)
    reply = await get(path, TopLevelPositions())
    assert reply["cursor"] == fair["meta"][name]
    assert reply["meta"] == {key: value for key, value in fair["meta"].items() if key != name}


async def test_habits_make_one_server_together_beside_other_faults(get: Client) -> None:
    habits = (IgnoredParameter("perPage"), CappedPages(30), NoMeta(), OddRecords("integer-ids"))
    reply = await get("/messages?perPage=3", *habits)
    assert (list(reply), reply["data"][-1]["id"]) == (["data"], 60)
    assert len((await get("/users?perPage=3", *habits))["data"]) == 30
    assert get.emulator.requests[-1].fault == "ignored_parameter+capped_pages+no_meta+odd_records"
    assert get.emulator.requests[-1].query == "perPage=3", "noted as it came"
    assert "error" in await get("/messages", NoMeta(), Status(503))


async def test_other_replies_stay_as_they_are(get: Client) -> None:
    habits = (CappedPages(1), NoMeta(), WrongTotals(), TopLevelPositions(), LostPosition("null-meta"))
    for path in ("/users/user-01", "/messages/1", "/nothing", "/users?page=0"):
        assert await get(path, *habits) == await get(path)


@pytest.mark.parametrize(
    ("kind", "expected"), [("no-meta", "absent"), ("null-meta", None), ("text-meta", "lost")]
)
async def test_a_lost_meta(get: Client, kind: Any, expected: str | None) -> None:
    reply = await get(MESSAGES, LostPosition(kind))
    assert reply.get("meta", "absent") == expected
    assert len(reply["data"]) == 60


CURSORS: dict[str, Any] = {
    "no-cursor": "absent",
    "null-cursor": None,
    "empty-cursor": {},
    "cursor-without-id": {"affix": "prepend"},
    "unknown-cursor": {"cursorField": "id", "cursorValue": 51, "cursorAffix": "prepend"},
}


@pytest.mark.parametrize("kind", CURSORS)
@pytest.mark.parametrize(
    ("path", "name"), [("/messages?limit=10", "next"), (f"{MESSAGES}?perPage=10", "cursor")]
)
async def test_a_lost_cursor(get: Client, kind: Any, path: str, name: str) -> None:
    fair = await get(path)
    reply = await get(path, LostPosition(kind))
    cursor = reply["meta"].pop(name, "absent")
    fair["meta"].pop(name)
    if isinstance(cursor, dict):
        cursor.pop("sentAt", None)
        cursor |= {"cursorValue": int(cursor["cursorValue"])} if "cursorValue" in cursor else {}
    assert cursor == CURSORS[kind]
    assert reply == fair


@pytest.mark.parametrize("path", ["/messages", MESSAGES, "/users"])
async def test_an_empty_page_that_says_page_1_of_2(get: Client, path: str) -> None:
    reply = await get(path, LostPosition("empty-page"))
    assert reply["data"] == []
    numbers = reply["meta"]["pagination"]
    assert (list(reply["meta"]), numbers["count"]) == (["pagination"], 0)
    assert (numbers["current_page"], numbers["total_pages"]) == (1, 2)


@pytest.mark.parametrize("affix", ["append", "prepend"])
@pytest.mark.parametrize("dialect", ["cursor", "next"])
async def test_lists_ordered_by_time_have_ids_in_any_order(affix: str, dialect: Any) -> None:
    async with (
        Emulator(3, 0, groups=0, dialect=dialect, list_order="time") as emulator,
        ClientSession(headers={"apikey": emulator.app.api_key}) as http,
    ):
        times = [5, 3, 9, 3, 1, 7, 9]
        for time in times:
            emulator.store.add_message("user-01", "user-02", "hi", sentAt=time, updatedAt=time)
        expected = sorted(range(1, 8), key=lambda number: (times[number - 1], number))
        walked: list[int] = []
        position = ""
        while True:
            url = f"{emulator.base_url}/messages?limit=2&affix={affix}{position}"
            async with http.get(url) as response:
                reply = await response.json()
            if not reply["data"]:
                break
            walked += ids(reply) if affix == "append" else reversed(ids(reply))
            cursor = reply["meta"][dialect]
            position = "".join(f"&{name}={cursor[name]}" for name in ("id", "sentAt") if name in cursor)
        assert walked == (expected if affix == "append" else expected[::-1])
