"""Exports at the address of an object store as the input of an import."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, RequestInvalidError
from chatrest.cloud.store import ObjectStore
from chatrest.cloud.store_errors import ObjectStoreError
from chatrest.emulator import Emulator
from chatrest.emulator.weather import First, Status
from chatrest.export import Plan, export
from chatrest.export.plan import Format
from chatrest.importing import ImportResult, check, run


@pytest.fixture
def exported(tmp_path: Path) -> Callable[..., Any]:
    """A function that exports an app with 300 messages to a folder, or to an address."""

    async def make(out: str | Path, format: Format) -> None:
        journal = tmp_path / "copy" if "://" in str(out) else None
        plan = Plan(format=format, partition=None if format == "sqlite" else "month")
        async with (
            Emulator(users=6, messages=300, groups=2, seed=5) as source,
            AsyncSession(source.app) as session,
        ):
            await export(session, out, plan, journal=journal, tables=["users", "groups", "members"])

    return make


def stored(emulator: Emulator) -> list[tuple[str, str, int]]:
    records = [json.loads(record) for record in emulator.store.records(emulator.store.ids())]
    return [(each["sender"], each["receiver"], each["sentAt"]) for each in records]


def counts(result: ImportResult) -> list[tuple[str, int, int, int, int]]:
    return [(each.kind, each.lines, each.imported, each.skipped, each.refused) for each in result.files]


@pytest.mark.parametrize("format", ["ndjson", "parquet", "sqlite"])
async def test_an_export_at_an_address_is_imported_as_one_in_a_folder(
    session: AsyncSession, emulator: Emulator, tmp_path: Path, exported: Callable[..., Any], format: Format
) -> None:
    address, folder = f"file://{tmp_path}/store/chat", tmp_path / "chat"
    await exported(folder, format)
    await exported(address, format)
    journal = tmp_path / "journal"
    assert counts(check([address])) == counts(check([folder]))
    emulator.weather.add(Status(500, route="data_import.import_messages", when=First(99, after=2)))
    with pytest.raises(Exception, match="500"):
        await run(session, [address], journal=journal)
    emulator.weather.clear()
    result = await run(session, [address], journal=journal)
    assert result.ok, result.refused
    assert {each.file.partition("/")[0] for each in result.files} == {"chat"}
    async with Emulator(users=0, messages=0, groups=0) as other, AsyncSession(other.app) as into:
        expected = await run(into, [folder])
        assert counts(result) == counts(expected)
        assert stored(emulator) == stored(other)


def test_an_address_without_an_export_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RequestInvalidError, match=r"holds no export: it has no manifest\.json"):
        check([f"file://{tmp_path}/empty"])
    with pytest.raises(RequestInvalidError, match="holds no export: there is no such folder"):
        check([f"file://{tmp_path}/nothing"])
    assert not (tmp_path / "nothing").exists()


async def test_the_address_of_an_exports_own_folder_is_refused_with_its_path(tmp_path: Path) -> None:
    async with Emulator(users=2, messages=5) as emulator, AsyncSession(emulator.app) as session:
        await export(session, tmp_path / "chat")
    with pytest.raises(RequestInvalidError, match=f"not a store: write {tmp_path}/chat"):
        check([f"file://{tmp_path}/chat"])


async def test_a_table_that_is_damaged_in_the_store_is_refused(
    tmp_path: Path, exported: Callable[..., Any]
) -> None:
    address = f"file://{tmp_path}/store/chat"
    await exported(address, "ndjson")
    store = ObjectStore.open(address)
    [name] = [info.name async for info in store.list() if "users-" in info.name]
    await store.put(name, b"x" * (await store.head(name)).size)
    with pytest.raises((RequestInvalidError, ObjectStoreError), match="is not as the manifest says"):
        check([address])


async def test_the_journal_of_an_address_is_in_the_current_folder(
    session: AsyncSession, tmp_path: Path, exported: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"file://{tmp_path}/store/chat"
    await exported(address, "ndjson")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert (await run(session, [address], kind="users")).imported == 6
    assert [path.name for path in Path.cwd().iterdir()] == ["chat.import-journal"]
