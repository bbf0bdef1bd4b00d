"""Lists that go by (time, id), of a service whose clocks went back: a split loses nothing."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest import MessageQuery
from chatrest.core.paging.cursor import Cursor
from chatrest.core.replies.decode import Listing
from chatrest.models.meta import Meta, Position
from chatrest.walk.walk import Walk
from tests.small_service import START, SmallService, talk
from tests.walk.split.splitting import Pairs, ids, in_any_order, plain, read_split
from tests.walk.walking import Item, many, rules_for, walk_over

parts = st.integers(2, 7)
seeds = st.integers(0, 1000)
directions = st.sampled_from(["append", "prepend"])


@dataclass
class TimedList:
    """A list whose pages go by (time, id); its position has both.

    `id` alone is a place by id, `id` with `sentAt` one by time and then id; with `times_count=False` it is a
    place by id, too, and pages go by id.
    """

    times: tuple[int, ...]
    """Of the ids from 1 on."""
    times_count: bool = True
    asked: list[dict[str, str]] = field(default_factory=list)

    async def fetch(self, position: Pairs) -> Listing[Item]:
        asked = dict(position)
        self.asked.append(asked)
        places = [(time if self.times_count else 0, number) for number, time in enumerate(self.times, 1)]
        is_back = asked.get("affix") == "prepend"
        if "id" in asked:
            number = int(asked["id"])
            if "sentAt" in asked and self.times_count:
                place = (int(asked["sentAt"]), number)
                places = [each for each in places if (each < place if is_back else each > place)]
            else:
                places = [each for each in places if (each[1] < number if is_back else each[1] > number)]
        page = sorted(places, reverse=is_back)[: int(asked["limit"])]
        items = [Item(str(number), self.times[number - 1]) for _, number in page]
        cursor = None
        if items:
            cursor = Position(asked.get("affix", "append"), int(items[-1].id), items[-1].sent_at)  # type: ignore[arg-type]
        return Listing(items, Meta(cursor=cursor), b"{}")

    def walk(self, direction: str, seed: int = 0) -> Walk[Any]:
        start = Cursor("q", (("affix", direction),), direction)  # type: ignore[arg-type]
        return walk_over(in_any_order(self.fetch, seed), start, rules_for(5))


@st.composite
def clocks(draw: st.DrawFn) -> tuple[int, ...]:
    """Times that rise, but for steps back, and for messages of a node whose clock is wrong."""
    wrong = draw(st.sampled_from([0, 2, 60]))
    now, times = 1000, []
    for _ in range(draw(st.integers(1, 120))):
        now += draw(st.sampled_from([0, 1, 1, 1, 5, 5, -2, -40] if wrong else [0, 1, 1, 5]))
        times.append(max(1, now + draw(st.sampled_from([0, 0, 0, wrong, -wrong]))))
    return tuple(times)


@many
@given(clocks(), directions, parts, seeds, st.booleans())
def test_whatever_the_clocks_did_the_list_comes_whole(
    times: tuple[int, ...], direction: str, count: int, seed: int, ordered: bool
) -> None:
    server = TimedList(times)
    expected = plain(server.walk(direction))
    assert sorted(map(int, expected)) == list(range(1, len(times) + 1))
    pairs, items = asyncio.run(read_split(server.walk(direction, seed), count, ordered=ordered))
    assert ids(pairs) == expected
    assert len(times) <= 5 or "goes by time" in str(items.reason)


def test_one_question_finds_out_which_of_id_and_time_counts() -> None:
    times = tuple(range(1000, 1200))
    by_id, by_time = TimedList(times, times_count=False), TimedList(times)
    for server in (by_id, by_time):
        pairs, items = asyncio.run(read_split(server.walk("append"), 4))
        assert ids(pairs) == [str(number) for number in range(1, 201)]
        assert (items.reason is None) is (server is by_id)
        questions = [asked for asked in server.asked if asked["limit"] == "1" and "sentAt" in asked]
        assert questions == [{"affix": "append", "id": "1", "sentAt": "1005", "limit": "1"}]


async def test_the_far_end_is_asked_for_without_the_beginning_of_a_window() -> None:
    service = SmallService(talk(120))
    service.window = lambda record, since, until: (
        since is None
        or (
            record["sentAt"] > since
            if service.requests[-1].get("affix") == "append"
            else record["sentAt"] < since
        )
    )
    query = MessageQuery(affix="append", from_timestamp=START + 20, per_page=5)
    async with service.session() as session:
        async with session.messages.list_user("bob", query).split(4) as items:
            assert [item.id async for item in items] == [str(number) for number in range(21, 121)]
        assert items.reason is None
    [far] = [asked for asked in service.requests if asked["affix"] == "prepend"]
    assert "fromTimestamp" not in far
    assert all("fromTimestamp" in asked for asked in service.requests if asked["affix"] == "append")


@pytest.mark.parametrize("times", [(5,) * 40, (0,) * 40])
def test_times_that_tell_nothing(times: tuple[int, ...]) -> None:
    pairs, _ = asyncio.run(read_split(TimedList(times).walk("append"), 4))
    assert ids(pairs) == [str(number) for number in range(1, 41)]
