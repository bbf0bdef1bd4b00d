"""The benchmarks run in a small size and print their tables; no time is asserted."""

import gzip
import subprocess
import sys
import urllib.request
from argparse import Namespace
from collections.abc import Iterator
from contextlib import nullcontext

import aiohttp
import msgspec
import pytest
from msgspec import structs

pytest.importorskip("httpx")
pytest.importorskip("pydantic")
pytest.importorskip("distributed")

from benchmarks import (
    ahead,
    archive,
    credits as credits_benchmark,
    decode,
    export,
    fan_out,
    import_time,
    measure,
    memory,
    memory_uses,
    overhead,
    pace,
    pages,
    scale,
    scale_coordinator,
    scale_model,
    scale_rates,
    split,
    waits,
    walk,
)
from benchmarks.clients import CHATREST, CLIENTS
from benchmarks.server import KEY, ComposedList, ServerProcess
from benchmarks.virtual_time import run
from chatrest import App, AsyncSession
from chatrest.core.replies.decode import many
from chatrest.emulator import RateLimit
from chatrest.emulator.service.context import ServiceRequest as Request
from chatrest.models.messages import CallMessage, Message

MESSAGES = 250


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """A server of `MESSAGES` messages of one user; its start takes half a second."""
    with ServerProcess(MESSAGES) as running:
        yield running


@pytest.fixture(scope="module")
def replies() -> Iterator[App]:
    """The app of a server with fixed replies."""
    with overhead.run_server() as app:
        yield app


def rows_of(output: str, *, against: str = "") -> list[str]:
    """Return the lines of a table below its heads, of those with this text."""
    return [line for line in output.partition("\n---")[2].splitlines()[1:] if against in line]


def test_decode_prints_a_row_for_every_decoder_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    decode.main(["--rounds", "1", "--messages", "20"])
    output = capsys.readouterr().out
    assert output.startswith("Decoding a page of 20 messages\nCPython")
    assert "medians of 1 rounds" in output
    rows = rows_of(output)
    assert [sum(row.startswith(f"a page of {page}") for row in rows) for page in (decode.MIXED, "calls")] == [
        9,
        9,
    ]
    assert all(output.count(f": {name}  ") == 2 for name in decode.ODD_PAGES)
    assert sum("≤ 1.5" in row for row in rows) == 2 * len(decode.ODD_GOALS)


def test_walk_prints_a_row_for_every_other_client_and_size(capsys: pytest.CaptureFixture[str]) -> None:
    walk.main(["--rounds", "1", "--messages", "60"])
    output = capsys.readouterr().out
    assert output.startswith("A typed walk over 60 messages on loopback")
    others = [client for client in CLIENTS if client != CHATREST]
    assert all(output.count(f"  {client}  ") == len(walk.GOALS) for client in others)
    assert [output.count(goal) for goal in ("≤ 1.1 ", "≤ 1.05", "≤ 1.4", "≤ 0.14")] == [1, 1, 2, 2]


def test_ahead_prints_its_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: ServerProcess
) -> None:
    monkeypatch.setattr(ahead, "ServerProcess", lambda _: nullcontext(server))
    ahead.main(["--rounds=1", "--pages=3", "--latency=1", f"--messages={MESSAGES}"])
    output = capsys.readouterr().out
    assert output.startswith("A walk over 3 pages with 1 ms of work on each, and over 250 messages without")
    contestants = [name for name in ahead.CONTESTANTS if name != ahead.WITHOUT]
    assert all(output.count(f"\n{name}") == 1 + len(ahead.SIZES) for name in contestants)
    assert sum("≤ 0.6 " in row for row in rows_of(output)) == len(contestants)


async def test_a_walk_ahead_without_all_messages_is_an_error(server: ServerProcess) -> None:
    async with AsyncSession(server.app) as session:
        for contestant in ahead.CONTESTANTS.values():
            await ahead._consume(session, contestant, 70, MESSAGES, 0)
            with pytest.raises(AssertionError, match="250 messages, 251 expected"):
                await ahead._consume(session, contestant, 70, MESSAGES + 1, 0)


def test_split_prints_its_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: ServerProcess
) -> None:
    monkeypatch.setattr(split, "ServerProcess", lambda _: nullcontext(server))
    split.main(["--rounds=1", "--pages=6", "--latency=11", f"--messages={MESSAGES}"])
    output = capsys.readouterr().out
    assert output.startswith("A list of 6 pages, and one of 250 messages without latency")
    contestants = [name for name in split.CONTESTANTS if name != split.WALK]
    assert all(output.count(f"\n{name}: ") == 1 + len(split.SIZES) for name in contestants)
    goals = ("≤ 0.1 ", f"≤ {split.CPU_GOAL} ")
    assert [sum(goal in row for row in rows_of(output)) for goal in goals] == [2, 4]


