"""`walk.page(n)`: some items and a token, for an endpoint that serves one page after another."""

from typing import Any

import pytest

from chatrest import AsyncSession, MessageQuery, RequestInvalidError, ServerError
from chatrest.emulator import Emulator
from tests.cases import loop_over
from tests.walk.service_model import Service, rules_for, run, walk_over

pytestmark = pytest.mark.usefixtures("tidy")


@pytest.mark.parametrize("cursor_key", [None, b"0123456789abcdef"])
async def test_a_token_leads_to_the_next_page_in_another_process(cursor_key: bytes | None) -> None:
    async with Emulator(users=3, messages=45, seed=1) as emulator:
        ids: list[str] = []
        token, sizes, query = None, [], MessageQuery(affix="prepend")
        for _ in range(3):
            async with AsyncSession(emulator.app, cursor_key=cursor_key) as session:
                page = await session.messages.list(query, cursor=token).page(20)
                ids += [message.id for message in page.items]
                sizes.append(len(page.items))
                token = page.next
                expected = [message.id for message in await session.messages.list(query).collect()]
    assert ids == expected
    assert sizes == [20, 20, 5]
    assert token is None


@loop_over("dialect", ["cursor", "next", "pages"])
@loop_over("count", [1, 4, 7, 20, 100])
def test_one_walk_gives_one_page_after_another(dialect: str, count: int) -> None:
    service = Service(tuple(range(1, 41)), dialect=dialect)
    walk, tokens, got = service.walk(4), [], []
    while True:
        page = run(walk.page(count))
        assert len(page.items) <= count
        got += [item.id for item in page.items]
        if page.next is None:
            break
        assert page.next == str(walk.cursor)
        tokens.append(page.next)
    assert got == service.expected("append")
    assert len(tokens) in (40 // count, 39 // count)


def test_the_end_needs_no_further_request_where_the_reply_shows_it() -> None:
    service = Service(tuple(range(1, 26)), pagination=True)
    walk = walk_over(service.fetch, service.walk(20).cursor, rules_for(1000))
    first, second = run(walk.page(20)), run(walk.page(20))
    assert [len(first.items), len(second.items)] == [20, 5]
    assert first.next is not None
    assert second.next is None
    assert [asked["limit"] for asked in service.asked] == ["20", "20"]


def test_a_page_that_holds_more_than_was_asked_for_is_cut_and_goes_on_inside() -> None:
    service = Service(tuple(range(1, 10)))
    walk = walk_over(service.fetch, service.walk(5).cursor, rules_for(9, size_asked=True))
    pages = [run(walk.page(4)) for _ in range(3)]
    assert [[item.id for item in page.items] for page in pages] == [list("1234"), list("5678"), ["9"]]
    assert [page.next is None for page in pages] == [False, False, True]


def test_a_limit_is_the_end_and_another_walk() -> None:
    service = Service(tuple(range(1, 41)))
    walk = service.walk(4)
    assert [len(run(walk.limit(5).page(3)).items) for _ in range(2)] == [3, 3]
    assert walk.cursor.last is None
    limited = walk.limit(5)
    pages = [run(limited.page(3)), run(limited.page(3)), run(limited.page(3))]
    assert [len(page.items) for page in pages] == [3, 2, 0]
    assert [page.next is None for page in pages] == [False, True, True]


def test_after_an_error_the_walk_is_where_it_was() -> None:
    service = Service(tuple(range(1, 41)), faults={1: ServerError("oops")})
    walk = service.walk(4)
    before = str(walk.cursor)
    with pytest.raises(ServerError):
        run(walk.page(10))
    assert str(walk.cursor) == before
    assert [item.id for item in run(walk.page(3)).items] == ["1", "2", "3"]


@loop_over("count", [0, -1, 1.0, True, None, "5"])
def test_a_wrong_count(count: Any) -> None:
    with pytest.raises(RequestInvalidError, match="count"):
        run(Service((1,)).walk(4).page(count))
