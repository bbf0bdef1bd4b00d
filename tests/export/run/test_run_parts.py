"""Exports of parts: of any number, each message once, after any interruption."""

import asyncio
import json
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator, Latency, Status
from chatrest.errors import RequestInvalidError
from chatrest.export import Phase, Plan, Progress, Report, changes, export, verify
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from chatrest.export.folder.part_files import PartFiles, add_foreign
from chatrest.export.plan.id_set import IdSet
from chatrest.export.plan.parts import Foreign, spread
from chatrest.export.read.exports import addresses_of
from chatrest.export.read.facts import facts_of
from chatrest.export.run.folder_run import ExportOptions
from chatrest.export.run.run_parts import export_parts
from tests.support.export_runs import on_one_line, raws_of, served
from tests.support.part_service import ChangingService, parts_in, parts_of, stored
from tests.support.simulated_crashes import DyingDisk, Fate, ProcessDeath, dying_journal

pytestmark = pytest.mark.usefixtures("tidy")

SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (0, *range(2, 9)))]
WHOLE = 10**9
"""Seconds: a recheck of everything."""


async def dies(
    session: AsyncSession, out: Path, at: int, monkeypatch: pytest.MonkeyPatch,
    recheck: int | None = None, **options: Any,
) -> Report | None:  # fmt: skip
    """Run an export until its crash; None where there was one."""
    fate = Fate(out, at)
    with monkeypatch.context() as patched:
        dying_journal(patched, fate)
        try:
            return await export_parts(
                session, out, options=ExportOptions(recheck=recheck), disk=DyingDisk(fate), **options
            )
        except ProcessDeath:
            fate.rise()
            return None


def check_exact(out: Path, world: ChangingService, *, with_groups: bool) -> None:
    """Check that all that lists show is there, each message once and as it is now."""
    raws = stored(out)
    records = {int(json.loads(raw)["id"]): raw for raw in raws}
    twice = [each for each, count in Counter(json.loads(raw)["id"] for raw in raws).items() if count > 1]
    assert not twice
    visible = world.visible(with_groups=with_groups)
    assert not visible - records.keys()
    ids = sorted(visible)
    served = map(json.loads, world.store.records(ids))  # an action shows a message in another spelling
    assert [json.loads(records[number]) for number in ids] == list(served)
    assert verify(out).ok
    for part in parts_of(out):
        with Journal(part / JOURNAL) as journal:
            assert not journal.expected_ids() - journal.ids_in(journal.files()) - lost(journal)


def lost(journal: Journal) -> IdSet:
    return IdSet(int(each.id) for each in journal.news.deleted() if each.missing)


