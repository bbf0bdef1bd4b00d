"""The plan of a folder never changes in silence: another one is refused, read once, or made the folder's."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chatrest import App, AsyncSession, AuthenticationError, RequestInvalidError
from chatrest.export import Plan, Report, estimate, export, read, runs, verify
from chatrest.export.folder.manifest import read as read_manifest
from tests.support.export_runs import START, USERS, Served, assert_complete, hide, served, to_user
from tests.support.small_service import SmallService, talk

pytestmark = pytest.mark.usefixtures("small_pages")

BOTH_WAYS = "nothing was read or changed: .* only=True.* change_plan=True"


def plan_of(out: Path) -> Plan:
    return Plan.parse(bytes(read_manifest(out / "manifest.json").plan))


def newer(service: Served) -> None:
    """Add a message of ann and one of dan, who have no other user in common."""
    service.store.add_records([to_user("ann", "zoe", 7_000), to_user("dan", "zoe", 7_001)])


@pytest.mark.parametrize(
    ("first", "other", "words"),
    [
        ({}, {"users": ["ann"]}, "exported with all users, and this plan has user ann;"),
        ({"users": ["ann"]}, {"all_users": True}, "exported with user ann, and this plan has all users;"),
        (
            {"users": ["ann"], "groups": ["den"]},
            {"pairs": [("ann", "bob")]},
            "exported with group den; user ann, and this plan has pair ann and bob;",
        ),
        (
            {"everything": True, "since": "2026-01-01"},
            {"since": "2020-01-01"},
            "exported with since=2026-01-01, and this plan has since=2020-01-01;",
        ),
    ],
)
async def test_another_plan_is_refused_and_nothing_is_read(
    first: dict[str, Any], other: dict[str, Any], words: str, tmp_path: Path
) -> None:
    async with served(30) as service:
        await export(service.session, tmp_path / "out", Plan(**first))
        before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.*json*")}
        service.emulator.requests.clear()
        for refused in (export, estimate):
            with pytest.raises(RequestInvalidError, match=BOTH_WAYS) as caught:
                await refused(service.session, out=tmp_path / "out", plan=Plan(**other))
            assert words in str(caught.value)
        assert [each.path for each in service.emulator.requests if each.path != "/v3/messages"] == []
        assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.*json*")} == before
        report = await export(service.session, tmp_path / "out", Plan(**first))
        assert (report.complete, report.kept) == (True, [])


async def test_a_run_of_some_sources_keeps_the_plan_and_reports_the_others(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(60) as service:
        first = await export(service.session, out)
        newer(service)
        service.emulator.requests.clear()
        report = await export(service.session, out, Plan(users=["ann"]), only=True)
        asked = Counter(each.path for each in service.emulator.requests)
        assert asked.keys() == {"/v3/messages", "/v3/users/ann/messages"}
        assert asked["/v3/users/ann/messages"] == 2, "a user whom an earlier run has listed is not checked"
        assert (report.complete, report.written, report.kept, report.failed) == (False, 1, [], [])
        assert (report.only, report.sources, report.not_read) == (["user ann"], 1, first.sources - 1)
        report.check()  # it has read what it was asked for
        assert plan_of(out) == Plan()
        manifest, result = read_manifest(out / "manifest.json"), verify(out)
        assert (manifest.complete, manifest.until) == (True, str(first.until)), "what was complete stays so"
        assert (result.ok, result.until, result.plan) == (True, first.until, "all users")
        assert {each.id for each in read(out)} & {"7000", "7001"} == {"7000"}
        last = await export(service.session, out)
        assert (last.complete, last.written, last.kept, last.only) == (True, 1, [], [])
        assert_complete(out, service.expected())
        assert [each.complete for each in runs(out)] == [True, False, True]


async def test_a_run_of_some_sources_stores_messages_of_other_sources_in_their_files(tmp_path: Path) -> None:
    async with served(0) as service:
        plan = Plan(users=["ann", "bob"], groups=["den"])
        await export(service.session, tmp_path / "out", plan)
        service.store.add_records([to_user("ann", "bob", 7_000)])
        service.emulator.requests.clear()
        report = await export(service.session, tmp_path / "out", Plan(users=["bob"]), only=True)
        assert report.written == 1
        assert len([each for each in service.emulator.requests if each.path == "/v3/users/bob/messages"]) <= 2
        [file] = (tmp_path / "out" / "messages").rglob("*.ndjson")
        assert file.parent.name == "source=user-ann"


async def test_complete_sources_alone_do_not_make_an_export_complete(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(40) as service:
        first = await export(service.session, out, Plan(users=["ann"], groups=["nowhere"]))
        assert not first.complete
        report = await export(service.session, out, Plan(users=["ann"]), only=True)
        assert (report.complete, report.failed) == (False, [])
        assert not read_manifest(out / "manifest.json").complete
        result = verify(out)
        assert not result.ok
        assert any("group nowhere" in each.text for each in result.problems)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Plan(groups=["den"]), "group den is not in the folder's plan"),
        (Plan(everything=True), "everything is not in the folder's plan"),
        (
            Plan(users=["ann"], compress="gzip"),
            "was exported with compress=none, and this plan has compress=",
        ),
        (Plan(users=["nobody-of-that-name"]), "the plan stays as it is, .*: user nobody-of"),
        (None, "expected a plan that names sources"),
    ],
)
async def test_sources_that_are_not_in_the_plan_are_refused(
    other: Plan | None, words: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    async with served(30) as service:
        await export(service.session, out)
        with pytest.raises(RequestInvalidError, match=words):
            await export(service.session, out, other, only=True)
        report = await export(service.session, out)
        assert (report.complete, report.written, report.failed, report.kept) == (True, 0, [], [])
        assert report.sources == len(USERS), "a wrong name stays nowhere"


async def test_a_window_alone_is_read_and_covers_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(0) as service:
        users = Plan(users=["ann", "dan"], since=START)
        service.store.add_records([to_user("ann", "zoe", 5_000)])
        await export(service.session, out, users)
        service.store.add_records(to_user(("ann", "dan")[n % 2], "zoe", 6_000 + n) for n in range(80))
        service.store.add_records([to_user("dan", "zoe", 9_000)])
        late = Plan(since=START + 6_020, until=START + 6_030)
        report = await export(service.session, out, late, only=True)
        assert (report.complete, report.written, report.failed, report.reasons) == (False, 11, [], [])
        assert (report.only[:2], len(report.only), report.not_read) == (["user ann", "user dan"], 4, 0)
        assert (plan_of(out), verify(out).until) == (users, 5_000)
        wider = Plan(since=START - 1)
        with pytest.raises(RequestInvalidError, match="the window begins before that of the folder's plan"):
            await export(service.session, out, wider, only=True)
        await service.export_complete(out)


async def test_a_new_folder_has_no_part_to_read(tmp_path: Path) -> None:
    async with served(10) as service:
        with pytest.raises(RequestInvalidError, match="is not an export yet"):
            await export(service.session, tmp_path / "out", Plan(users=["ann"]), only=True)
        with pytest.raises(RequestInvalidError, match="expected no change_plan"):
            await export(service.session, tmp_path / "out", Plan(), only=True, change_plan=True)
    assert not (tmp_path / "out").exists()


async def test_a_recheck_of_some_sources_finds_their_deleted_messages(tmp_path: Path) -> None:
    async with served(0) as service:
        service.store.add_records([to_user("ann", "zoe", 5_000), to_user("dan", "zoe", 5_001)])
        await export(service.session, tmp_path / "out", Plan(users=["ann", "dan"]))
        hide(service.store, [5_000, 5_001])
        report = await export(
            service.session, tmp_path / "out", Plan(users=["ann"]), only=True, recheck=10**9
        )
        assert report.deleted == 1
        assert (await export(service.session, tmp_path / "out", recheck=10**9)).deleted == 1


async def test_a_changed_plan_becomes_that_of_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(60) as service:
        await export(service.session, out)
        newer(service)
        report: Report = await export(service.session, out, Plan(users=["ann"]), change_plan=True)
        assert (report.complete, report.written, len(report.kept)) == (True, 1, len(USERS) - 1)
        result = verify(out)
        assert (result.ok, result.until, result.plan) == (True, report.until, "user ann")
        [note] = [each for each in result.notes if each.kind == "coverage"]
        assert "4 sources no longer in the plan, not read since: " in note.text
        assert (await export(service.session, out)).sources == 1


@pytest.mark.parametrize(
    "others", [{}, {"since": START + 20}, {"format": "ndjson", "compress": "gzip"}], ids=str
)
async def test_a_wrong_name_in_the_first_plan_is_replaced_only_with_change_plan(
    others: dict[str, Any], tmp_path: Path
) -> None:
    out, other = tmp_path / "out", Plan(users=["ann"], **others)
    async with served(20) as service:
        first = Plan(users=["nobody"])
        assert not (await export(service.session, out, first)).complete
        for refused in (export, estimate):
            with pytest.raises(RequestInvalidError, match="was exported with "):
                await refused(service.session, out=out, plan=other)
        assert plan_of(out) == first
        with pytest.raises(RequestInvalidError, match="the plan stays as it is, and nothing was read: "):
            await export(service.session, out, Plan(users=["bpb"]), change_plan=True)
        assert plan_of(out) == first
        assert (await estimate(service.session, other, out, change_plan=True)).plan == other
        report = await export(service.session, out, other, change_plan=True)
        assert (report.complete, report.kept, report.sources) == (True, [], 1), report
    assert (plan_of(out), verify(out).ok) == (other, True)


async def test_a_run_that_fails_before_it_reads_leaves_plan_and_window(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(30) as service:
        await export(service.session, out, Plan(users=["ann"], since=START + 20))
        wrong = App(service.emulator.app.app_id, "another-key", base_url=service.emulator.base_url)
        async with AsyncSession(wrong) as session:
            with pytest.raises(AuthenticationError):
                await export(session, out, Plan(users=["bob"], since=START), change_plan=True)
        report = await export(service.session, out)
        assert (report.complete, report.written, report.kept) == (True, 0, [])
    assert plan_of(out) == Plan(users=["ann"], since=START + 20)


@pytest.mark.parametrize("groups", [["nowhere"], ["den", "nowhere"], ["den"]], ids=str)
async def test_a_lost_journal_does_not_let_the_plan_change(groups: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(30) as service:
        report = await export(service.session, out, Plan(groups=groups))
        assert report.complete == ("nowhere" not in groups)
        (out / "journal.sqlite").unlink()
        with pytest.raises(RequestInvalidError, match=BOTH_WAYS):
            await export(service.session, out, Plan(users=["ann"]))
        with pytest.raises(RequestInvalidError, match="the format, the compression and the partition"):
            await export(service.session, out, Plan(users=["ann"], compress="gzip"), change_plan=True)
        assert (await export(service.session, out, Plan(users=["ann"]), change_plan=True)).complete


@pytest.mark.parametrize(
    "windows",
    [
        [(START + 40, START + 60), (START + 20, START + 80), (0, START + 81)],
        [(START + 40, None), (START + 1, None)],
        [(None, START + 60), (None, START + 61), (0, None)],
    ],
)
async def test_a_window_becomes_wider(windows: list[tuple[int | None, int | None]], tmp_path: Path) -> None:
    def fill_in(store: Any) -> None:
        for uid in ("ann", "bob"):
            store.add_user(uid)
        store.add_records(to_user("ann", "bob", number) for number in range(1, 101))

    async with served(fill_in=fill_in) as service:
        high = 0
        for since, until in windows:
            report = await export(
                service.session, tmp_path / "out", Plan(since=since, until=until), change_plan=True
            )
            assert report.complete
            low = max(1, (since or START) - START)
            high = until - START if until else high or 100  # which stays where it is not given
            assert_complete(tmp_path / "out", service.expected(range(low, min(100, high) + 1)))


async def test_a_recheck_in_the_run_that_widens_the_window_finds_the_edits(tmp_path: Path) -> None:
    service = SmallService(talk(60))
    async with service.session() as session:
        await export(session, tmp_path / "out", Plan(everything=True, since=START + 20))
        service.records[39] |= {"data": {"text": "edited"}}
        del service.records[49]
        wider = Plan(everything=True, since=START)
        report = await export(session, tmp_path / "out", wider, recheck=10**9, change_plan=True)
    assert (report.complete, report.changed, report.deleted, report.written) == (True, 1, 1, 19)
