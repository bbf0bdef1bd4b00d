"""The benchmarks run in a small size and print their tables; no time is asserted."""

import gzip
import urllib.request

import aiohttp
import msgspec
import pytest

pytest.importorskip("httpx")
pytest.importorskip("pydantic")

from benchmarks import (
    ahead,
    decode,
    export,
    fan_out,
    import_time,
    measure,
    overhead,
    pace,
    pages,
    split,
    waits,
    walk,
)
from benchmarks.clients import CLIENTS
from benchmarks.server import KEY, ComposedList, ServerProcess
from benchmarks.virtual_time import run
from chatrest import App, AsyncSession
from chatrest.core.decode import many
from chatrest.emulator import RateLimit
from chatrest.emulator.service.request import Request
from chatrest.models.message import CallMessage, Message


def test_decode_prints_a_row_for_every_decoder_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    decode.main(["--rounds", "1", "--messages", "20"])
    output = capsys.readouterr().out
    assert output.startswith("Decoding a page of 20 messages (mixed ")
    assert "CPython" in output
    rows = [line.split() for line in output.splitlines()]
    assert [sum(page in row[-3:-2] for row in rows) for page in ("mixed", "calls")] == [10, 10]
    assert all(output.count(f"\n{name} ") >= 2 for name in (decode.ROWS, *decode.ODD_PAGES))


def test_walk_prints_a_row_for_every_client_and_size(capsys: pytest.CaptureFixture[str]) -> None:
    walk.main(["--rounds", "1", "--messages", "250"])
    output = capsys.readouterr().out
    assert output.startswith("A typed walk over 250 messages on loopback")
    assert all(output.count(f"\n{client} ") == len(walk.GOALS) for client in CLIENTS)
    assert all(output.count(f" {goal}\n") == 1 for goal in ("<= 1.10", "<= 1.05"))


def test_ahead_prints_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    ahead.main(["--rounds=1", "--pages=3", "--latency=1", "--messages=250"])
    output = capsys.readouterr().out
    assert output.startswith("A walk over 3 pages of 100 messages, with 1 ms of work on each")
    assert all(output.count(f"\n{name} ") == 1 + len(ahead.SIZES) for name in ahead.CONTESTANTS)
    assert output.count(" <= 0.60\n") == 2


async def test_a_walk_ahead_without_all_messages_is_an_error() -> None:
    with ServerProcess(20) as server:
        async with AsyncSession(server.app) as session:
            for contestant in ahead.CONTESTANTS.values():
                await ahead._consume(session, contestant, 7, 20, 0)
                with pytest.raises(AssertionError, match="20 messages, 21 expected"):
                    await ahead._consume(session, contestant, 7, 21, 0)


def test_split_prints_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    split.main(["--rounds=1", "--pages=6", "--latency=11", "--messages=250"])
    output = capsys.readouterr().out
    assert output.startswith("A list of 6 pages of 100 messages")
    assert all(output.count(f"\n{name} ") == 1 + len(split.SIZES) for name in split.CONTESTANTS)
    assert output.count(" >= 10.0\n") == 2


def test_import_time_prints_a_row_for_every_statement(capsys: pytest.CaptureFixture[str]) -> None:
    import_time.main(["--rounds", "1"])
    output = capsys.readouterr().out
    assert all(f"\n{statement} " in output for statement in import_time.STATEMENTS)


def test_overhead_prints_a_row_for_every_call_and_client(capsys: pytest.CaptureFixture[str]) -> None:
    overhead.main(["--rounds", "1", "--calls", "3", "--at-once", "5"])
    output = capsys.readouterr().out
    assert output.startswith("A call with all features")
    assert all(output.count(f"\n{case.name} ") == 3 for case in overhead.cases(5))
    goals = {" <= +25 µs\n": 2, " <= +45 µs\n": 1, " <= 1.2 x\n": 1}
    assert {goal: output.count(goal) for goal in goals} == goals


def test_fan_out_prints_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    fan_out.main(["--rounds=1", "--users=20", "--at-once=5", "--items=1000"])
    output = capsys.readouterr().out
    assert output.startswith("A page for each of 20 users, 5 at once")
    names = (fan_out.BARE, fan_out.OURS, fan_out.ORDERED, fan_out.ONE_BY_HAND)
    assert all(output.count(f"\n{name}  ") == 1 for name in names)
    assert output.count(f" <= {fan_out.MOST_TIMES}\n") == 2
    rows = [line.split("  ") for line in output.splitlines()]
    hanging = {row[0]: float(row[-1].replace(",", "")) for row in rows if "group=" in row[0]}
    assert hanging["group=app"] < 1 < fan_out.HANGING < hanging["without group="]


