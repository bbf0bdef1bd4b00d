"""When no run writes, a bucket holds what its manifest names, no other file, and each message once."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, ChatRestError, RequestInvalidError
from chatrest._cloud.publication import MANIFEST
from chatrest._cloud.store_errors import ObjectStoreError
from chatrest.emulator import Emulator
from chatrest.export import Plan, changes, export, read, verify
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.remote.store_export import StoreExport, store_export
from chatrest.export.run.folder_run import export_folder
from tests.cloud.store_double import StoreDouble
from tests.export.remote.stores import assert_bucket
from tests.support.buckets import write_over
from tests.support.export_runs import hide, raws_of, served

ADDRESS = "s3://bucket/chat"
PLANS = {
    "lines": Plan(all_users=True),
    "parquet": Plan(all_users=True, format="parquet", partition="month"),
    "one file": Plan(all_users=True, partition="none"),
}


def all_ids(emulator: Emulator) -> list[str]:
    return [str(each) for each in sorted(emulator.store.ids())]


@pytest.mark.parametrize("kind", ["lines", "parquet"])
async def test_after_runs_of_two_machines_and_after_a_merge(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    store = at(StoreDouble())
    await write_over(store, "notes.txt", b"a stranger's")
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        for machine in ("a", "a", "b", "a"):
            emulator.store.add_message("user-001", "user-002", machine)
            report = await export(session, ADDRESS, PLANS[kind], journal=tmp_path / machine, tables=["users"])
            assert report.complete
            await assert_bucket(store, all_ids(emulator), beside="notes.txt")
        monkeypatch.setattr("chatrest.export.folder.export_folder.MANY_SMALL_FILES", 2)
        assert (await export(session, ADDRESS, journal=tmp_path / "b")).complete
        await assert_bucket(store, all_ids(emulator), beside="notes.txt")


async def test_a_publication_that_is_under_way_when_the_run_ends_leaves_nothing(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload that is given up may be in the store later than all that the run has tidied."""
    store = at(StoreDouble())
    put_file, begun, go_on = store.put_file, asyncio.Event(), asyncio.Event()
    given_up = list[str]()

    async def slow(name: str, path: Path, **options: Any) -> Any:
        if name.startswith("messages/") and not go_on.is_set():
            begun.set()
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                given_up.append(name)
                raise
        return await put_file(name, path, **options)

    async def soon(_: float) -> None:
        await asyncio.sleep(0)

    async def later() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        go_on.set()

    monkeypatch.setattr(store, "put_file", slow)
    async with Emulator(users=4, messages=80) as emulator, AsyncSession(emulator.app) as session:
        async with store_export(ADDRESS, tmp_path, sleep=soon) as target:

            @asynccontextmanager
            async def alongside(folder: ExportFolder) -> AsyncIterator[None]:
                async with target.publishing(folder):
                    yield
                    await begun.wait()
                    releasing = asyncio.create_task(later())
                await releasing

            place: Any = {"alongside": alongside, "remote": target}
            await export_folder(session, target.folder, PLANS["one file"], **place)
            await target.publish()
        for name in given_up:
            await write_over(store, name, b"late")
        await assert_bucket(store, all_ids(emulator))


async def test_a_publication_that_fails_by_a_mistake_in_our_code_fails_the_run(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble], monkeypatch: pytest.MonkeyPatch
) -> None:
    at(StoreDouble())

    async def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    async def soon(_: float) -> None:
        await asyncio.sleep(0)

    async def run(target: StoreExport, folder: Any = None) -> None:
        async with target.publishing(folder):
            for _ in range(5):
                await asyncio.sleep(0)

    monkeypatch.setattr(StoreExport, "_publish_running", fail)
    async with store_export(ADDRESS, tmp_path, sleep=soon) as target:
        with pytest.raises(ZeroDivisionError, match="a mistake"):
            await run(target)


