"""Versions of files: readers see one whole, wherever a publication ends."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from chatrest.cloud.lease import Lease
from chatrest.cloud.operations import Operations
from chatrest.cloud.publication import PublicationStats, fetch_version, publish, read_version
from chatrest.cloud.publication_plan import RESERVED
from chatrest.cloud.store import ObjectStore
from chatrest.cloud.store_errors import (
    LeaseLostError,
    ObjectChangedError,
    ObjectNotFoundError,
    ObjectStoreError,
)
from chatrest.errors import RequestInvalidError
from tests.cloud.store_double import CrashError, StoreDouble

Files = Mapping[str, bytes]

OLD: Files = {"a.ndjson": b"old a", "x/b": b"same", "x/c": b"old c"}
NEW: Files = {"a.ndjson": b"new a", "x/b": b"same", "d": b"new d"}


def lease_of(store: Operations) -> Lease:
    """A lease that is never renewed."""
    return Lease(store, sleep=lambda _: asyncio.Event().wait())


async def publish_files(store: StoreDouble, files: Files, folder: Path) -> PublicationStats:
    paths = {}
    for number, (name, data) in enumerate(files.items()):
        paths[name] = folder / f"file-{number}"
        paths[name].write_bytes(data)
    async with lease_of(StoreDouble(store)) as lease:
        return await publish(store, paths, lease)


async def visible(store: StoreDouble, folder: Path) -> Files:
    """The files that a reader fetches."""
    with tempfile.TemporaryDirectory(dir=folder) as target:
        manifest = await fetch_version(StoreDouble(store), Path(target))
        return {file.name: (Path(target) / file.name).read_bytes() for file in manifest.files}


async def stored_names(store: StoreDouble) -> set[str]:
    return {info.name async for info in store.list()} - RESERVED


# ── without faults ──


async def test_a_version_is_published_and_fetched(tmp_path: Path) -> None:
    store = StoreDouble()
    assert await visible(store, tmp_path) == {}
    assert await publish_files(store, OLD, tmp_path) == PublicationStats(1, 3, 0, 0)
    assert await visible(store, tmp_path) == OLD


async def test_a_new_version_sends_what_changed_and_deletes_what_is_left_over(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    assert await publish_files(store, NEW, tmp_path) == PublicationStats(2, 2, 1, 2)
    assert await visible(store, tmp_path) == NEW
    assert await stored_names(store) == (await read_version(store)).stored_names


async def test_publishing_the_same_again_writes_nothing(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    again = StoreDouble(store)
    assert await publish_files(again, OLD, tmp_path) == PublicationStats(1, 0, 3, 0)
    assert {name.split()[0] for name in again.names} == {"get"}


async def test_the_manifest_is_the_last_object_that_is_written_before_deletions(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    again = StoreDouble(store)
    await publish_files(again, NEW, tmp_path)
    place = again.names.index("replace published.json")
    before, after = again.names[:place], again.names[place:]
    assert [name for name in after if name.startswith("put_file")] == []
    assert [name for name in before if name.startswith("delete")] == []
    assert len([name for name in after if name.startswith("delete")]) == 2


async def test_objects_that_no_publication_wrote_are_left_alone(tmp_path: Path) -> None:
    store = StoreDouble()
    await store.put("x/b-1-0123456789abcdef", b"a stranger's")
    await publish_files(store, OLD, tmp_path)
    await publish_files(store, NEW, tmp_path)
    assert (await store.get("x/b-1-0123456789abcdef")).data == b"a stranger's"


async def test_a_reserved_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match=r"'writer.json': the name is reserved"):
        await publish_files(StoreDouble(), {"writer.json": b""}, tmp_path)


# ── crashes ──


async def operations_of_publication(folder: Path) -> int:
    store = StoreDouble()
    await publish_files(store, OLD, folder)
    again = StoreDouble(store)
    await publish_files(again, NEW, folder)
    return len(again.names)


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
async def test_a_crash_at_any_operation_leaves_a_whole_version_and_the_next_completes(
    tmp_path: Path, is_late: bool
) -> None:
    count = await operations_of_publication(tmp_path)
    assert count == 10
    for number in range(1, count + 1):
        store = StoreDouble()
        await publish_files(store, OLD, tmp_path)
        crashing = StoreDouble(store, crash_at=number, crash_is_late=is_late)
        with pytest.raises(CrashError):
            await publish_files(crashing, NEW, tmp_path)
        is_published = "replace published.json" in crashing.applied
        assert await visible(store, tmp_path) == (NEW if is_published else OLD)
        again = StoreDouble(store)
        await publish_files(again, NEW, tmp_path)
        assert await visible(store, tmp_path) == NEW
        assert await stored_names(store) == (await read_version(store)).stored_names
        sent = [name for name in crashing.applied + again.applied if name.startswith("put_file")]
        assert len(sent) == len(set(sent))


contents = st.dictionaries(
    st.sampled_from(["a", "b.x", "c/d"]), st.sampled_from([b"1", b"2", b"3"]), max_size=3
)


@settings(max_examples=6)
@given(st.lists(st.tuples(contents, st.integers(0, 14), st.booleans()), min_size=1, max_size=4), contents)
def test_crashes_one_after_the_other_never_show_a_mixture(
    history: list[tuple[Files, int, bool]], last: Files
) -> None:
    async def run(folder: Path) -> None:
        store = StoreDouble()
        candidates: list[Files] = [{}]
        for files, crash_at, is_late in history:
            try:
                await publish_files(
                    StoreDouble(store, crash_at=crash_at, crash_is_late=is_late), files, folder
                )
                candidates = [files]
            except CrashError:
                candidates.append(files)
            version = await visible(store, folder)
            assert version in candidates
            candidates = [version]
        await publish_files(store, last, folder)
        assert await visible(store, folder) == last
        assert await stored_names(store) == (await read_version(store)).stored_names

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


async def test_a_file_that_a_crash_left_half_known_is_checked_by_its_hash(tmp_path: Path) -> None:
    store = StoreDouble()
    crashing = StoreDouble(store, crash_at=5, crash_is_late=True)
    with pytest.raises(CrashError):
        await publish_files(crashing, OLD, tmp_path)
    [sent] = [name.removeprefix("put_file ") for name in crashing.names if name.startswith("put_file")][:1]
    await store.put(sent, b"x" * (await store.head(sent)).size)  # of the right size, but other bytes
    await publish_files(store, OLD, tmp_path)
    assert await visible(store, tmp_path) == OLD


# ── other writers ──


async def test_a_writer_that_lost_its_lease_changes_nothing_that_readers_see(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    (tmp_path / "late").write_bytes(b"late")
    async with lease_of(StoreDouble(store)) as lease:
        store.clock.seconds += 1000
        async with lease_of(StoreDouble(store)):
            with pytest.raises(LeaseLostError, match="has passed to another writer"):
                await publish(store, {"late": tmp_path / "late"}, lease)
    assert await visible(store, tmp_path) == OLD


async def test_a_manifest_that_another_writer_replaced_is_not_replaced(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    (tmp_path / "late").write_bytes(b"late")

    class InterferingStore:
        """A store at which another writer publishes while a file is sent."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def put_file(self, name: str, path: Path, *, sha256: str | None = None) -> object:
            store.clock.seconds += 1000
            await publish_files(StoreDouble(store), NEW, tmp_path / "other")
            return await store.put_file(name, path, sha256=sha256)

    (tmp_path / "other").mkdir()
    async with lease_of(StoreDouble(store)) as lease:
        with pytest.raises((LeaseLostError, ObjectChangedError)):
            await publish(InterferingStore(), {"late": tmp_path / "late"}, lease)  # type: ignore[arg-type]
    assert await visible(store, tmp_path) == NEW


