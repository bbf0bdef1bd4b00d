"""A list that is split over a session: every kind of list, bad weather, odd services, on a real socket."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chatrest import AsyncSession, Cursor, CursorError, MessageQuery, NotFoundError, RetryPolicy, ServerError
from chatrest.core.replies.rows import AsRows
from chatrest.emulator import Emulator
from chatrest.emulator.weather import (
    CappedPages,
    EmptyPage,
    ExclusiveFrom,
    First,
    IgnoredParameter,
    Latency,
    LostPosition,
    NoMeta,
    TopLevelPositions,
    WrongTotals,
    storm,
)
from chatrest.resources.messages import Messages
from tests.faulty import no_wait

pytestmark = pytest.mark.usefixtures("tidy")

COUNT = 200


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """A talk of 200 messages, most of them of one second, between messages of others."""
    async with Emulator(users=9, messages=0, groups=0) as emulator:
        fill(emulator)
        yield emulator


def fill(emulator: Emulator) -> None:
    for number in range(1, COUNT + 1):
        for _ in range(number % 3):
            emulator.store.add_message("user-03", "user-04", "other", sent_at=number)
        sent_at = 1000 if 50 < number < 150 else number if number <= 50 else 1000 + number
        emulator.store.add_message("user-01", "user-02", str(number), sent_at=sent_at)


def talk(session: AsyncSession, cursor: Any = None, **query: Any) -> Any:
    query = {"affix": "append", "per_page": 14, **query}
    return session.messages.list_user("user-02", query=MessageQuery(**query), cursor=cursor)


async def texts(session: AsyncSession, parts: int = 8, ordered: bool = True, **query: Any) -> list[int]:
    async with talk(session, **query).split(parts, ordered) as items:
        return [int(item.data.text) async for item in items]


WHOLE = list(range(1, COUNT + 1))


@pytest.mark.parametrize(("affix", "ordered"), [("append", True), ("prepend", False), (None, True)])
async def test_every_kind_of_list_comes_as_without(emulator: Emulator, affix: Any, ordered: bool) -> None:
    async with AsyncSession(emulator.app) as session:
        lists = [
            lambda: talk(session, affix=affix),
            lambda: session.messages.list(query=MessageQuery(per_page=14, affix=affix)),
            lambda: Messages(AsRows(session.sender)).list_user("user-01"),
            lambda: session.users.list(),
        ]
        for make in lists:
            expected = await make().collect()
            async with make().split(8, ordered) as items:
                got = [item async for item in items]
            assert (got if ordered else sorted(got, key=expected.index)) == expected


WINDOWS: list[dict[str, Any]] = [
    {"from_timestamp": 1000},
    {"from_timestamp": 1000, "to_timestamp": 1000},
    {"from_timestamp": 30, "to_timestamp": 1170},
    {"id": "100"},
    {"id": "100", "affix": "prepend"},
    {"limit": 5},
    {"sent_at": 1000},
    {"search_key": "7"},
    {"sender": "user-02"},
]
FILTERS = 3
"""The last of the windows only choose messages: no habit of a service changes what they do."""
HABITS = [
    [],
    [ExclusiveFrom()],
    [IgnoredParameter("toTimestamp")],
    [IgnoredParameter("perPage"), CappedPages(5)],
    [TopLevelPositions()],
    [WrongTotals(0)],
    [WrongTotals(9, total_pages=1)],
    [NoMeta()],
]


@pytest.mark.parametrize("habits", HABITS, ids=str)
async def test_windows_and_positions_of_a_query_are_those_of_the_walk(
    emulator: Emulator, habits: list[Any]
) -> None:
    """Pages of 20 cut the list, and the second in which most messages were sent, often enough."""
    for habit in habits:
        emulator.weather.add(habit)
    async with AsyncSession(emulator.app) as session:
        for window in WINDOWS[:-FILTERS] if habits else WINDOWS:
            query = {"per_page": 20, **window}
            expected = [int(item.data.text) for item in await talk(session, **query).collect()]
            assert await texts(session, **query) == expected, window
            if not habits:  # what a service does to a part does not hang on the order of the parts
                assert sorted(await texts(session, ordered=False, **query)) == sorted(expected), window


@pytest.mark.parametrize("affix", ["append", "prepend"])
async def test_a_list_by_time_comes_as_without(affix: Any) -> None:
    async with Emulator(users=9, messages=0, groups=0, list_order="time") as emulator:
        fill(emulator)
        emulator.store.add_message("user-01", "user-02", "7000", sent_at=3)
        async with AsyncSession(emulator.app) as session:
            expected = [int(item.data.text) for item in await talk(session, affix=affix).collect()]
            assert await texts(session, affix=affix) == expected


@pytest.mark.parametrize("seed", range(3))
async def test_in_a_storm_every_message_comes_once(emulator: Emulator, seed: int) -> None:
    for fault in storm(seed):
        emulator.weather.add(fault)
    got: list[int] = []
    session = AsyncSession(emulator.app, retry=RetryPolicy(attempts=12), sleep=no_wait)
    async with session, talk(session).split(8) as items:
        for _ in range(50):
            try:
                async for item in items:
                    got.append(int(item.data.text))
                break
            except (CursorError, ServerError):
                continue
    assert got == WHOLE


@pytest.mark.parametrize("loss", ["no-meta", "no-cursor", "empty-page", "cursor-without-id"])
@pytest.mark.parametrize("number", [0, 5])
async def test_a_reply_that_lost_its_position_loses_nothing(
    emulator: Emulator, loss: Any, number: int
) -> None:
    emulator.weather.add(LostPosition(loss, when=First(1, after=number)))
    async with AsyncSession(emulator.app) as session:
        assert await texts(session) == WHOLE


@pytest.mark.parametrize("number", [0, 5])
async def test_an_empty_page_in_the_midst_is_no_end(emulator: Emulator, number: int) -> None:
    emulator.weather.add(EmptyPage(lossless=True, when=First(1, after=number)))
    async with AsyncSession(emulator.app) as session:
        assert await texts(session) == WHOLE


async def test_a_list_that_is_not_there_is_the_walks_error(emulator: Emulator) -> None:
    async with AsyncSession(emulator.app) as session, session.messages.list_user("nobody").split() as items:
        with pytest.raises(NotFoundError):
            await anext(aiter(items))


async def test_leaving_the_block_leaves_no_call(emulator: Emulator) -> None:
    emulator.weather.add(Latency(3600, when=First(50, after=12)))
    async with AsyncSession(emulator.app) as session:
        async with talk(session).split(8) as items:
            async for item in items:
                if item.data.text == "9":
                    break
            assert session.pools["us"].active > 0
        assert session.pools["us"].active == 0


async def test_tokens_are_signed_and_go_on_anywhere(emulator: Emulator) -> None:
    got: list[int] = []
    async with AsyncSession(emulator.app, cursor_key=b"k" * 32) as session:
        async with talk(session).split(8, ordered=False) as items:
            async for item in items:
                got.append(int(item.data.text))
                if len(got) == 70:
                    break
            token = str(items.cursor)
        assert Cursor.parse(token).delivered == 70
        rest = [int(item.data.text) for item in await talk(session, token).collect()]
        assert sorted(got + rest) == WHOLE
        assert rest == sorted(rest)
        async with talk(session, token).split(8, ordered=False) as items:
            again = [int(item.data.text) async for item in items]
        assert sorted(got + again) == WHOLE
    async with AsyncSession(emulator.app, cursor_key=b"other" * 8) as session:
        with pytest.raises(CursorError, match="not signed"):
            talk(session, token)


async def test_pages_of_rows_have_their_bytes(emulator: Emulator) -> None:
    async with AsyncSession(emulator.app) as session:
        rows = Messages(AsRows(session.sender)).list_user("user-02", query=MessageQuery(affix="append"))
        expected = [bytes(row.raw) for row in await rows.collect()]
        walk = Messages(AsRows(session.sender)).list_user(
            "user-02", query=MessageQuery(affix="append", per_page=7)
        )
        async with walk.split(8) as items:
            got = [bytes(row.raw) async for page in items.pages() for row in page.items]
    assert got == expected