async def test_a_bucket_without_a_manifest_is_refused_with_advice_that_works(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble]
) -> None:
    store = at(StoreDouble())
    async with served(40) as service:
        plan = Plan(all_users=True, groups=("den", "oak"))
        await export(service.session, ADDRESS, plan, journal=tmp_path / "a", tables=["users"])
        expected = service.expected()
        hide(service.store, [3, 4])  # no service could replace a copy that is lost
        await store.delete(MANIFEST)
        before = {name: each for name, each in store.objects.items() if name != "writer.json"}
        for machine in ("a", "b"):
            with pytest.raises(
                RequestInvalidError, match=r"manifest\.json is lost: .* rename the newest"
            ) as caught:
                await export(service.session, ADDRESS, plan, journal=tmp_path / machine)
        for reading in (read, verify):
            with pytest.raises(RequestInvalidError, match=r"manifest\.json is lost"):
                await asyncio.to_thread(reading, ADDRESS)
        assert {name: each for name, each in store.objects.items() if name != "writer.json"} == before
        folder = tmp_path / "rebuilt" / "export"
        for name, each in before.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(each.data)
        max(folder.glob("journal-*.sqlite")).rename(folder / "journal.sqlite")
        assert "--journal DIR to a new address" in str(caught.value)
        new = at(StoreDouble())
        report = await export(service.session, ADDRESS, journal=tmp_path / "rebuilt", recheck=10**9)
        assert report.complete
        assert sorted(raws_in(new, tmp_path / "new")) == sorted(expected)
        assert (await asyncio.to_thread(verify, ADDRESS)).ok


def raws_in(store: StoreDouble, folder: Path) -> list[bytes]:
    for name, each in store.objects.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(each.data)
    return raws_of(folder)


@pytest.mark.parametrize(
    ("name", "damage"),
    [("journal", b""), ("journal", b"x"), ("users/users", b""), ("runs", b"x"), ("manifest", b"x")],
)
async def test_a_lost_object_is_uploaded_again_from_a_copy_or_else_named(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble], name: str, damage: bytes
) -> None:
    store = at(StoreDouble())
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, ADDRESS, PLANS["lines"], journal=tmp_path / "a", tables=["users"])
        [victim] = [each for each in store.objects if each.startswith(f"{name}-")]
        damage *= len(store.objects[victim].data)  # as many bytes, or none
        await write_over(store, victim, damage)
        host = socket.gethostname()
        machine = rf"delete the object of .* run `chatrest export {ADDRESS}` on the machine '{host}'"
        if name != "runs" and (name, damage) != ("journal", b""):  # which is no journal, as in a folder
            problems = (await asyncio.to_thread(verify, ADDRESS)).problems
            assert any(re.match(machine, problem.remedy) for problem in problems), problems
        if name == "journal":
            with pytest.raises(ChatRestError, match=rf"^{ADDRESS}/journal\.sqlite: it .*: {machine}"):
                await asyncio.to_thread(changes, ADDRESS)
        with pytest.raises(ObjectStoreError, match=machine):
            await export(session, ADDRESS, journal=tmp_path / "b")
        await store.delete(victim)
        assert (await export(session, ADDRESS, journal=tmp_path / "a")).complete
        assert (await asyncio.to_thread(verify, ADDRESS)).ok
        await assert_bucket(store, all_ids(emulator))
        assert (await export(session, ADDRESS, journal=tmp_path / "b")).complete


async def test_messages_damaged_only_in_the_store_are_named_with_advice_that_works(
    tmp_path: Path, at: Callable[[StoreDouble], StoreDouble]
) -> None:
    store = at(StoreDouble())
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, ADDRESS, PLANS["one file"], journal=tmp_path / "a")
        [victim] = [each for each in store.objects if each.startswith("messages/")]
        await write_over(store, victim, b"x" * len(store.objects[victim].data))
        problems = (await asyncio.to_thread(verify, ADDRESS)).problems
        [remedy] = {problem.remedy for problem in problems if problem.kind == "damaged"}
        assert f"delete it there, and run `chatrest export {ADDRESS}` again: its messages are read" in remedy
        await store.delete(victim)
        assert (await export(session, ADDRESS, journal=tmp_path / "a")).complete
        assert (await asyncio.to_thread(verify, ADDRESS)).ok
        await assert_bucket(store, all_ids(emulator))
        # Of one that was cut a run notices it by itself.
        [victim] = [each for each in store.objects if each.startswith("messages/")]
        await write_over(store, victim, store.objects[victim].data[:-9])
        assert (await export(session, ADDRESS, journal=tmp_path / "a")).complete
        assert (await asyncio.to_thread(verify, ADDRESS)).ok
        await assert_bucket(store, all_ids(emulator))
