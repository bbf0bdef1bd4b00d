"""The dry run: an estimate of what an export would read, and no trace on the disk."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatrest import (
    App,
    AsyncSession,
    AuthenticationError,
    ChatRestError,
    ExportIncompleteError,
    NewMessage,
    RequestInvalidError,
)
from chatrest._storage import InUseError
from chatrest.emulator import Emulator
from chatrest.export import Plan, estimate, export
from chatrest.export.folder import journal
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.folder_state import begin_generation
from chatrest.export.folder.journal import Journal
from chatrest.export.folder.manifest import find
from chatrest.export.run.dry_run import read_stored

USERS, MESSAGES = 6, 400


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


async def test_an_estimate_that_asks_every_source_has_the_numbers_of_the_run(
    service: Emulator, session: AsyncSession, tmp_path: Path
) -> None:
    service.requests.clear()
    result = await estimate(session, None, tmp_path / "out")
    assert result.asked == len(service.requests) == 1 + 2 + USERS
    assert (result.sources, result.sampled, result.whole) == (USERS, USERS, 0)
    assert result.plan == Plan()
    report = await export(session, tmp_path / "out")
    assert abs(result.requests - report.requests) <= 3
    assert (result.messages, result.newest) == (report.messages, report.until)


async def test_of_many_sources_a_few_are_asked(tmp_path: Path) -> None:
    async with Emulator(users=24, messages=200) as service, AsyncSession(service.app) as session:
        result = await estimate(session)
        report = await export(session, tmp_path / "out")
    assert (result.sources, result.sampled) == (24, 12)
    assert result.asked < 12 + 10
    assert 0 < result.messages <= report.messages
    assert result.newest == report.until
    assert 24 < result.requests <= report.requests


async def test_a_dry_run_refuses_the_other_data_that_a_run_refuses(
    session: AsyncSession, tmp_path: Path
) -> None:
    await export(session, tmp_path, Plan(users=["user-001"]))
    async with Emulator(users=USERS, messages=3, seed=8) as other, AsyncSession(other.app) as elsewhere:
        other.store.add_message("user-001", "user-002", "later", sent_at=1_900_000_000)
        with pytest.raises(ChatRestError, match="the ids of the app") as caught:
            await estimate(elsewhere, None, tmp_path)
        report = await export(elsewhere, tmp_path)
    assert report.reasons == [str(caught.value)]


async def test_a_source_that_the_service_refuses_is_named(session: AsyncSession) -> None:
    plan = Plan(users=["user-001"], pairs=[("user-002", "user-003")], groups=["group-1", "nowhere"])
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


async def test_a_dry_run_makes_no_file(session: AsyncSession, tmp_path: Path) -> None:
    await estimate(session, None, tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    before = snapshot(tmp_path)
    await estimate(session, None, tmp_path)
    assert snapshot(tmp_path) == before


async def test_an_estimate_does_not_count_covered_messages(session: AsyncSession, tmp_path: Path) -> None:
    plan = Plan(users=["user-001", "user-002"])
    await export(session, tmp_path, plan)
    before = snapshot(tmp_path)
    result = await estimate(session, None, tmp_path)
    assert snapshot(tmp_path) == before
    assert (result.plan, result.sources, result.whole) == (plan, 2, 2)
    assert (result.messages, result.requests, result.asked) == (0, 1, 1)
    for _ in range(3):
        await session.messages.send(NewMessage.text("user-002", "more"), on_behalf_of="user-001")
    again = await estimate(session, plan, tmp_path)
    assert (again.whole, again.messages) == (0, 3)
    wider = Plan(users=[f"user-{number:03}" for number in range(1, USERS + 1)])
    both = await estimate(session, wider, tmp_path, change_plan=True)
    assert both.messages <= (await export(session, tmp_path, wider, change_plan=True)).written


async def test_a_lost_journal_is_an_export_of_the_manifests_plan_and_app(
    session: AsyncSession, tmp_path: Path
) -> None:
    plan = Plan(users=["user-001", "user-002"], compress="gzip")
    await export(session, tmp_path, plan)
    (tmp_path / journal.NAME).unlink()
    result = await estimate(session, None, tmp_path)
    assert (result.plan, result.sources, result.whole) == (plan, 2, 0)
    with pytest.raises(RequestInvalidError, match="was exported with compress=gzip"):
        await estimate(session, Plan(compress="none"), tmp_path)


async def test_a_journal_that_a_crash_has_left_is_read_and_not_touched(
    session: AsyncSession, tmp_path: Path
) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    await export(session, whole, Plan(users=["user-001"]))
    left_journal = Journal(whole / journal.NAME, {})
    begin_generation(left_journal, find(whole))  # as a run does first: it is in the log alone
    shutil.copytree(whole, torn, ignore=shutil.ignore_patterns("*-shm"))
    left_journal.close()
    assert (torn / f"{journal.NAME}-wal").stat().st_size
    before = snapshot(torn)
    result = await estimate(session, None, torn)
    assert snapshot(torn) == before
    assert result.whole == 1


def test_a_journal_in_use_is_refused(tmp_path: Path) -> None:
    with ExportFolder(tmp_path, Plan(users=["a"]), app_id="a"):
        before = sorted(tmp_path.iterdir())
        with pytest.raises(InUseError, match="another export is writing here"):
            read_stored(tmp_path, None, "a", 1)
        assert sorted(tmp_path.iterdir()) == before


async def test_an_estimate_refuses_the_folders_that_an_export_refuses(
    session: AsyncSession, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(RequestInvalidError, match="is not touched"):
        await estimate(session, None, tmp_path)
    (tmp_path / "mine.txt").unlink()
    (tmp_path / journal.NAME).write_text("no database at all, but a text that is long enough")
    with pytest.raises(ChatRestError, match="is not a database"):
        await estimate(session, None, tmp_path)
    with pytest.raises(RequestInvalidError, match="plan"):
        await estimate(session, "all")  # type: ignore[arg-type]


async def test_a_part_of_the_plan_is_estimated_without_the_journal_too(
    service: Emulator, session: AsyncSession, tmp_path: Path
) -> None:
    await export(session, tmp_path / "out")
    (tmp_path / "out" / journal.NAME).unlink()
    [user] = await session.users.list().limit(1).collect()
    result = await estimate(session, Plan(users=[user.uid]), tmp_path / "out", only=True)
    assert (result.plan, result.sources) == (Plan(all_users=True), 1)
