"""The demo's walks: every message once, groups and all."""

import asyncio
import json
from pathlib import Path

import pytest

from chatrest import AsyncSession, ServerError
from chatrest.cli.demo import walks
from chatrest.cli.demo.files import Folder
from chatrest.emulator import Emulator


def records(*paths: Path) -> list[dict[str, str]]:
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]


async def test_every_message_is_in_one_span_in_the_order_of_time(tmp_path: Path) -> None:
    folder, ticks = Folder(tmp_path), []
    folder.plan(walks.span_files())
    async with Emulator(users=5, messages=700, seed=3) as emulator, AsyncSession(emulator.app) as session:
        tally = await walks.everything(session, walks.span_files(), folder, ticks.append)
        stored = emulator.store.ids()
    found = records(*(tmp_path / name for name in walks.span_files()))
    assert [int(record["id"]) for record in found] == stored
    assert (len(tally.records), tally.repeats, tally.files, sum(ticks)) == (700, 0, walks.SPANS, 700)
    assert tally.size == sum(len((tmp_path / name).read_bytes()) for name in walks.span_files())


async def test_every_conversation_of_a_user_has_its_file(tmp_path: Path) -> None:
    folder, ticks = Folder(tmp_path), []
    async with Emulator(users=6, messages=400, seed=3) as emulator, AsyncSession(emulator.app) as session:
        uid, *others = emulator.store.people.uids()
        files = walks.conversation_files(uid, others)
        folder.plan(files.values())
        tally = await walks.conversations(session, uid, files, folder, ticks.append)
        talks = {other: emulator.store.ids(conversation=f"{uid}_user_{other}") for other in others}
    for other, ids in talks.items():
        path = tmp_path / files[other]
        assert path.exists() == bool(ids)
        assert not ids or [int(record["id"]) for record in records(path)] == ids
    assert len(tally.records) == sum(map(len, talks.values())) > 0
    assert len(tally.conversations) == tally.files == sum(map(bool, talks.values()))
    assert len(ticks) == len(others)


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_a_small_store_has_fewer_spans(tmp_path: Path, count: int) -> None:
    folder = Folder(tmp_path)
    folder.plan(walks.span_files())
    async with Emulator(users=2, messages=count, groups=0) as emulator, AsyncSession(emulator.app) as session:
        tally = await walks.everything(session, walks.span_files(), folder, lambda _: None)
    assert (len(tally.records), tally.repeats) == (count, 0)


async def test_no_more_walks_at_once_than_allowed_and_the_first_failure_ends_all() -> None:
    running = most = done = 0

    async def work(number: int) -> None:
        nonlocal running, most, done
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        if number == 40:
            raise ServerError("down")
        done += 1

    with pytest.raises(ExceptionGroup) as raised:
        await walks._at_once(work(number) for number in range(100))
    assert [str(error) for error in raised.value.exceptions] == ["down"]
    assert most == walks.AT_ONCE
    assert done < 50