def test_an_import_is_measured_in_an_interpreter_of_its_own() -> None:
    assert import_time.import_seconds("import sys") >= 0
    with pytest.raises(subprocess.CalledProcessError):
        import_time.import_seconds("import nothing_of_this_name")


def test_import_time_compares_every_statement_with_aiohttp(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_time, "import_seconds", lambda statement: len(statement) / 1000)
    import_time.main(["--rounds", "1"])
    rows = rows_of(capsys.readouterr().out)
    assert [row.split("`")[1] for row in rows] == list(import_time.STATEMENTS[:-1])
    assert [row.split()[-6:] for row in rows[:1]] == [["15", "14", "1.07", "≤", "0.33", "NO"]]


def test_overhead_prints_a_row_for_every_call_and_client(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, replies: App
) -> None:
    monkeypatch.setattr(overhead, "run_server", lambda: nullcontext(replies))
    overhead.main(["--rounds", "1", "--calls", "3", "--at-once", "5"])
    output = capsys.readouterr().out
    assert output.startswith("A call with all features")
    names = [name for case in overhead.cases(5) for name in (case.name, f"{case.name}, with a listener")]
    assert all(output.count(f"\n{name}  ") == 1 for name in names)
    goals = {"difference ≤ 25 ": 2, "difference ≤ 45 ": 1, "  ≤ 1.2 ": 1}
    assert {goal: output.count(goal) for goal in goals} == goals


def test_fan_out_prints_its_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, replies: App
) -> None:
    monkeypatch.setattr(fan_out, "run_server", lambda: nullcontext(replies))
    fan_out.main(["--rounds=1", "--users=20", "--at-once=5", "--hanging=600"])
    output = capsys.readouterr().out
    assert output.startswith("A page for each of 20 users, 5 at once")
    names = (fan_out.OURS, fan_out.ORDERED, fan_out.ONE_BY_HAND)
    assert all(output.count(f"\n{name}: ") == 1 for name in names)
    assert output.count(f" ≤ {fan_out.MOST_TIMES} ") == 2


def test_an_app_that_hangs_delays_the_others_only_without_a_group() -> None:
    comparison = fan_out._compare_hanging(600)
    assert comparison.ours is not None
    assert comparison.other is not None
    assert comparison.ours < 1 < fan_out.HANGING < comparison.other


# ── the export ──


def test_export_prints_its_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: ServerProcess
) -> None:
    monkeypatch.setattr(export, "has_dlt", lambda: False)
    servers = {1: server, 3: ServerProcess(MESSAGES, users=3)}
    monkeypatch.setattr(export, "ServerProcess", lambda _, users=1: nullcontext(servers[users]))
    with servers[3]:
        export.main(["--rounds=1", "--dlt-rounds=1", f"--messages={MESSAGES}", "--users=3"])
    output = capsys.readouterr().out
    assert output.startswith("Exporting 250 messages, in pages of up to 1000")
    cases = [
        f"an export of {plan}, {replies} replies"
        for plan in ("one user", "3 users")
        for replies in ("plain", "gzip")
    ]
    assert all(output.count(f"\n{case}  ") == 2 for case in cases)
    assert [output.count(f"  {name}  ") for name in (export.RECEIVED, export.WRITTEN)] == [4, 4]
    assert rows_of(output, against="dlt")[0].split("not measured: ")[1].startswith("dlt is not installed")


@pytest.mark.skipif(not export.has_dlt(), reason="needs the extra `compare`")
def test_dlt_writes_every_message() -> None:
    with ServerProcess(1500) as server:
        case = export.Case("one user", "gzip", server.packed, [pages.UID], 1500)
        lines, parquet = (list(variants.values()) for variants in export.DLT.values())
        for variant in (lines[0], parquet[1]):  # each format and each setting once: a process takes seconds
            assert export.measure_dlt(case, variant) > 0


def test_the_comparison_with_dlt_is_of_equal_formats() -> None:
    names = [name for ours, variants in export.DLT.items() for name in (ours, *variants)]
    times = {name: [float(index + 1)] for index, name in enumerate(names)}
    rows = export.compare_dlt(times, 2)
    assert [(row.case.partition("by ")[2], row.against) for row in rows] == [
        (ours, name) for ours, variants in export.DLT.items() for name in variants
    ]
    assert [(row.ours, row.other, row.ratio) for row in rows[:2]] == [(2, 1, 2), (2, 2 / 3, 3)]
    assert [row.is_met for row in rows] == [None, False, None, False]


