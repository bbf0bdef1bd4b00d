"""The journal of a fan-out: what a job that was stopped or killed does again, and what it refuses."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from chatrest import App, RequestInvalidError
from tests.fanning import Log, session
from tests.virtual_time import run

few = settings(max_examples=30, deadline=None, database=None)


async def outcomes_of(path: Path, items: Any, log: Log, **options: Any) -> list[Any]:
    async with session().fan_out(items, log.work, journal=path, **options) as outcomes:
        return [outcome.item async for outcome in outcomes]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "job.journal"


def test_a_finished_job_has_nothing_left(path: Path) -> None:
    assert sorted(run(outcomes_of(path, range(9), Log()))) == list(range(9))
    log = Log()
    assert run(outcomes_of(path, range(12), log)) == log.begun == [9, 10, 11]


@given(
    stops=st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["break", "error"])), max_size=4),
    seconds=st.lists(st.integers(0, 4), min_size=1, max_size=25),
    concurrency=st.integers(1, 4),
    ordered=st.booleans(),
)
@few
def test_a_job_that_stops_anywhere_deals_with_every_item(
    stops: list[tuple[int, str]],
    seconds: list[int],
    concurrency: int,
    ordered: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("jobs") / "job.journal"
    dealt_with: list[int] = []

    async def part(stop: int | None, how: str) -> None:
        log = Log(seconds=lambda item: seconds[item])
        options: dict[str, Any] = {"concurrency": concurrency, "ordered": ordered, "journal": path}
        async with session().fan_out(range(len(seconds)), log.work, **options) as outcomes:
            left = stop
            async for outcome in outcomes:
                if left == 0 and how == "error":
                    raise LookupError
                dealt_with.append(outcome.item)
                if left == 0:
                    break
                left = None if left is None else left - 1

    for stop, how in stops:
        with suppress(LookupError):
            run(part(stop, how))
    run(part(None, ""))
    # Whatever the consumer has dealt with is never given again, and nothing is left out.
    assert sorted(dealt_with) == list(range(len(seconds)))


def test_an_outcome_that_the_consumer_failed_with_comes_again(path: Path) -> None:
    async def part() -> None:
        async with session().fan_out([1, 2, 3], Log().work, concurrency=1, journal=path) as outcomes:
            async for outcome in outcomes:
                if outcome.item == 2:
                    raise LookupError

    with pytest.raises(LookupError):
        run(part())
    assert run(outcomes_of(path, [1, 2, 3], Log())) == [2, 3]


def test_failed_items_have_an_outcome_unless_they_are_to_be_run_again(path: Path) -> None:
    assert len(run(outcomes_of(path, range(6), Log(fails=lambda item: item % 2 == 1)))) == 6
    assert run(outcomes_of(path, range(6), Log())) == []
    again = Log(fails=lambda item: item == 3)
    assert sorted(run(outcomes_of(path, range(6), again, retry_failed=True))) == [1, 3, 5]
    assert run(outcomes_of(path, range(6), Log(), retry_failed=True)) == [3]
    assert run(outcomes_of(path, range(6), Log(), retry_failed=True)) == []


def test_skipped_items_are_counted(path: Path) -> None:
    run(outcomes_of(path, range(700), Log(fails=lambda item: item < 4)))

    async def main() -> None:
        async with session().fan_out(range(702), Log().work, journal=path) as outcomes:
            assert len([outcome async for outcome in outcomes]) == 2
            assert (outcomes.counts.skipped, outcomes.counts.skipped_failed) == (700, 4)
            assert "700 skipped" in repr(outcomes)

    run(main())


def test_items_are_told_apart_by_their_key(path: Path) -> None:
    items = [App("app-1", "secret-key-1", base_url="http://127.0.0.1:1"), object()]

    def key(item: Any) -> str:
        return item.app_id if isinstance(item, App) else "other"

    run(outcomes_of(path, items[:1], Log(), key=key))
    assert run(outcomes_of(path, items, Log(), key=key)) == items[1:]
    assert b"secret" not in path.read_bytes()
    with pytest.raises(RequestInvalidError, match=r"an item \[object\] has no JSON: give key="):
        run(outcomes_of(path.with_name("other"), items[1:], Log()))


# ── the file ──


@given(cut=st.integers(0, 400), garbage=st.binary(max_size=40))
@few
def test_a_cut_off_end_is_dropped(cut: int, garbage: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("jobs") / "job.journal"
    run(outcomes_of(path, range(8), Log(), concurrency=1))
    whole = path.read_bytes()
    header, lines = whole.split(b"\n", 1)
    kept = lines[:cut]
    path.write_bytes(header + b"\n" + kept + garbage.replace(b"+", b"?").replace(b"-", b"?"))
    known = kept.count(b"\n")
    log = Log()
    done_again = run(outcomes_of(path, range(8), log, concurrency=1))
    # One more if the cut took only a line break, which the garbage begins with.
    assert done_again in (list(range(known, 8)), list(range(known + 1, 8)))
    assert path.read_bytes().startswith(whole[: len(header) + 1 + known * 34])
    assert run(outcomes_of(path, range(8), Log())) == []


@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_first_line_that_was_cut_off_is_written_anew(path: Path, length: int) -> None:
    run(outcomes_of(path, [1], Log()))
    path.write_bytes(path.read_bytes()[:length])
    assert run(outcomes_of(path, [1], Log())) == [1]
    assert run(outcomes_of(path, [1], Log())) == []


def test_damage_in_the_midst_is_refused(path: Path) -> None:
    run(outcomes_of(path, range(4), Log()))
    data = bytearray(path.read_bytes())
    data[data.index(b"\n") + 36] = ord("?")
    path.write_bytes(data)
    with pytest.raises(RequestInvalidError, match="is damaged: line 3 is no outcome"):
        run(outcomes_of(path, range(4), Log()))
    assert path.read_bytes() == data


@pytest.mark.parametrize("text", [b"notes\n", b"notes", b'{"chatrest":"cursor"}\n', b"\n"])
def test_a_file_that_is_no_journal_is_left_as_it_is(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(RequestInvalidError, match="is not a journal of outcomes"):
        run(outcomes_of(path, [1], Log()))
    assert path.read_bytes() == text


def test_the_journal_of_another_job_is_refused(path: Path) -> None:
    run(outcomes_of(path, [1], Log(), job="nightly counts"))
    with pytest.raises(RequestInvalidError, match="belongs to the job 'nightly counts', and this job is 'x'"):
        run(outcomes_of(path, [1], Log(), job="x"))
    with pytest.raises(RequestInvalidError, match=r"this job is 'tests\.fanning\.Log\.work'"):
        run(outcomes_of(path, [1], Log()))


def test_the_journal_of_another_version_is_refused(path: Path) -> None:
    path.write_bytes(b'{"chatrest":"outcome journal","version":2,"job":"x"}\n')
    with pytest.raises(RequestInvalidError, match="has version 2: expected 1"):
        run(outcomes_of(path, [1], Log(), job="x"))


def test_a_job_has_the_name_of_its_worker(path: Path) -> None:
    async def main() -> None:
        log = Log()
        async with session().fan_out([1], partial(log.work), journal=path) as outcomes:
            assert [outcome.item async for outcome in outcomes] == [1]

    run(main())
    assert run(outcomes_of(path, [1], Log())) == []


def test_one_job_at_a_time_writes_a_journal(path: Path) -> None:
    async def main() -> None:
        async with session().fan_out([1], Log().work, journal=path):
            with pytest.raises(RequestInvalidError, match="is in use by another job"):
                await outcomes_of(path, [1], Log())
        assert await outcomes_of(path, [1], Log()) == [1]

    run(main())


def test_a_journal_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Is a directory"):
        run(outcomes_of(tmp_path, [1], Log()))
    with pytest.raises(FileNotFoundError):
        run(outcomes_of(tmp_path / "none" / "journal", [1], Log()))


def test_it_is_synced_once_a_second_and_at_the_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[float] = []

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        monkeypatch.setattr(os, "fsync", lambda _: synced.append(clock()))
        await outcomes_of(path, range(40), Log(seconds=lambda _: 0.25), concurrency=1)

    run(main())
    assert len(synced) in (10, 11)
    assert synced[-1] == 10.0


KILLED = """
import asyncio, os, sys
from tests.fanning import session

async def work(item):
    await asyncio.sleep(item % 3 / 1000)
    return item

async def main():
    async with session().fan_out(range(300), work, concurrency=7, journal=sys.argv[1], job="kill") as outs:
        number = 0
        async for outcome in outs:
            os.write(1, b"%d\\n" % outcome.item)
            number += 1
            if number == int(sys.argv[2]):
                os.kill(os.getpid(), 9)

asyncio.run(main())
"""


@pytest.mark.nightly
def test_a_killed_job_goes_on(path: Path) -> None:
    printed: list[int] = []
    for stop in (1, 40, 100, 0):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(stop)], capture_output=True, timeout=60
        )
        assert done.returncode == (-signal.SIGKILL if stop else 0), done.stderr
        printed += map(int, done.stdout.split())
    assert set(printed) == set(range(300))
    assert len(printed) == 300 + 3  # only the outcome that it died with comes again
