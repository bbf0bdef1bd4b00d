"""The benchmarks run, in the smallest size, and print their tables; no time is asserted."""

import pytest

pytest.importorskip("httpx")
pytest.importorskip("pydantic")

from benchmarks import decode, import_time, measure, overhead, pace, pages, walk
from benchmarks.clients import CLIENTS
from chatrest.core.decode import MESSAGE, Many
from chatrest.models.message import CallMessage


def test_decode_prints_a_row_for_every_decoder_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    decode.main(["--rounds", "1", "--messages", "20"])
    shown = capsys.readouterr().out
    assert shown.startswith("Decoding a page of 20 messages (mixed ")
    assert "CPython" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert [sum(page in row[-3:-2] for row in rows) for page in ("mixed", "calls")] == [7, 7]
    assert shown.count("chatrest, the patient way") == 2


def test_walk_prints_a_row_for_every_client_and_size(capsys: pytest.CaptureFixture[str]) -> None:
    walk.main(["--rounds", "1", "--messages", "250"])
    shown = capsys.readouterr().out
    assert shown.startswith("A typed walk over 250 messages on loopback")
    assert all(shown.count(f"\n{client} ") == len(walk.SIZES) for client in CLIENTS)


def test_import_time_prints_a_row_for_every_statement(capsys: pytest.CaptureFixture[str]) -> None:
    import_time.main(["--rounds", "1"])
    shown = capsys.readouterr().out
    assert all(f"\n{statement} " in shown for statement in import_time.STATEMENTS)


def test_overhead_prints_a_row_for_every_call_and_client(capsys: pytest.CaptureFixture[str]) -> None:
    overhead.main(["--rounds", "1", "--calls", "3", "--at-once", "5"])
    shown = capsys.readouterr().out
    assert shown.startswith("A call through the whole engine")
    assert all(shown.count(f"\n{case.told} ") == 3 for case in overhead.cases(5))
    assert shown.count(" <= +60 µs\n") == 3
    assert shown.count(" <= 1.3 x\n") == 1


async def test_all_that_are_compared_get_the_same() -> None:
    with overhead.serving() as app:
        async with overhead.Bare(app) as bare, overhead.Chatrest(app, 2) as ours:
            for call in ("request", "late"):
                assert await getattr(bare, call)() == await getattr(ours, call)()
            assert [item.id for item in await bare.page()] == [item.id for item in await ours.page()]
            assert (await bare.send()).id == (await ours.send()).id


def test_pace_prints_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {"window": 1, "windows": 1, "per-window": 50, "tasks": 3, "waiting": 30, "seconds": 1, "calls": 2}
    pace.main(["--rounds", "1", *(f"--{name}={size}" for name, size in sizes.items())])
    shown = capsys.readouterr().out
    assert all(f"\n{kind}, {told} " in shown for kind in pace.KINDS for told in pace.SPELLINGS)
    assert [shown.count(f"  {lane} ") for lane in ("interactive", "       bulk")] == [2, 2]
    assert all(f"\n{other} " in shown for other in ("idle", "hanging"))


async def test_a_walk_that_misses_a_message_is_no_measurement() -> None:
    async def one(size: int):
        yield Many(MESSAGE)(pages.mixed(size)).items[0]

    assert await walk._turn(one, 1, ["1"]) >= 0
    with pytest.raises(AssertionError, match="1 messages, 2 expected"):
        await walk._turn(one, 1, ["1", "2"])


def test_the_page_of_calls_holds_calls_alone() -> None:
    found = Many(MESSAGE)(pages.calls(30))
    assert {type(item) for item in found.items} == {CallMessage}
    assert len(found.items) == 30


def test_number_ids_take_the_patient_way() -> None:
    served = pages.mixed(5)
    mended = Many(MESSAGE)(pages.with_number_ids(served))
    assert mended.repairs
    assert [item.id for item in mended.items] == [item.id for item in Many(MESSAGE)(served).items]


def test_everyone_has_a_turn_a_round_and_the_first_round_does_not_count() -> None:
    seen = list(measure.turns("abc", 4))
    assert sorted(seen[:3]) == [("a", False), ("b", False), ("c", False)]
    assert sorted(seen[3:]) == [(name, True) for name in "abc" for _ in range(4)]


def test_a_ratio_is_the_median_of_the_rounds_own() -> None:
    assert measure.ratio({"x": [1, 20, 3], "y": [1, 10, 1]}, "x", "y") == 2


def test_a_table_is_aligned() -> None:
    shown = measure.table(("name", "µs"), [("one", "1.00"), ("eleven", "11.00")])
    assert shown.splitlines() == ["name       µs", "------  -----", "one      1.00", "eleven  11.00"]


@pytest.mark.parametrize("wrong", ["0", "-1", "1.5", "many"])
def test_a_count_is_a_whole_number_from_1(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        decode.main(["--rounds", wrong])
    assert "allowed is a whole number from 1" in capsys.readouterr().err
