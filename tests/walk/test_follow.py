"""A walk that is followed: new items are given once, in order, and the waits adapt within their bounds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st
from msgspec import structs

from chatrest import MessageQuery
from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.walk_state import LargestPage
from chatrest._core.requests.dialects import BY_ID, BY_NEXT, BY_PAGE, BY_THREAD, BY_UPDATED, ONE_REPLY
from chatrest._core.send import AsRows
from chatrest._resources.messages import Messages
from chatrest._walk.follow import after_last
from chatrest._walk.walk import Follower, Walk, WalkSource
from chatrest.errors import CursorError, RequestInvalidError, ServerError
from tests.support.cases import loop_over
from tests.support.scripted_session import Stage, reply
from tests.support.session_double import Sender
from tests.walk.any_server import Server, servers
from tests.walk.service_model import Service, facts_for, few, many, run, services, sizes

pytestmark = pytest.mark.usefixtures("tidy")

APPEND = (("affix", "append"),)


class EnoughError(Exception):
    """The plan of a `Clock` is at its end."""


@dataclass
class Clock:
    """A sleep that adds what a plan says for each wait, and ends the walk after the plan."""

    service: Service
    plan: list[int]
    """The count of new records after each wait."""
    waits: list[float] = field(default_factory=list)
    roll: float = 1.0

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        if not self.plan:
            raise EnoughError
        last = max(self.service.ids, default=0, key=abs)
        self.service.ids += tuple(range(abs(last) + 1, abs(last) + 1 + self.plan.pop(0)))

    def walk(self, size: int = 3, token: str | None = None, largest: int = 0) -> Walk[Any]:
        start = Cursor.parse(token) if token else Cursor("q", APPEND, "append")
        largest_page = LargestPage(largest)
        source: WalkSource[Any] = WalkSource(
            fetch=self.service.fetch,
            facts=facts_for(size, self.service.name),
            name="messages.list_user",
            largest=largest_page,
            send=SimpleNamespace(sleep=self.sleep, dice=lambda: self.roll),
        )
        return Walk(source, start)


async def ids_of(items: Follower[Any] | Walk[Any], into: list[str]) -> None:
    """Read until the plan of the clock ends."""
    try:
        async for item in items:
            into.append(item.id)
    except EnoughError:
        pass


@few
@given(services(dialect="cursor", text=False, opposite=False), sizes, st.lists(st.integers(0, 4), max_size=5))
def test_a_token_after_any_item_resumes_at_the_next(service: Service, size: int, plan: list[int]) -> None:
    clock, tokens = Clock(service, plan), []

    async def read() -> None:
        follow = clock.walk(size).follow()
        async for item in follow:
            tokens.append((item.id, str(follow.cursor)))

    with pytest.raises(EnoughError):
        run(read())
    whole = service.expected("append")
    assert [each for each, _ in tokens] == whole
    for count, (_, token) in enumerate(tokens, 1):
        ids: list[str] = []
        run(ids_of(Clock(service, []).walk(size, token).follow(), ids))
        assert ids == whole[count:]


@many
@given(
    servers(BY_ID, BY_NEXT, BY_THREAD), st.sampled_from([2, 3, 1000]), st.lists(st.integers(0, 4), max_size=4)
)
def test_any_server_gives_every_new_item_once_or_an_error(server: Server, size: int, plan: list[int]) -> None:
    assume(server.position != "other direction")
    ids: list[str] = []

    async def sleep(_: float) -> None:
        if not plan:
            raise EnoughError
        last = max(map(int, server.ids), default=0)
        server.ids += tuple(str(number) for number in range(last + 1, last + 1 + plan.pop(0)))

    server.largest.count = max(server.largest.count, min(server.largest_before, size))
    source: WalkSource[Any] = WalkSource(
        fetch=server.fetch,
        facts=facts_for(size, server.paging.size_name(is_acting=False), server.paging),
        name="messages.list",
        largest=server.largest,
        send=SimpleNamespace(sleep=sleep, dice=lambda: 1.0),
    )
    is_whole = True
    try:
        run(ids_of(Walk(source, Cursor("q", APPEND, "append")).follow(), ids))
    except CursorError:
        is_whole = False
    assert ids == sorted(set(ids), key=int), "an item came twice, or not in order"
    if is_whole and server.can_be_walked("append"):
        assert ids == list(server.ids), "items were lost without an error"


def test_another_follow_continues_after_an_error() -> None:
    service = Service((1, 2, 3, 4), faults={3: ServerError("final")})
    clock, ids = Clock(service, [2, 2]), []
    walk = clock.walk()
    with pytest.raises(ServerError, match="final"):
        run(ids_of(walk.follow(), ids))
    run(ids_of(walk.follow(), ids))
    assert ids == ["1", "2", "3", "4", "5", "6", "7", "8"]


def test_a_limit_ends_a_follow() -> None:
    clock, ids = Clock(Service((1, 2)), [1, 1, 1, 1]), []
    run(ids_of(clock.walk().limit(4).follow(), ids))
    assert ids == ["1", "2", "3", "4"]
    assert len(clock.waits) == 2


def test_a_request_for_what_is_new_does_not_ask_for_the_last_page_again() -> None:
    service = Service(tuple(range(1, 51)), pagination=True)
    clock = Clock(service, [1, 0, 1])
    run(ids_of(clock.walk(100, largest=100).follow(), []))
    assert [asked.get("id") for asked in service.asked] == [None, "50", "51", "51"]


def waits_of(plan: list[int], every: float = 8, roll: float = 1.0) -> list[float]:
    clock = Clock(Service((1, 2)), plan, roll=roll)
    run(ids_of(clock.walk().follow(every), []))
    return clock.waits


def test_waits_lengthen_without_news_and_shorten_with_news() -> None:
    assert waits_of([0] * 5) == [1, 2, 4, 8, 8, 8]
    assert waits_of([0, 0, 0, 0, 1, 1, 1, 1, 0]) == [1, 2, 4, 8, 8, 4, 2, 1, 1, 2]


@pytest.mark.parametrize(("roll", "factor"), [(0.0, 0.75), (0.5, 0.875), (1.0, 1.0)])
def test_the_dice_shorten_a_wait_by_a_quarter_at_most(roll: float, factor: float) -> None:
    assert waits_of([0, 0], 0.8, roll) == pytest.approx([0.1 * factor, 0.2 * factor, 0.4 * factor])


async def test_the_session_sleeps_and_rolls(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage.install(monkeypatch)
    meta = b'"meta":{"cursor":{"id":1,"affix":"append"}}'
    record = (
        b'{"id":"1","sender":"a","receiver":"b","receiverType":"user","category":"message","type":"text"}'
    )
    stage = Stage(reply(body=b'{"data":[%b],%b}' % (record, meta)), reply(body=b'{"data":[],%b}' % meta))
    session, query = await stage.opened(), MessageQuery(affix="append")
    for lists in (session.messages, Messages(AsRows(session.sender))):
        stage.time.slept.clear()
        answer = stage.answers[-1]

        async def answer_or_end(answer: Any = answer) -> Any:
            if len(stage.time.slept) == 4:
                raise EnoughError
            return answer

        stage.answers[-1:] = [answer_or_end]
        with pytest.raises(EnoughError):
            async for _ in lists.list_user("bob", query=query).follow(16):
                pass
        stage.answers[-1:] = [answer]
        assert stage.time.slept == [1.5, 3.0, 6.0, 12.0]


async def nothing(_: Any) -> Any:
    raise AssertionError("something was sent")


def unfollowed(start: Cursor, **facts: Any) -> Callable[[], Any]:
    source: WalkSource[Any] = WalkSource(
        fetch=nothing, facts=facts_for(**facts), name="x.list", largest=LargestPage(), send=Sender()
    )
    return Walk(source, start).follow


@loop_over(
    ("start", "facts", "words"),
    [
        (Cursor("q"), {}, "its direction is the service's choice; ask with affix='append'"),
        (Cursor("q", (("affix", "prepend"),), "prepend"), {}, "from new to old"),
        (Cursor("q", direction="append"), {"paging": BY_PAGE}, "by page numbers or in one reply"),
        (Cursor("q", direction="append"), {"paging": ONE_REPLY}, "by page numbers or in one reply"),
        (Cursor("q", (("page", "2"),), "append"), {}, "by page numbers"),
    ],
)
def test_a_list_without_an_end_for_new_items_is_refused(start: Cursor, facts: Any, words: str) -> None:
    with pytest.raises(RequestInvalidError, match=f"x.list: the list cannot be followed: .*{words}"):
        unfollowed(start, **facts)()


def test_a_list_by_time_of_change_can_be_followed() -> None:
    assert unfollowed(Cursor("q", APPEND, "append", by_id=False), paging=BY_UPDATED)()


@loop_over("every", [0, -1, float("nan"), float("inf"), True, "5", None])
def test_an_interval_is_a_number_of_seconds_above_0(every: Any) -> None:
    with pytest.raises(RequestInvalidError, match="every = "):
        Clock(Service(), []).walk().follow(every)


IN_PAGE = Cursor(
    "q", (("affix", "append"), ("id", "5")), "append", "9", is_inside=True, last_time=70, delivered=9
)


@loop_over(
    ("position", "expected"),
    [
        ((), (("affix", "append"), ("id", "9"))),
        ((("affix", "append"),), (("affix", "append"), ("id", "9"))),
        ((("affix", "append"), ("id", "5")), (("affix", "append"), ("id", "9"))),
        (
            (("affix", "append"), ("id", "5"), ("limit", "7")),
            (("affix", "append"), ("id", "9"), ("limit", "7")),
        ),
        (
            (("affix", "append"), ("sentAt", "50"), ("id", "5")),
            (("affix", "append"), ("id", "9"), ("sentAt", "70")),
        ),
    ],
)
def test_a_position_within_a_page_moves_after_the_last_item(
    position: tuple[tuple[str, str], ...], expected: tuple[tuple[str, str], ...]
) -> None:
    moved = after_last(structs.replace(IN_PAGE, position=position))
    assert moved == structs.replace(IN_PAGE, position=expected, is_inside=False)


@loop_over(
    "changes",
    [
        {"last": None}, {"last": "m-9"}, {"by_id": False}, {"is_inside": False}, {"given_here": 1},
        {"direction": None}, {"position": (("page", "2"),)},
        {"position": (("affix", "append"), ("updatedAt", "50"))},
        {"position": (("sentAt", "50"), ("id", "5")), "last_time": None},
    ],
)  # fmt: skip
def test_any_other_place_stays(changes: dict[str, object]) -> None:
    cursor = structs.replace(IN_PAGE, **changes)
    assert after_last(cursor) == cursor
