"""Pieces: none is lost, none is read twice, and an idle reader gets a part of what is left."""

import asyncio
import random

import pytest

from chatrest.export.fetch.pieces import ListPiece, PieceQueue, cut
from chatrest.export.plan.intervals import LAST
from tests.cases import loop_over

NAMED = (("affix", "append"), ("id", "9"))
pytestmark = pytest.mark.usefixtures("tidy")


def piece(after: int = 0, until: int = 100, **more: object) -> ListPiece[str]:
    return ListPiece(of="a list", after=after, until=until, **more)  # type: ignore[arg-type]


def fields(part: ListPiece[str] | None) -> tuple[object, ...]:
    assert part is not None
    return part.of, part.after, part.until, part.position, part.is_guess, part.may_be_cut


async def let_others_run(times: int = 5) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


# ── sharing ──


async def test_an_idle_reader_waits_while_a_busy_one_may_give_a_piece() -> None:
    queue = PieceQueue([piece()])
    assert await queue.take() is not None
    assert not queue.is_wanting
    idle = asyncio.create_task(queue.take())
    await let_others_run()
    assert not idle.done()
    assert queue.is_wanting
    upper = piece(50)
    queue.give(upper)
    assert not queue.is_wanting, "a piece waits for the idle reader"
    assert await idle is upper
    queue.done()
    last = asyncio.create_task(queue.take())
    await let_others_run()
    assert not last.done(), "the second piece is not done"
    queue.done()
    assert await last is None
    assert not queue.is_wanting


async def test_all_waiting_readers_return_when_the_last_piece_is_done() -> None:
    queue = PieceQueue([piece()])
    await queue.take()
    idle = [asyncio.create_task(queue.take()) for _ in range(9)]
    await let_others_run()
    queue.done()
    assert await asyncio.gather(*idle) == [None] * 9


@pytest.mark.parametrize("is_before", [True, False])
async def test_a_cancelled_reader_takes_no_piece_with_it(is_before: bool) -> None:
    queue, upper = PieceQueue([piece()]), piece(50)
    await queue.take()
    first, second = asyncio.create_task(queue.take()), asyncio.create_task(queue.take())
    await let_others_run()
    if is_before:
        first.cancel()
        await let_others_run()
        queue.give(upper)
    else:
        queue.give(upper)
        first.cancel()  # at the very moment in which it is woken
    await let_others_run()
    assert first.cancelled()
    assert second.done()
    assert await second is upper
    assert not queue.is_wanting


@loop_over("seed", range(5))
async def test_readers_that_cut_and_yield_at_random_cover_every_id_once(seed: int) -> None:
    dice, ids = random.Random(seed), list[int]()
    pieces = [piece(number * 1000, number * 1000 + dice.randrange(1, 1000)) for number in range(4)]
    expected = [number for each in pieces for number in range(each.after + 1, each.until + 1)]
    queue = PieceQueue(pieces)

    async def read() -> None:
        while (part := await queue.take()) is not None:
            covered = part.after
            while covered < part.until:
                last = min(covered + 7, part.until)
                ids.extend(range(covered + 1, last + 1))
                covered = last
                if queue.is_wanting and part.until - covered > 56:
                    queue.give(cut(part, covered + (part.until - covered) // 2))
                if dice.random() < 0.3:
                    await asyncio.sleep(0)
            queue.done()

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for _ in range(dice.randrange(1, 9)):
            group.create_task(read())
    assert sorted(ids) == expected


# ── cutting ──


def test_a_piece_is_cut_at_an_id() -> None:
    part = piece(3, LAST, position=NAMED)
    upper = cut(part, 50)
    assert fields(part) == ("a list", 3, 50, NAMED, False, True)
    assert fields(upper) == ("a list", 50, LAST, (), True, True)
    assert upper.is_open
    assert not part.is_open