SMALL = ["--rounds=1", "--dlt-rounds=1", "--messages=1500", "--users=3", "--memory-messages=3000"]


def test_export_prints_its_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "has_dlt", lambda: False)
    export.main(SMALL)
    output = capsys.readouterr().out
    assert output.startswith("Exporting 1500 messages, against only receiving them")
    assert all(output.count(f"\n{name} ") == 4 for name in (export.OURS, export.RECEIVED, export.WRITTEN))
    assert [output.count(f" {text} ") for text in ("one user", "3 users", "plain", "gzip")] == [6] * 4
    assert f"\n{export.WITHOUT_DLT}\n" in output
    assert all(f"\n{messages} messages " in output for messages in ("300", "3,000"))


@pytest.mark.skipif(not export.has_dlt(), reason="needs the extra `compare`")
def test_dlt_writes_every_message() -> None:
    with ServerProcess(1500) as server:
        case = export.Case("one user", "gzip", server.packed, [pages.UID], 1500)
        for variants in export.DLT.values():
            assert all(export.measure_dlt(case, variant) > 0 for variant in variants.values())


def test_the_table_against_dlt_compares_equal_formats() -> None:
    names = [name for ours, variants in export.DLT.items() for name in (ours, *variants)]
    times = {name: [float(index + 1)] for index, name in enumerate(names)}
    rows = list(export._dlt_rows(times, 2))
    assert [row[0] for row in rows] == names
    assert [row[2:] for row in rows[:3]] == [("2", "", ""), ("1", "2.0", ""), ("1", "3.0", ">= 15")]
    assert [row[3] for row in rows[3:]] == ["", "1.2", "1.5"]


async def test_an_export_without_all_messages_is_an_error() -> None:
    with ServerProcess(20) as server:
        async with AsyncSession(server.app) as session:
            case = export.Case("one user", "plain", server.app, [pages.UID], 20)
            assert await export.measure_export(session, case) > 0
            with pytest.raises(AssertionError, match="20 messages, 21 expected"):
                await export.measure_export(session, case._replace(messages=21))
        async with aiohttp.ClientSession(headers={"apikey": KEY}) as bare:
            addresses, size = await export.list_pages(bare, case)
            assert len(addresses) == 1
            with pytest.raises(AssertionError, match=f"{size} bytes, {size + 1} expected"):
                await export.measure_receiving(bare, addresses, size + 1)


def test_the_server_sends_gzip_to_clients_that_accept_it() -> None:
    with ServerProcess(20) as server:
        plain, coding = fetch(server.app, "identity")
        assert coding is None
        assert fetch(server.app, "gzip") == fetch(server.packed, "identity") == (plain, None)
        packed, coding = fetch(server.packed, "deflate, gzip")
        assert coding == "gzip"
        assert gzip.decompress(packed) == plain


def fetch(app: App, accepted: str) -> tuple[bytes, str | None]:
    headers = {"apikey": KEY, "Accept-Encoding": accepted}
    request = urllib.request.Request(f"{app.chat_url}/users/{pages.UID}/messages?perPage=5", headers=headers)
    with urllib.request.urlopen(request) as response:
        return response.read(), response.headers["Content-Encoding"]


def test_a_composed_list_has_an_end() -> None:
    composed = ComposedList(250)
    ids: list[str] = []
    for after in ("", "&id=100", "&id=200", "&id=250"):
        body = composed.answer(Request("GET", "", f"perPage=100&affix=append{after}", {})).body
        page = many(Message)(body)
        assert not page.repairs
        ids += [item.id for item in page.items]
        assert msgspec.json.decode(body)["meta"]["cursor"]["id"] == len(ids)
    assert ids == [str(number) for number in range(1, 251)]
    newest = composed.answer(Request("GET", "", "affix=prepend&limit=1", {})).body
    assert [item.id for item in many(Message)(newest).items] == ["250"]


async def test_both_clients_get_the_same_records() -> None:
    with overhead.run_server() as app:
        async with overhead.PlainClient(app) as plain, overhead.ChatrestClient(app, 2) as client:
            for call in ("request", "late"):
                assert await getattr(plain, call)() == await getattr(client, call)()
            assert [item.id for item in await plain.page()] == [item.id for item in await client.page()]
            assert (await plain.send()).id == (await client.send()).id


BRIEF = ["--settle=1", "--seconds=1", "--tasks=3"]


