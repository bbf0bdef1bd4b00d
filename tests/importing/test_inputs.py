"""Exports of parts, and exports at the address of an object store, as the input of an import."""

import asyncio
import json
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, RequestInvalidError, ServerError
from chatrest._cloud.publication import EMPTY
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import ObjectStoreError
from chatrest.emulator import Emulator, First, Status
from chatrest.export import Plan, export, read_table, seal
from chatrest.export.folder.tables import Table
from chatrest.importing import check, run
from tests.buckets import ADDRESS, Buckets


@pytest.fixture
def address(buckets: Buckets) -> str:
    return ADDRESS


def stored(emulator: Emulator) -> list[tuple[str, str, int]]:
    """Return the messages that an import takes, in the order of their ids."""
    records = [json.loads(record) for record in emulator.store.records(emulator.store.ids())]
    return [
        (each["sender"], each["receiver"], each["sentAt"])
        for each in records
        if each["category"] in ("message", "custom") and not each.get("deletedAt")
    ]


@pytest.fixture
async def exported(address: str, tmp_path: Path) -> list[tuple[str, str, int]]:
    """The rows of `stored` of an app with 120 messages, whose export is at the address."""
    plan = Plan(everything=True, format="parquet", partition="month")
    tables: list[Table] = ["users", "groups", "members"]
    async with Emulator(users=6, messages=120, groups=2, seed=5) as app, AsyncSession(app.app) as session:
        await export(session, address, plan, journal=tmp_path / "copy", tables=tables)
        return stored(app)


async def test_an_export_at_an_address_is_imported_in_threads_and_continues(
    session: AsyncSession,
    emulator: Emulator,
    address: str,
    exported: list[tuple[str, str, int]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    threads, journal = set[threading.Thread](), tmp_path / "journal"

    def read_in(*args: Any) -> Iterator[bytes]:
        threads.add(threading.current_thread())
        return read_table(*args)

    monkeypatch.setattr("chatrest.importing.inputs.read_table", read_in)
    emulator.weather.add(Status(500, route="data_import.import_messages", when=First(99, after=1)))
    with pytest.raises(ServerError):
        await run(session, [address], journal=journal)
    assert len(stored(emulator)) == 50
    emulator.weather.clear()
    result = await run(session, [address], journal=journal)
    assert result.ok, result.refused
    assert {each.file.partition("/")[0] for each in result.files} == {"chat"}
    assert stored(emulator) == exported
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.usefixtures("exported")
async def test_a_cancel_ends_the_sorting_of_messages(
    session: AsyncSession, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    enough = threading.Event()

    def endless(out: object) -> Iterator[bytes]:
        for number in count(1):
            if number > 2_000:
                enough.set()
            yield b'{"id": "%d"}' % number

    monkeypatch.setattr("chatrest.importing.inputs.read_raw", endless)
    work = run(session, [address], kind="messages", journal=tmp_path / "journal")
    task = asyncio.create_task(work)
    await asyncio.to_thread(enough.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_export_of_parts_is_imported_as_one(
    session: AsyncSession, emulator: Emulator, tmp_path: Path
) -> None:
    out, plan = tmp_path / "out", Plan(all_users=True, groups=["group-01", "group-02"])
    async with Emulator(users=6, messages=120, groups=2, seed=5) as app, AsyncSession(app.app) as old:
        await export(old, out, plan, parts=2, part=0, tables=("users", "groups", "members"))
        with pytest.raises(RequestInvalidError, match=r"is not complete \(part=01 is not begun\)"):
            check(str(out))
        await export(old, out, plan, parts=2, tables=("users", "groups", "members"))
        expected = stored(app)
    seal(out, tmp_path / "bag")
    assert check(tmp_path / "bag").imported == check(out).imported > len(expected)
    result = await run(session, out)
    assert result.ok, result.refused
    assert [each.file for each in result.files] == [
        f"out/{kind}" for kind in ("users", "groups", "members", "messages", "users (deactivated)")
    ]
    assert stored(emulator) == expected


async def test_several_apps_and_a_damaged_export_are_refused(tmp_path: Path) -> None:
    for name in ("app=a", "app=b"):
        async with (
            Emulator(users=2, messages=9, groups=0, app_id=name[-1]) as app,
            AsyncSession(app.app) as old,
        ):
            await export(old, tmp_path / name, Plan(everything=True))
    with pytest.raises(RequestInvalidError, match=r"holds exports of several apps \(a, b\)"):
        check(tmp_path)
    [file, *_] = (tmp_path / "app=a").glob("messages/*/*.ndjson")
    file.write_bytes(b"")
    with pytest.raises(RequestInvalidError, match=rf"{file.name} is not as the manifest says"):
        check(tmp_path / "app=a", allow_incomplete=True)
    (tmp_path / "app=b" / "manifest.json").write_bytes(b"{")
    with pytest.raises(RequestInvalidError, match="is damaged "):
        check(tmp_path / "app=b", allow_incomplete=True)


def test_an_address_without_an_export_is_named(buckets: Buckets) -> None:
    with pytest.raises(RequestInvalidError, match=r"holds no export: it has no manifest\.json"):
        check([ADDRESS])
    buckets.write("manifest.json", EMPTY.encoded())
    with pytest.raises(RequestInvalidError, match=r"manifest\.json names no files, as its first run has"):
        check([ADDRESS])


@pytest.mark.usefixtures("exported")
async def test_a_table_that_is_damaged_in_the_store_is_refused(address: str) -> None:
    store = ObjectStore.open(address)
    [name] = [info.name async for info in store.list() if "users-" in info.name]
    await store.put(name, b"x" * (await store.head(name)).size)
    with pytest.raises((RequestInvalidError, ObjectStoreError), match="is not as the manifest says"):
        check([address])


@pytest.mark.usefixtures("exported")
async def test_the_journal_of_an_address_is_in_the_current_folder(
    session: AsyncSession, tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert (await run(session, [address], kind="users")).imported == 6
    assert [path.name for path in Path.cwd().iterdir()] == ["chat.import-journal"]
