"""Pieces: none is lost, none is read twice, and another reader begins where a part of one is given away."""

import asyncio
import random
from contextlib import suppress

import pytest

from chatrest.export.fetch.jobs import ListPiece, PieceQueue
from tests.cases import loop_over

pytestmark = pytest.mark.usefixtures("tidy")


def piece(after: int = 0, until: int = 100) -> ListPiece:
    return ListPiece(of="a list", after=after, until=until)


@loop_over("seed", range(5))
async def test_readers_that_give_parts_away_at_random_cover_every_id_once(seed: int) -> None:
    dice, ids = random.Random(seed), list[int]()
    pieces = [piece(number * 1000, number * 1000 + dice.randrange(1, 1000)) for number in range(4)]
    expected = [number for each in pieces for number in range(each.after + 1, each.until + 1)]
    most, now, highest = dice.randrange(1, 9), 0, 0
    queue = PieceQueue(pieces, most)

    async def read(part: ListPiece) -> None:
        nonlocal now, highest
        now += 1
        highest = max(highest, now)
        covered, until = part.after, part.until
        while covered < until:
            last = min(covered + 7, until)
            ids.extend(range(covered + 1, last + 1))
            covered = last
            if queue.is_wanting and until - covered > 56:
                if dice.random() < 0.3:  # somebody else may give one meanwhile
                    await asyncio.sleep(0)
                middle = covered + (until - covered) // 2
                queue.give(piece(middle, until))
                until = middle
            if dice.random() < 0.3:
                await asyncio.sleep(0)
        now -= 1

    async with asyncio.timeout(120):
        await queue.read_all(read)
    assert sorted(ids) == expected
    assert highest <= most
    assert len(queue) == 0


async def test_an_error_of_one_reader_ends_the_others() -> None:
    queue, ended = PieceQueue([piece(), piece(100, 200)], 2), list[int]()

    async def read(part: ListPiece) -> None:
        if part.after:
            raise OSError
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        ended.append(part.after)

    with pytest.raises(ExceptionGroup):
        await queue.read_all(read)
    assert ended == [0]