async def test_an_export_without_all_messages_is_an_error(server: ServerProcess) -> None:
    async with AsyncSession(server.app) as session:
        case = export.Case("one user", "plain", server.app, [pages.UID], MESSAGES)
        assert await export.measure_export(session, case) > 0
        with pytest.raises(AssertionError, match="250 messages, 251 expected"):
            await export.measure_export(session, case._replace(messages=MESSAGES + 1))
    async with aiohttp.ClientSession(headers={"apikey": KEY}) as bare:
        addresses, size = await export.list_pages(bare, case)
        assert len(addresses) == 1
        with pytest.raises(AssertionError, match=f"{size} bytes, {size + 1} expected"):
            await export.measure_receiving(bare, addresses, size + 1)


def test_the_server_sends_gzip_to_clients_that_accept_it(server: ServerProcess) -> None:
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


async def test_both_clients_get_the_same_records(replies: App) -> None:
    async with overhead.PlainClient(replies) as plain, overhead.ChatrestClient(replies, 2) as client:
        for call in ("request", "late"):
            assert await getattr(plain, call)() == await getattr(client, call)()
        assert [item.id for item in await plain.page()] == [item.id for item in await client.page()]
        assert (await plain.send()).id == (await client.send()).id


# ── memory ──


@pytest.mark.parametrize("name", [name for name in memory_uses.USES if "walk" not in name])
async def test_a_use_makes_its_calls(name: str, replies: App) -> None:
    assert await memory_uses.USES[name](replies.chat_url, 3) is None


@pytest.mark.parametrize("name", ["walk", "walk_ahead", "walk_by_hand"])
async def test_a_measured_walk_has_all_messages(
    name: str, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_uses, "PAGE", 50)
    await memory_uses.USES[name](server.app.chat_url, MESSAGES)
    with pytest.raises(AssertionError, match="250 messages, 251 expected"):
        await memory_uses.USES[name](server.app.chat_url, MESSAGES + 1)


def test_the_uses_by_hand_do_not_load_chatrest(replies: App) -> None:
    program = "import sys; from benchmarks.memory_uses import main; main(); print('chatrest' in sys.modules)"
    command = (sys.executable, "-c", program, "idle_by_hand", replies.chat_url, "1")
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    size, is_loaded = done.stdout.split()
    assert float(size) > 1
    assert is_loaded == "False"


def test_the_command_s_export_is_measured_and_counted(server: ServerProcess) -> None:
    with pytest.raises(AssertionError, match="250 messages, 251 expected"):
        memory.export_peak(server.app, "ndjson", MESSAGES + 1)


def test_every_use_is_compared_and_every_process_runs_in_every_round(replies: App) -> None:
    sizes = Namespace(messages=10, walk_messages=10, items=10, at_once=1, apps=1)
    contestants = memory.processes(memory.Services(replies, replies, replies), sizes)
    used = {name.removesuffix(memory.TENTH) for name in contestants}
    assert used == {*memory_uses.USES, *memory.IMPORTS, *memory.FORMATS, "calls of one app"}
    peaks = memory.measure_all({name: lambda: 7.0 for name in contestants}, 2)
    assert {tuple(values) for values in peaks.values()} == {(7.0, 7.0)}


def test_the_comparisons_of_memory_name_measured_processes(replies: App) -> None:
    sizes = Namespace(messages=10, walk_messages=10, items=10, at_once=1, apps=1)
    contestants = memory.processes(memory.Services(replies, replies, replies), sizes)
    peaks = memory.add_growth({name: [9.0 if name.endswith(memory.TENTH) else 10.0] for name in contestants})
    growth = memory.compare_growth(peaks, sizes)
    assert [row.is_met for row in growth] == [False] * 4 + [True]


def test_what_a_use_adds_is_above_the_idle_process_of_its_kind() -> None:
    peaks = {
        "idle": [10.0, 20.0],
        "idle_by_hand": [1.0, 2.0],
        "walk": [13.0, 24.0],
        "walk_by_hand": [2.0, 5.0],
    }
    added = memory.add_growth(peaks)
    assert added["+ walk"] == [3.0, 4.0]
    assert added["+ walk_by_hand"] == [1.0, 3.0]


BRIEF = ["--settle=1", "--seconds=1", "--tasks=3"]


def test_credits_prints_a_row_for_every_announcement_and_scene(capsys: pytest.CaptureFixture[str]) -> None:
    name = "bucket 100 in 1 s, burst 20"
    credits_benchmark.main(["--seeds", "1", "--settle", "1", "--seconds", "1", "--limits", name])
    output = capsys.readouterr().out
    assert output.count(f"\n{name}  ") == 3
    assert all(output.count(f"\n{scene} ") == 1 for scene in credits_benchmark.SCENES)


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


