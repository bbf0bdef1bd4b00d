"""The benchmarks run, in the smallest size, and print their tables; no time is asserted."""

import gzip
import urllib.request

import aiohttp
import msgspec
import pytest

pytest.importorskip("httpx")
pytest.importorskip("pydantic")

from benchmarks import decode, export, import_time, measure, overhead, pace, pages, walk
from benchmarks.clients import CLIENTS
from benchmarks.server import KEY, Endless, Serving
from chatrest import App, AsyncSession
from chatrest.core.decode import many
from chatrest.emulator.service.request import Request
from chatrest.models.message import CallMessage, Message


def test_decode_prints_a_row_for_every_decoder_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    decode.main(["--rounds", "1", "--messages", "20"])
    shown = capsys.readouterr().out
    assert shown.startswith("Decoding a page of 20 messages (mixed ")
    assert "CPython" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert [sum(page in row[-3:-2] for row in rows) for page in ("mixed", "calls")] == [10, 10]
    assert all(shown.count(f"\n{name} ") >= 2 for name in (decode.ROWS, *decode.TWINS))


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


SMALL = ["--rounds=1", "--dlt-rounds=1", "--messages=1500", "--users=3", "--memory-messages=3000"]


def test_export_prints_its_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "has_dlt", lambda: False)
    export.main(SMALL)
    shown = capsys.readouterr().out
    assert shown.startswith("Exporting 1500 messages, against only receiving them")
    assert all(shown.count(f"\n{name} ") == 4 for name in (export.OURS, export.BARE, export.KEPT))
    assert [shown.count(f" {told} ") for told in ("one user", "3 users", "plain", "gzip")] == [6] * 4
    assert f"\n{export.WITHOUT_DLT}\n" in shown
    assert all(f"\n{messages} messages " in shown for messages in ("300", "3,000"))


@pytest.mark.skipif(not export.has_dlt(), reason="dlt is in the extra `compare` alone")
def test_dlt_writes_every_message() -> None:
    with Serving(1500) as server:
        case = export.Case("one user", "gzip", server.packed, [pages.UID], 1500)
        for ways in export.DLT.values():
            assert all(export.by_dlt(case, way) > 0 for way in ways.values())


def test_the_table_against_dlt_compares_like_with_like() -> None:
    names = [name for ours, ways in export.DLT.items() for name in (ours, *ways)]
    times = {name: [float(place + 1)] for place, name in enumerate(names)}
    rows = list(export._dlt_rows(times, 2))
    assert [row[0] for row in rows] == names
    assert [row[2:] for row in rows[:3]] == [("2", "", ""), ("1", "2.0", ""), ("1", "3.0", ">= 15")]
    assert [row[3] for row in rows[3:]] == ["", "1.2", "1.5"]


async def test_an_export_that_misses_a_message_is_no_measurement() -> None:
    with Serving(20) as server:
        async with AsyncSession(server.app) as session:
            case = export.Case("one user", "plain", server.app, [pages.UID], 20)
            assert await export.exported(session, case) > 0
            with pytest.raises(AssertionError, match="20 messages, 21 expected"):
                await export.exported(session, case._replace(messages=21))
        async with aiohttp.ClientSession(headers={"apikey": KEY}) as bare:
            addresses, size = await export.listed(bare, case)
            assert len(addresses) == 1
            with pytest.raises(AssertionError, match=f"{size} bytes, {size + 1} expected"):
                await export.received(bare, addresses, size + 1)


def test_the_server_sends_gzip_to_those_who_accept_it() -> None:
    with Serving(20) as server:
        plain, coding = got(server.app, "identity")
        assert coding is None
        assert got(server.app, "gzip") == got(server.packed, "identity") == (plain, None)
        packed, coding = got(server.packed, "deflate, gzip")
        assert coding == "gzip"
        assert gzip.decompress(packed) == plain


def got(app: App, accepted: str) -> tuple[bytes, str | None]:
    headers = {"apikey": KEY, "Accept-Encoding": accepted}
    asked = urllib.request.Request(f"{app.chat_url}/users/{pages.UID}/messages?perPage=5", headers=headers)
    with urllib.request.urlopen(asked) as response:
        return response.read(), response.headers["Content-Encoding"]


def test_an_endless_list_has_an_end() -> None:
    endless = Endless(250)
    seen: list[str] = []
    for after in ("", "&id=100", "&id=200", "&id=250"):
        body = endless.answer(Request("GET", "", f"perPage=100&affix=append{after}", {})).body
        page = many(Message)(body)
        assert not page.repairs
        seen += [item.id for item in page.items]
        assert msgspec.json.decode(body)["meta"]["cursor"]["id"] == len(seen)
    assert seen == [str(number) for number in range(1, 251)]
    newest = endless.answer(Request("GET", "", "affix=prepend&limit=1", {})).body
    assert [item.id for item in many(Message)(newest).items] == ["250"]


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
        yield many(Message)(pages.mixed(size)).items[0]

    assert await walk._turn(one, 1, ["1"]) >= 0
    with pytest.raises(AssertionError, match="1 messages, 2 expected"):
        await walk._turn(one, 1, ["1", "2"])


def test_the_page_of_calls_holds_calls_alone() -> None:
    found = many(Message)(pages.calls(30))
    assert {type(item) for item in found.items} == {CallMessage}
    assert len(found.items) == 30


def test_the_odd_pages_hold_the_same_messages() -> None:
    served = pages.mixed(50)
    expected = many(Message)(served)
    assert many(Message)(pages.with_text_ids(served)).items == expected.items
    coerced = many(Message)(pages.with_number_ids(served))
    assert coerced.repairs[0] == "data[*].id: expected text, got whole number (50 records)"
    assert coerced.items == expected.items
    assert many(Message)(pages.with_a_stranger(served)).items[:-1] == expected.items[:-1]


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
