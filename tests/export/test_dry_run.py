"""The dry run: near the truth where the service tells, honest where it does not, and no trace on the disk."""

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatrest import (
    App,
    AsyncSession,
    AuthenticationError,
    ChatRestError,
    ExportIncompleteError,
    MessageQuery,
    NewMessage,
    RequestInvalidError,
)
from chatrest.emulator import Emulator
from chatrest.emulator.limits import RateLimit
from chatrest.export import Plan, estimate, export, journal
from chatrest.export.dry_run import SAMPLES, evenly
from chatrest.export.journal import Journal
from chatrest.export.manifest import find
from chatrest.export.opening import begin_generation
from tests.cases import loop_over
from tests.small_service import SmallService, talk

pytestmark = pytest.mark.usefixtures("fast_ramp")

USERS, MESSAGES = 6, 400
COUNT = 1866


@pytest.fixture
async def service() -> AsyncIterator[Emulator]:
    async with Emulator(users=USERS, messages=MESSAGES, seed=7) as emulator:
        yield emulator


@pytest.fixture
async def session(service: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(service.app) as chat:
        yield chat


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """All that there is in a folder, to the moment of its last change."""
    files = {path: path.stat() for path in folder.rglob("*")}
    return {
        path.name: (path.read_bytes() if path.is_file() else b"", stat.st_mtime_ns)
        for path, stat in [*files.items(), (folder, folder.stat())]
    }


async def test_where_every_source_is_asked_the_numbers_are_exact(
    service: Emulator, session: AsyncSession, tmp_path: Path
) -> None:
    service.requests.clear()
    result = await estimate(session, None, tmp_path / "out")
    assert result.asked == len(service.requests) == 1 + 2 + 2 * USERS
    lists = [await session.messages.list_user(f"user-0{each}").collect() for each in range(1, USERS + 1)]
    assert result.messages == result.messages_least == sum(map(len, lists))
    assert (result.sources, result.sampled, result.whole) == (USERS, USERS, 0)
    assert result.is_exact
    assert result.plan == Plan()
    assert result.bytes > 100 * result.messages
    assert result.seconds > 0
    report = await export(session, tmp_path / "out")
    assert abs(result.requests - report.requests) <= 3
    assert result.written == report.messages < result.messages


async def test_of_many_sources_a_few_speak_for_all(tmp_path: Path) -> None:
    async with Emulator(users=30, messages=600) as service, AsyncSession(service.app) as session:
        result = await estimate(session)
        report = await export(session, tmp_path / "out")
    assert (result.sources, result.sampled, result.is_exact) == (30, SAMPLES, False)
    assert result.asked < 2 * SAMPLES + 10
    assert result.messages > result.messages_least
    assert result.written == pytest.approx(report.messages, rel=0.25)
    assert result.requests == pytest.approx(report.requests, rel=0.25)


@pytest.mark.parametrize(
    ("total", "first"),
    [
        *((total, 1) for total in (0, 100, 1000, None, "many", 10**30)),
        *((total, 10**9) for total in (2, 101, 1001, -5, True)),
    ],
)
async def test_a_total_that_the_list_contradicts_is_not_believed(total: object, first: int) -> None:
    service = SmallService(talk(COUNT, first=first))
    service.largest_page = 100
    service.total = lambda count: total
    async with service.session() as session:
        result = await estimate(session)
    assert (result.messages, result.messages_least) == (2 * COUNT, 200), "as densely as they begin"
    assert (result.written, result.is_exact) == (COUNT, False)


async def test_a_total_that_may_be_right_is_taken() -> None:
    service = SmallService(talk(300) + talk(1, first=9000))
    service.largest_page = 100
    service.total = lambda count: count
    async with service.session() as session:
        result = await estimate(session)
    assert (result.messages, result.messages_least, result.written) == (602, 200, 301)
    assert not result.is_exact


async def test_a_list_that_ends_with_its_page_is_counted_whatever_the_total() -> None:
    service = SmallService(talk(50))
    service.largest_page = 100
    service.total = lambda count: 1000
    async with service.session() as session:
        result = await estimate(session)
    assert (result.messages, result.written, result.is_exact) == (100, 50, True)


async def test_filters_and_times_narrow_it(session: AsyncSession) -> None:
    whole = await estimate(session, Plan(users=["user-01"]))
    calls = await estimate(session, Plan(users=["user-01"], query=MessageQuery(categories=["call"])))
    early = await estimate(session, Plan(users=["user-01"], until=1))
    assert 0 < calls.messages < whole.messages
    assert (early.messages, early.requests) == (0, 2)


async def test_each_kind_of_sources_has_samples_of_its_own(session: AsyncSession) -> None:
    plan = Plan(users=["user-01"], pairs=[("user-02", "user-03")], groups=["group-1", "nowhere"])
    result = await estimate(session, plan)
    assert result.sources == result.sampled == 4
    assert any(failure.source == "group nowhere" for failure in result.refused)
    with pytest.raises(ExportIncompleteError, match=r"2 of 4 sampled .* group nowhere: "):
        result.check()
    assert result.messages > 0


async def test_a_refused_key_is_raised(service: Emulator) -> None:
    wrong = App(service.app.app_id, "quite-wrong", base_url=service.base_url)
    async with AsyncSession(wrong) as session:
        with pytest.raises(AuthenticationError):
            await estimate(session)


async def test_a_limit_that_is_told_bounds_it() -> None:
    limit = RateLimit(per_window=600, headers="b")
    async with Emulator(users=6, messages=400, limit=limit) as service, AsyncSession(service.app) as session:
        result = await estimate(session)
    assert result.rate is not None
    assert 500 < result.rate <= 600
    assert result.seconds >= result.requests / 600 * 60


# ── a folder that holds something ──


async def test_nothing_is_made(session: AsyncSession, tmp_path: Path) -> None:
    await estimate(session, None, tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    before = snapshot(tmp_path)
    await estimate(session, None, tmp_path)
    assert snapshot(tmp_path) == before


async def test_what_is_covered_is_not_counted(session: AsyncSession, tmp_path: Path) -> None:
    plan = Plan(users=["user-01", "user-02"])
    await export(session, tmp_path, plan)
    before = snapshot(tmp_path)
    result = await estimate(session, None, tmp_path)
    assert snapshot(tmp_path) == before
    assert (result.plan, result.sources, result.whole) == (plan, 2, 2)
    assert (result.messages, result.requests, result.asked) == (0, 1, 1)
    for _ in range(3):
        await session.messages.send(NewMessage.text("user-02", "more"), on_behalf_of="user-01")
    again = await estimate(session, plan, tmp_path)
    assert (again.whole, again.messages, again.written) == (0, 6, 3)


async def test_a_lost_journal_is_an_export_of_the_manifests_plan_and_app(
    session: AsyncSession, tmp_path: Path
) -> None:
    plan = Plan(users=["user-01", "user-02"], compress="gzip")
    await export(session, tmp_path, plan)
    (tmp_path / journal.NAME).unlink()
    result = await estimate(session, None, tmp_path)
    assert (result.plan, result.sources, result.whole) == (plan, 2, 0)
    with pytest.raises(RequestInvalidError, match="was exported with compress=gzip"):
        await estimate(session, Plan(compress="none"), tmp_path)


async def test_a_folder_that_can_only_be_read(
    session: AsyncSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await export(session, tmp_path, Plan(users=["user-01"]))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert (await estimate(session, None, tmp_path)).whole == 1
    with pytest.raises(PermissionError):
        await export(session, tmp_path)


async def test_a_nightly_run_over_many_sources_costs_what_is_new(tmp_path: Path) -> None:
    async with Emulator(users=12, messages=100, seed=7) as service, AsyncSession(service.app) as session:
        await export(session, tmp_path, Plan())
        for _ in range(3):
            await session.messages.send(NewMessage.text("user-02", "more"), on_behalf_of="user-01")
        result = await estimate(session, None, tmp_path)
        report = await export(session, tmp_path)
    assert (result.written, report.written) == (3, 3)
    assert abs(result.requests - report.requests) <= 3


async def test_a_recheck_is_counted_also_one_that_was_interrupted(
    session: AsyncSession, tmp_path: Path
) -> None:
    await export(session, tmp_path, Plan(users=["user-01"]))
    in_all = len(await session.messages.list_user("user-01").collect())
    result = await estimate(session, None, tmp_path, recheck=10**9)
    assert (result.whole, result.written, result.messages) == (1, 0, in_all)
    assert 0 < (await estimate(session, None, tmp_path, recheck=1)).messages < in_all
    kept = Journal(tmp_path / journal.NAME, {})
    begin_generation(kept, find(tmp_path))
    with kept.transaction():
        kept.recheck(1, 1, 10**6)
    kept.close()
    result = await estimate(session, None, tmp_path)
    assert (result.whole, result.written, result.messages) == (1, 0, in_all)


async def test_a_journal_that_a_crash_has_left_is_read_and_not_touched(
    session: AsyncSession, tmp_path: Path
) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    await export(session, whole, Plan(users=["user-01"]))
    kept = Journal(whole / journal.NAME, {})
    begin_generation(kept, find(whole))  # as a run does first: it is in the log alone
    shutil.copytree(whole, torn, ignore=shutil.ignore_patterns("*-shm"))
    kept.close()
    assert (torn / f"{journal.NAME}-wal").stat().st_size
    before = snapshot(torn)
    result = await estimate(session, None, torn)
    assert snapshot(torn) == before
    assert result.whole == 1


def test_a_journal_in_use_is_refused(tmp_path: Path) -> None:
    kept = Journal(tmp_path / journal.NAME, {})
    before = sorted(tmp_path.iterdir())
    # A lock is the process's own: only another one finds it.
    code = (
        "import sys, pathlib, chatrest.export.dry_run as module; "
        "module.read_stored(pathlib.Path(sys.argv[1]), None, '', 1, None)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert "another export is writing here" in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    kept.close()


async def test_what_an_export_refuses_is_refused(session: AsyncSession, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(RequestInvalidError, match="is not touched"):
        await estimate(session, None, tmp_path)
    (tmp_path / "mine.txt").unlink()
    (tmp_path / journal.NAME).write_text("no database at all, but a text that is long enough")
    with pytest.raises(ChatRestError, match="is not a database"):
        await estimate(session, None, tmp_path)
    for wrong in ({"workers": 0}, {"plan": "all"}):
        with pytest.raises(RequestInvalidError, match=next(iter(wrong))):
            await estimate(session, **wrong)  # type: ignore[arg-type]


@loop_over(("count", "result"), [(1, [5]), (2, [2, 7]), (10, list(range(10))), (20, list(range(10)))])
def test_samples_are_from_equal_parts(count: int, result: list[int]) -> None:
    assert evenly(range(10), count) == result
    assert evenly([], count) == []