def test_pace_prints_a_row_for_every_limit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = [row._replace(limit=msgspec.structs.replace(row.limit, per_window=5)) for row in pace.ROWS]
    monkeypatch.setattr(pace, "ROWS", small)
    pace.main([*BRIEF, "--announced", "headers"])
    output = capsys.readouterr().out
    assert output.startswith("3 tasks per session call without pause")
    assert all(output.count(f"\n{row.name} ") == 1 for row in pace.ROWS)
    assert output.count(f"  >= {pace.LEAST_OF_MOST:.2f}\n") == 1
    assert all(f"\n{name} " in output for name in ("no Retry-After", "Retry-After: 60"))


def test_pace_prints_only_the_chosen_rows(capsys: pytest.CaptureFixture[str]) -> None:
    pace.main([*BRIEF, "--rows", "sliding 10 ", "5/s"])
    output = capsys.readouterr().out
    counts = {row.name: output.count(f"\n{row.name} ") for row in pace.ROWS if row.name in output}
    assert counts == {"bucket 5/s, burst 5": 3, "sliding 10 in 1 s": 3}
    assert all(output.count(f" {name} ") == 2 for name in ("headers", "nothing"))
    assert " of 6 reach every goal" in output
    with pytest.raises(SystemExit):
        pace.main(["--rows", "sliding 11"])
    assert "sliding 10 in 1 s" in capsys.readouterr().err


def test_the_use_of_a_limit_is_what_the_emulator_allowed() -> None:
    row = pace.Row(
        "10/s, then 30/s", RateLimit(kind="bucket", per_window=10, window=1), span=pace.Span(5, 20)
    )
    row = row._replace(later=RateLimit(kind="bucket", per_window=60, window=2))
    assert row.allowed(20) == 10 * 10 + 10 * 30
    results = [run(pace.measure_limit(row, "Retry-After", tasks=4, seed=3)) for _ in range(2)]
    assert results[0] == results[1]
    answered = sum(results[0].accepted)
    assert results[0].used == pytest.approx(answered / 400, abs=8 / 400)  # those under way at begin and end
    assert 0 < results[0].gap <= 20


def test_waits_prints_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    waits.main(["--rounds=1", "--waiting=30", "--hanging=110", "--seconds=1", "--calls=2"])
    output = capsys.readouterr().out
    assert [output.count(f"  {lane} ") for lane in ("interactive", "       bulk")] == [2, 2]
    names = ("a region", "1 app", *(f"{number} apps" for number in waits.HANGING_APPS[1:]))
    assert all(f"\n{name}, {other} " in output for name in names for other in ("idle", "hanging"))


async def test_a_walk_without_all_messages_is_an_error() -> None:
    async def walk_one(size: int):
        yield many(Message)(pages.mixed(size)).items[0]

    assert await walk._measure(walk_one, 1, ["1"]) >= 0
    with pytest.raises(AssertionError, match="1 messages, 2 expected"):
        await walk._measure(walk_one, 1, ["1", "2"])


def test_the_page_of_calls_has_only_calls() -> None:
    page = many(Message)(pages.calls(30))
    assert {type(item) for item in page.items} == {CallMessage}
    assert len(page.items) == 30


def test_the_odd_pages_have_the_same_messages() -> None:
    served = pages.mixed(50)
    expected = many(Message)(served)
    assert many(Message)(pages.with_text_ids(served)).items == expected.items
    coerced = many(Message)(pages.with_number_ids(served))
    assert coerced.repairs[0] == "data[*].id: expected text, got whole number (50 records)"
    assert coerced.items == expected.items
    assert many(Message)(pages.with_unknown_record(served)).items[:-1] == expected.items[:-1]


def test_each_contestant_runs_once_per_round_and_the_first_round_does_not_count() -> None:
    runs = list(measure.turns("abc", 4))
    assert sorted(runs[:3]) == [("a", False), ("b", False), ("c", False)]
    assert sorted(runs[3:]) == [(name, True) for name in "abc" for _ in range(4)]


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    assert measure.ratio({"x": [1, 20, 3], "y": [1, 10, 1]}, "x", "y") == 2


def test_a_table_is_aligned() -> None:
    output = measure.table(("name", "µs"), [("one", "1.00"), ("eleven", "11.00")])
    assert output.splitlines() == ["name       µs", "------  -----", "one      1.00", "eleven  11.00"]


@pytest.mark.parametrize("wrong", ["0", "-1", "1.5", "many"])
def test_a_count_is_a_whole_number_from_1(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        decode.main(["--rounds", wrong])
    assert "allowed is a whole number from 1" in capsys.readouterr().err