def test_the_worst_of_all_limits_are_compared() -> None:
    good = pace.Result(0.97, 0.0, 1.0, 0, (5, 4))
    results = {
        "a": good,
        "b": good._replace(used=0.5),
        "c": good._replace(refused=0.03),
        "d": good._replace(accepted=(1, 9)),
    }
    rows = pace.summarise(results, "headers")
    assert [row.case.rpartition(": ")[2] for row in rows] == ["b", "c", "d"]
    assert [row.ratio for row in rows] == [0.5, 0.03, 1 / 9]
    assert [row.is_met for row in rows] == [False, False, False]
    assert all(row.is_met for row in pace.summarise({"a": good}, "nothing"))
    count = pace._count_good(list(results.values()))
    assert (count.ours, count.other, count.is_met) == (1, 4, False)


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
    waits.main(["--rounds=1", "--waiting=10", "--hanging=110", "--seconds=1", "--calls=2"], run)
    output = capsys.readouterr().out
    assert [output.count(f"  {lane} ") for lane in ("interactive", "       bulk")] == [2, 2]
    names = ("a region", "1 app", *(f"{number} apps" for number in waits.HANGING_APPS[1:]))
    assert all(f"\n{name}, {other} " in output for name in names for other in ("idle", "hanging"))


async def test_scale_measures_a_cluster_and_its_parts() -> None:
    with ServerProcess(20, users=4, rate=500, latency=1) as server:
        worker = await scale.measure_shards(server.limited, ["user-01", "user-02"], 20, 1)
        own = await scale_coordinator.export_alone(server.app.chat_url, 3, 20, "source")
        run = await scale.measure_cluster(server, 1, ["user-01", "user-02", "user-03", "user-04"])
    assert worker.requests >= 3
    assert (own.messages, own.files) == (20, 3)
    assert (run.messages, run.counts.refused) == (20, 0)
    assert run.requests >= 8

    few, long = (structs.replace(own, sources=2, messages=each) for each in (2, 30))
    costs = scale.Costs(worker, worker, worker, few, own, long, own, task=0.002, server=0.001)
    constants = costs.constants(run, [run], 4)
    load = scale_model.Load(4, run.messages, run.requests, 2 * run.messages, run.shards)
    assert scale_model.worker_cpu(constants, load, 1, run.wall) == pytest.approx(run.worker, rel=0.3)
    output = (
        scale.constants_text(constants) + scale.costs_table(costs) + scale.runs_table([run], constants, 4)
    )
    assert output.count("the coordinator alone") == output.count("of the limit") == 1
    assert len(scale_model.large_table(constants, 0.3)) == 3
    assert "1,000 such apps" in scale_model.apps_text(constants)


def test_scale_prints_what_is_used_of_a_limit_that_nobody_names(capsys: pytest.CaptureFixture[str]) -> None:
    limits = ("--limits", "200", "--windows", "bucket", "1s", "--workers", "1")
    scale.main([*limits, "--seconds", "1", "--latency", "1"])
    output = capsys.readouterr().out
    assert [output.count(f"\n200/s, {window} ") for window in ("bucket", "1s")] == [2, 2]


def test_the_use_of_a_limit_is_told_from_the_times_of_what_was_accepted() -> None:
    times = [number / 10 for number in range(101)]
    use = scale_rates.RateUse(10, "10", 4, times, refused=2, busy=0.5, own=0.2, load=1.0)
    assert use.used() == pytest.approx(1.0, abs=0.02)
    assert use.used(0.25, 0.75) == pytest.approx(1.0, abs=0.05)
    assert use.refused_share == pytest.approx(2 / 103)
    assert scale_rates.limit_of(10, "10s") == RateLimit(
        kind="sliding", per_window=100, window=10, headers="none"
    )


def test_the_model_of_scale_names_what_takes_longest() -> None:
    constants = scale_model.Constants(*[0.0] * len(scale_model.Constants._fields))._replace(request=0.01)
    load, late = scale_model.load_of(1000, 50_000), 0.05 * scale_model.CONCURRENCY * scale_model.SLOTS
    assert load.requests == 2000

    def first(workers: int, rate: float, cores: int) -> tuple[str, float]:
        result = scale_model.forecast(
            constants, load, workers=workers, rate=rate, latency=late, cores=cores, with_server=False
        )
        return result.first, result.total

    assert first(1, 200, 4) == ("waits", pytest.approx(100))
    assert first(20, 200, 4) == ("limit", pytest.approx(10))
    assert first(20, 1000, 1) == ("cpu", pytest.approx(20))


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


def test_archive_prints_the_rate_and_the_memory_of_a_site(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    archive.main(["--messages", "200", "--users", "3"])
    output = capsys.readouterr().out
    assert output.startswith("A site of 200 messages of 3 users\nCPython")
    assert len(rows_of(output, against="a tenth of them")) == 2
