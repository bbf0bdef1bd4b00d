"""Runs that are killed, at any operation of the store and while messages are read."""

import asyncio
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest._cloud.lease import LEASE, LeaseRecord
from chatrest._cloud.publication import EMPTY, read_version
from chatrest._cloud.store import ObjectInfo
from chatrest._cloud.store_errors import LeaseLostError, ObjectStoreError
from chatrest.emulator import Emulator
from chatrest.export import Plan, Report, export, read, verify
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.plan.export_plan import Format, Partition
from chatrest.export.plan.report import Progress
from chatrest.export.remote.store_export import Sleep, StoreExport, store_export
from chatrest.export.run.folder_run import export_folder
from chatrest.export.run.monitor import Monitor
from tests.cloud.store_double import CrashError, StoreDouble
from tests.export.remote.stores import Publications, assert_bucket
from tests.support.buckets import write_over
from tests.support.simulated_crashes import instants

pytestmark = pytest.mark.nightly

ADDRESS = "s3://bucket/chat"


async def run(session: AsyncSession, root: Path, plan: Plan, sleep: Sleep) -> Report:
    """Run an export that publishes after each sleep."""
    async with store_export(ADDRESS, root, sleep=sleep) as target:
        report = await export_folder(session, target.folder, plan, alongside=target.publishing, remote=target)
        await target.publish()
        return report


@pytest.mark.parametrize(("format", "partition"), [("ndjson", "none"), ("parquet", "source")])
async def test_a_run_that_ends_at_any_operation_of_its_publications_loses_nothing(
    tmp_path: Path,
    at: Callable[[StoreDouble], None],
    monkeypatch: pytest.MonkeyPatch,
    format: Format,
    partition: Partition,
) -> None:
    plan = Plan(format=format, partition=partition, all_users=True)
    async with Emulator(users=3, messages=120) as emulator, AsyncSession(emulator.app) as session:
        for number in instants(14 if format == "ndjson" else 31, 47):
            store = StoreDouble()
            dying = StoreDouble(store, crash_at=number, crash_is_late=number % 2 == 0)
            at(dying)
            with pytest.MonkeyPatch.context() as patched:
                publications = Publications(patched)
                publish = StoreExport._publish_repeatedly

                async def publish_and_end(
                    target: StoreExport,
                    folder: ExportFolder,
                    over: asyncio.Event,
                    publications: Publications = publications,
                    publish: Any = publish,
                ) -> None:
                    try:
                        await publish(target, folder, over)
                    finally:
                        publications.end()

                patched.setattr(StoreExport, "_publish_repeatedly", publish_and_end)

                async def note(_: float, publications: Publications = publications) -> None:
                    publications.note()
                    await asyncio.sleep(0)

                try:
                    await run(session, tmp_path / f"{number}", plan, note)
                except CrashError:
                    store.end_lease()
            at(store)
            is_published = (await read_version(store) or EMPTY).number > 0
            published = {int(message.id) for message in read(ADDRESS)} if is_published else set()
            assert published <= {*emulator.store.ids()}
            root = tmp_path / (f"{number}" if number % 3 else f"other-{number}")
            report = await export(session, ADDRESS, plan, journal=root)
            assert report.complete
            assert sorted(int(message.id) for message in read(ADDRESS)) == sorted(emulator.store.ids())
            await assert_bucket(store, [str(each) for each in sorted(emulator.store.ids())])
            assert verify(ADDRESS).ok
            if len(dying.names) < number:
                break
    assert number > 40


async def test_failed_publications_of_a_running_export_are_repeated_with_a_warning(
    tmp_path: Path, at: Callable[[StoreDouble], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, progress = StoreDouble(), Progress()
    at(store)
    publications, put_file = Publications(monkeypatch), store.put_file
    waits: list[float] = []
    """The waits from the first failure to the first success."""

    async def refuse(name: str, *_: object, **__: object) -> ObjectInfo:
        if len(waits) == 2:  # of the connection of the journal, which another one may have in hand
            raise sqlite3.OperationalError("cannot start a transaction within a transaction")
        raise ObjectStoreError("could not write messages/a: the store answered 503 (6 requests)")

    async def wait(seconds: float) -> None:
        if progress.unpublished:
            waits.append(seconds)
            line = Monitor(progress).snapshot().line
            failure = (
                "cannot start a tr" if len(waits) == 3 else "could not write messages/a: the store answered"
            )
            assert f"nothing published for 0 min: {failure}" in line
        elif waits:
            publications.end()
        if len(waits) == 6:
            monkeypatch.setattr(store, "put_file", put_file)
        publications.note()
        await asyncio.sleep(0)

    monkeypatch.setattr(store, "put_file", refuse)
    async with (
        Emulator(users=10, messages=400) as emulator,
        AsyncSession(emulator.app) as session,
        store_export(ADDRESS, tmp_path, progress=progress, sleep=wait) as target,
    ):
        place = {"alongside": target.publishing, "remote": target}
        await export_folder(session, target.folder, Plan(all_users=True), progress=progress, **place)
        await target.publish()
        [warning] = target.warnings
    assert waits == [60, 120, 240, 480, 600, 600]
    assert re.search(r"6 publications failed while .* answered 503 .*; all is published now", warning)
    assert progress.unpublished == ""
    result = verify(ADDRESS)
    assert (result.ok, result.messages) == (True, 400)


async def test_a_run_ends_when_its_lease_has_passed_to_another_writer(
    tmp_path: Path, at: Callable[[StoreDouble], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreDouble()
    at(store)
    publications = Publications(monkeypatch)
    successor = LeaseRecord("another", 2, 0, 60.0).encoded()

    async def steal(_: float) -> None:
        await write_over(store, LEASE, successor)
        publications.end()
        await asyncio.sleep(0)

    async with Emulator(users=10, messages=300) as emulator, AsyncSession(emulator.app) as session:
        with pytest.raises(LeaseLostError, match="has passed to another writer"):
            await run(session, tmp_path / "a", Plan(all_users=True), steal)
    assert (await store.get(LEASE)).data == successor