# ── readers ──


async def test_a_reader_whose_version_is_replaced_meanwhile_fetches_the_new_one(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)

    class InterferingStore:
        """A store at which another version is published before the first file is read."""

        is_done = False

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def download(self, name: str, path: Path, *, sha256: str | None = None) -> object:
            if not self.is_done:
                self.is_done = True
                await publish_files(StoreDouble(store), NEW, tmp_path)
            return await store.download(name, path, sha256=sha256)

    target = tmp_path / "target"
    manifest = await fetch_version(InterferingStore(), target)  # type: ignore[arg-type]
    assert {file.name: (target / file.name).read_bytes() for file in manifest.files} == NEW


async def test_a_missing_file_of_the_current_version_is_an_error(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    [name] = [file.stored_as for file in (await read_version(store)).files if file.name == "x/b"]
    await store.delete(name)
    with pytest.raises(ObjectStoreError, match="a file of version 1 is missing"):
        await fetch_version(store, tmp_path / "target")


async def test_a_file_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    await fetch_version(store, tmp_path / "target")
    (tmp_path / "target" / "x" / "c").write_bytes(b"OLD C")
    reader = StoreDouble(store)
    await fetch_version(reader, tmp_path / "target")
    assert [name.split("-")[0] for name in reader.names if name.startswith("download")] == ["download x/c"]
    assert (tmp_path / "target" / "x" / "c").read_bytes() == b"old c"


# ── real stores ──


async def test_versions_on_every_kind_of_store(store: ObjectStore, tmp_path: Path) -> None:
    for files in (OLD, NEW, OLD):
        paths = {}
        for number, (name, data) in enumerate(files.items()):
            paths[name] = tmp_path / f"file-{number}"
            paths[name].write_bytes(data)
        async with lease_of(store) as lease:
            assert lease.is_exclusive
            stats = await publish(store, paths, lease)
        assert (stats.sent, stats.present) == ((3, 0) if stats.generation == 1 else (2, 1))
        target = tmp_path / f"target-{stats.generation}"
        manifest = await fetch_version(store, target)
        assert {file.name: (target / file.name).read_bytes() for file in manifest.files} == files
    names = {info.name async for info in store.list()} - RESERVED
    assert names == manifest.stored_names
    with pytest.raises(ObjectNotFoundError):
        await store.get("a.ndjson")