@pytest.mark.parametrize("seed", SEEDS)
async def test_nights_with_kills(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Random(seed)
    with_groups = bool(seed % 2)
    async with served(fill_in=lambda _: None) as service:
        world = ChangingService(service.store, dice)
        world.pass_day()
        plan = Plan(all_users=True, groups=sorted(world.members) if with_groups else [])
        jobs = {tmp_path / f"of-{count}": count for count in (1, 2, 7)}
        for _ in range(dice.randrange(1, 5)):
            for out, count in jobs.items():
                options: dict[str, Any] = {"plan": plan, "parts": count, "recheck": dice.choice([None, 50])}
                if dice.random() < 0.6:
                    await dies(service.session, out, dice.randrange(1, 60 * count), monkeypatch, **options)
                else:
                    await export(service.session, out, **options)
                world.pass_day(15)
            world.pass_day()
        for out in jobs:
            await export(service.session, out, plan, parts=jobs[out])  # ends a night that was interrupted
            report = await export(service.session, out, recheck=WHOLE)
            assert report.complete, report.all_reasons
            check_exact(out, world, with_groups=with_groups)
            assert report.messages == len(stored(out))


@pytest.mark.parametrize("plan", [
    Plan(all_users=True),
    Plan(users=["ann", "cat"], groups=["oak"], pairs=[("bob", "dan"), ("eve", "ann")]),
    Plan(groups=["den"]),
    Plan(users=["ann"], format="parquet", since=1_600_000_000 + 40 * 86_400),
], ids=["all", "named", "group", "window"])  # fmt: skip
async def test_parts_hold_the_same_messages_as_one_export(plan: Plan, tmp_path: Path) -> None:
    async with served(300) as service:
        single = await export(service.session, tmp_path / "one", plan)
        for count in (1, 7):
            out = tmp_path / f"of-{count}"
            report = await export(service.session, out, plan, parts=count)
            assert report.complete, report.all_reasons
            assert Counter(stored(out)) == Counter(raws_of(tmp_path / "one"))
            assert (report.messages, report.sources) == (single.messages, single.sources)
            assert [each.out for each in addresses_of(out)] == list(parts_of(out))


async def test_a_night_of_parts_costs_few_more_requests_than_one_export(tmp_path: Path) -> None:
    def fill_in(store: Any) -> None:
        for number in range(30):
            store.add_user(f"u{number:03}")
        for number in range(29):
            store.add_message(f"u{number:03}", f"u{number + 1:03}", "hello")

    async with served(fill_in=fill_in) as service:
        outs: dict[Path, dict[str, Any]] = {tmp_path / "one": {}, tmp_path / "many": {"parts": 6}}
        for news in (0, 0, 3):
            for number in range(news):
                service.store.add_message("u007", f"u{number:03}", "news")
            single, many = [await export(service.session, out, **more) for out, more in outs.items()]
            assert many.complete
            assert many.requests - single.requests <= 6
            assert many.messages == single.messages
        assert many.by_app_list
        assert many.requests < 20
        assert Counter(stored(tmp_path / "many")) == Counter(raws_of(tmp_path / "one"))


async def test_a_new_user_that_writes_to_a_group_is_no_reason_to_ask_each_list(tmp_path: Path) -> None:
    def fill_in(store: Any) -> None:
        store.add_group("den")
        for number in range(30):
            store.add_user(f"u{number:03}")
        store.add_message("u000", "u001", "hello")

    async with served(fill_in=fill_in) as service:
        await export(service.session, tmp_path, parts=3)
        service.store.add_user("new")
        service.store.add_message("new", "den", "hello", receiver_type="group")
        report = await export(service.session, tmp_path)
    assert (report.complete, report.by_app_list, report.written) == (True, True, 1), report


async def test_the_report_names_a_part_that_another_process_has_not_read_completely(tmp_path: Path) -> None:
    guids = [next(f"g{number}" for number in range(99) if spread(f"g{number}", 2) == part) for part in (0, 1)]

    def fill_in(store: Any) -> None:
        store.add_user("ann")
        for guid in guids:
            store.add_group(guid)
            store.add_message("ann", guid, "hello", receiver_type="group")

    async with served(fill_in=fill_in) as service:
        service.emulator.weather.add(Status(403, route=f"/groups/{guids[0]}/messages"))
        plan = Plan(groups=guids)
        assert not (await export(service.session, tmp_path, plan, parts=2, part=0)).complete
        report = await export(service.session, tmp_path, claim=True)
    assert (report.complete, report.failed, report.messages) == (False, [], 1)
    assert report.reasons == ["part=00 is not complete; `runs.jsonl` there says why"]


async def test_every_seventh_night_asks_each_list(tmp_path: Path) -> None:
    async with served(40, loose=False) as service:
        nights = [await export(service.session, tmp_path, parts=3) for _ in range(9)]
    assert [night.by_app_list for night in nights] == [False, *[True] * 6, False, True]
    assert all(night.complete for night in nights)


async def test_several_claim_parts_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatrest.export.run.night.PAUSE", 0.0)
    async with served(400) as service:
        reports = await asyncio.gather(*(
            export(service.session, tmp_path, parts=7, claim=True) for _ in range(4)
        ))  # fmt: skip
        assert sum(report.written for report in reports) == 400
        assert all((each.complete, each.messages, each.sources) == (True, 400, 5) for each in reports)
        assert sorted(stored(tmp_path)) == sorted(service.expected())
    assert parts_in(tmp_path).night == 0, "who comes later joins the night of the first"


@pytest.mark.parametrize("part", [None, 1])
async def test_the_run_of_a_report_is_a_position_for_changes(part: int | None, tmp_path: Path) -> None:
    async with served(40) as service:
        await export(service.session, tmp_path, parts=3)
        first = await export(service.session, tmp_path, part=part)
        assert [*changes(tmp_path, after=first.run)] == []
        new = service.store.add_message("ann", "bob", "news")
        await export(service.session, tmp_path)  # ends the night of a single part
        second = await export(service.session, tmp_path)
    assert [each.id for each in changes(tmp_path, after=first.run)] == [str(new["id"])]
    assert [*changes(tmp_path, after=second.run)] == []


async def test_the_last_run_of_parts_is_all_work_since_the_listing_of_users(tmp_path: Path) -> None:
    async with served(300) as service:
        report = await export(service.session, tmp_path, parts=3)
        run = facts_of(str(tmp_path)).last_run
        assert run is not None
        assert (run.part, run.complete, run.written, run.messages) == ("", True, 300, 300)
        assert 0 < run.requests <= report.requests
        for log in (part / "runs.jsonl" for part in parts_of(tmp_path)):
            log.write_text(re.sub(r'"started":\d+', '"started":1', log.read_text()))
        await export(service.session, tmp_path)
    run = facts_of(str(tmp_path)).last_run
    assert run is not None
    assert (run.complete, run.written, run.messages) == (True, 0, 300)


async def test_a_process_that_waits_for_the_night_of_another_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.export.run.night.PAUSE", 0.0)
    progress = Progress()
    async with served(4) as service, asyncio.TaskGroup() as group:
        async with PartFiles(tmp_path).turn():
            run = group.create_task(export(service.session, tmp_path, parts=2, progress=progress))
            while progress.phase is not Phase.WAITING_FOR_PROCESS:  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert (await run).complete


async def test_the_last_of_single_parts_settles_all(tmp_path: Path) -> None:
    async with served(200) as service:
        for number in (2, 0, 1):
            assert (await export(service.session, tmp_path, parts=3, part=number)).complete
        assert sorted(stored(tmp_path)) == sorted(service.expected())
        again = await export(service.session, tmp_path, part=1)  # which begins a night
        assert (again.complete, again.written) == (True, 0)
    assert parts_in(tmp_path).night == 1


@pytest.mark.parametrize("tables", [[], ["users"]])
async def test_only_the_first_part_reads_tables_and_each_part_is_rechecked_once(
    tables: Any, tmp_path: Path
) -> None:
    """A part to which others have left something is run again: that has nothing to recheck."""
    async with served(200) as service:
        requests = []
        for name, recheck in (("first", None), ("plain", None), ("rechecked", WHOLE)):
            report = await export(service.session, tmp_path / name, parts=7, tables=tables, recheck=recheck)
            requests.append(report.requests)
    assert requests[1] == requests[2]
    assert [path.parts[-3] for path in (tmp_path / "plain").glob("part=*/users/*")] == ["part=00"] * len(
        tables
    )


async def test_a_damaged_file_of_messages_for_another_part_is_written_again(tmp_path: Path) -> None:
    async with served(200) as service:
        await export(service.session, tmp_path, parts=2, part=1)
        [left] = (tmp_path / "part=00" / "foreign").iterdir()
        left.write_bytes(left.read_bytes()[:-1] + b"\0")
        assert (await export(service.session, tmp_path)).complete
        assert sorted(stored(tmp_path)) == sorted(service.expected())


async def test_a_newer_version_left_for_a_part_replaces_the_message(tmp_path: Path) -> None:
    part = tmp_path / "part=00"
    async with served(200, loose=False) as service:
        await export(service.session, tmp_path, parts=2)
        [left], former = (part / "foreign").iterdir(), min(raws_of(part))
        times = {"editedAt": 2_000_000_000, "updatedAt": 2_000_000_000}
        edited = json.dumps(json.loads(former) | times).encode()
        await add_foreign(PartFiles(tmp_path), f"part=00/foreign/{left.name}", Foreign(rows=[edited]))
        assert (await export(service.session, tmp_path, part=0)).changed == 1
    assert {former, edited}.intersection(raws_of(part)) == {edited}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
async def test_nights_of_a_service_without_a_list_of_all(seed: int, tmp_path: Path) -> None:
    dice = Random(seed)
    async with served(fill_in=lambda _: None) as service:
        service.emulator.weather.add(Status(403, route="messages.list"))
        world = ChangingService(service.store, dice)
        for _ in range(3):
            world.pass_day()
            await export(service.session, tmp_path, parts=5)
            await export(service.session, tmp_path, part=dice.randrange(5))
        report = await export(service.session, tmp_path, recheck=WHOLE)
        assert report.complete, report.all_reasons
        report = await export(service.session, tmp_path, recheck=WHOLE)
        assert report.complete, report.all_reasons
        check_exact(tmp_path, world, with_groups=False)


async def test_wrong_use_changes_nothing(tmp_path: Path) -> None:
    plain, of_parts, other = tmp_path / "plain", tmp_path / "parts", tmp_path / "other"
    other.mkdir()
    (other / "file").touch()
    async with served(20) as service:
        await export(service.session, plain)
        await export(service.session, of_parts, Plan(users=["ann", "bob"]), parts=3)
        before = names(tmp_path)
        for out, options, words in (
            (plain, {"parts": 3}, "not of parts"),
            (plain, {"part": 0}, "not of parts"),
            (other, {"parts": 2}, "something else"),
            (tmp_path / "new", {"claim": True}, "parts=P"),
            (of_parts, {"parts": 4}, "3 parts"),
            (of_parts, {"part": 3}, "0 to 2"),
            (of_parts, {"parts": 0}, "from 1"),
            (of_parts, {"part": 1, "claim": True}, "claim"),
            (of_parts, {"plan": Plan(users=["ann"])}, "never changes"),
            (of_parts, {"plan": Plan(users=["ann"]), "change_plan": True}, "change_plan"),
            (of_parts, {"plan": Plan(users=["ann"]), "only": True}, "only"),
            (of_parts / "part=00", {}, "part 0 of 3"),
            (tmp_path / "new", {"parts": 2, "plan": Plan(everything=True)}, "everything"),
        ):
            with pytest.raises(RequestInvalidError, match=words):
                await export(service.session, out, **options)
        assert names(tmp_path) == before


def names(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


AT_ONCE = 4
PART_KILLS = 4


@pytest.mark.nightly
async def test_commands_that_claim_parts_are_killed(tmp_path: Path) -> None:
    out, dice = tmp_path / "out", Random()
    async with Emulator(users=30, messages=600, groups=0, seed=3) as emulator:
        emulator.weather.add(Latency(0.02, route="messages.list_user"))
        environment = os.environ | {
            "CHATREST_APP_ID": emulator.app.app_id,
            "CHATREST_API_KEY": emulator.app.api_key,
            "CHATREST_BASE_URL": emulator.app.chat_url,
        }

        async def claim() -> Process:
            words = ("-m", "chatrest", "export", str(out), "--parts", "5", "--claim", "--quiet")
            return await asyncio.create_subprocess_exec(
                sys.executable, *words, env=environment, stdout=DEVNULL, stderr=DEVNULL
            )

        processes = [await claim() for _ in range(AT_ONCE)]
        for _ in range(PART_KILLS):
            # An instant is a number of requests from now: a slow machine dies as far on as a fast one.
            asked = emulator.weather.struck["latency"] + dice.randrange(1, 15)
            victim = dice.randrange(AT_ONCE)
            while emulator.weather.struck["latency"] < asked and processes[victim].returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # another process is waited for
            if processes[victim].returncode is None:
                processes[victim].kill()
                assert await processes[victim].wait() == -signal.SIGKILL
            processes[victim] = await claim()
        for process in processes:
            assert await process.wait() == 0
        expected = sorted(map(on_one_line, emulator.store.records(emulator.store.ids())))
        assert sorted(stored(out)) == expected
        assert all(verify(part).ok for part in parts_of(out))
        emulator.weather.clear()
