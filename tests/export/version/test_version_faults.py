"""Publications and fetches that end at any operation of the store, or at any change of the folder."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.cloud.lease import Lease
from chatrest.cloud.store_errors import ConditionUnsupportedError
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, verify
from chatrest.export.version.fetching import fetch_folder
from chatrest.export.version.results import PublishResult
from chatrest.export.version.sending import publish_folder
from tests.cloud.store_double import CrashError, StoreDouble


class DeathError(BaseException):
    """The end of the process."""


async def published(store: StoreDouble, folder: Path) -> PublishResult:
    """Publish with a lease that is never renewed, and that a crash does not keep."""
    lease = Lease(store, sleep=lambda _: asyncio.Event().wait())
    return await publish_folder(store, lease, folder, allow_incomplete=False, progress=lambda _: None)


async def fetched(store: StoreDouble, folder: Path) -> None:
    await fetch_folder(store, folder, progress=lambda _: None)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An export, and the same export with a later run that has replaced files."""
    folder = tmp_path_factory.mktemp("copies")
    asyncio.run(_write_copies(folder / "older", folder / "newer"))
    return folder / "older", folder / "newer"


async def _write_copies(older: Path, newer: Path) -> None:
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        plan = Plan(format="parquet", partition="none")
        await export(session, older, plan, tables=["users"])
        await published(StoreDouble(), older)
        shutil.copytree(older, newer)
        emulator.store.add_message("user-01", "user-02", "new")
        await export(session, newer)


def messages(folder: Path) -> int:
    """The number of messages of an export that is whole."""
    result = verify(folder)
    assert result.ok, result.problems
    return result.messages


async def test_a_publication_that_ends_at_any_operation(tmp_path: Path, copies: tuple[Path, Path]) -> None:
    older, newer = copies
    for number in count(1, 3):
        store = StoreDouble()
        await published(store, older)
        dying = StoreDouble(store, crash_at=number, crash_is_late=number % 2 == 0)
        try:
            await published(dying, newer)
        except CrashError:
            store.clock.seconds += 100.0
        reader = tmp_path / "reader"
        await fetched(store, reader)
        assert sorted(path.name for path in reader.iterdir()) == sorted(path.name for path in older.iterdir())
        if number % 3 == 1:
            assert messages(reader) in (40, 41)
        shutil.rmtree(reader)
        await published(StoreDouble(store), newer)
        if len(dying.names) < number:
            break
    assert number > 15
    await fetched(store, tmp_path / "last")
    assert messages(tmp_path / "last") == 41


async def test_a_fetch_that_ends_at_any_operation(tmp_path: Path, copies: tuple[Path, Path]) -> None:
    older, newer = copies
    store = StoreDouble()
    await published(store, newer)
    for number in count(1):
        folder = shutil.copytree(older, tmp_path / "copy")
        dying = StoreDouble(store, crash_at=number)
        try:
            await fetched(dying, folder)
        except CrashError:
            assert messages(folder) == 40
        again = StoreDouble(store)
        await fetched(again, folder)
        assert messages(folder) == 41
        assert not (folder / ".fetch").exists()
        shutil.rmtree(folder)
        if len(dying.names) < number:
            break
    assert number > 5


async def test_a_fetch_that_ends_while_files_take_their_places(
    tmp_path: Path, copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer = copies
    store = StoreDouble()
    await published(store, newer)
    for calls in count(1):
        folder = shutil.copytree(older, tmp_path / "copy")
        with monkeypatch.context() as patch:
            remaining = dying_after(patch, calls)
            with suppress(DeathError):
                await fetched(store, folder)
        is_done = remaining() >= 0
        if not is_done and (folder / "journal.sqlite").exists():
            assert messages(folder) in (40, 41)
        await fetched(store, folder)
        assert messages(folder) == 41
        assert not (folder / ".fetch").exists()
        shutil.rmtree(folder)
        if is_done:
            break
    assert calls > 6


async def test_a_store_that_refuses_conditions_is_named_in_the_result(
    copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreDouble()

    async def refuse(name: str, data: bytes) -> str:
        raise ConditionUnsupportedError(f"could not write {name}: the store does not offer this")

    monkeypatch.setattr(store, "put_new", refuse)
    result = await published(store, copies[0])
    assert result.warning.startswith("memory:// refuses conditional writes: it cannot be promised that only")
    assert result.sent == result.files


def dying_after(patch: pytest.MonkeyPatch, calls: int) -> Callable[[], int]:
    """End the process at a renaming or removal of a file by an update; return the calls that are left."""
    from chatrest.export.disk import Disk

    left = calls - 1

    def die_at(function: Callable[..., None]) -> Callable[..., None]:
        def wrapper(*args: Any) -> None:
            nonlocal left
            left -= 1
            if left == -1:
                raise DeathError
            function(*args)

        return wrapper

    for name in ("replace", "remove"):
        patch.setattr(Disk, name, die_at(getattr(Disk, name)))
    return lambda: left
