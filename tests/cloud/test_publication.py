"""Versions of files: readers see one whole, wherever a publication ends."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from chatrest.cloud.publication_plan import stored_name
from hypothesis import given, settings, strategies as st

from chatrest.cloud.publication import PublicationStats, Publisher, fetch_version, read_version
from chatrest.cloud.store import ObjectStore
from chatrest.cloud.store_errors import (
    LeaseLostError,
    ObjectChangedError,
    ObjectStoreError,
)
from tests.cloud.publishing import (
    Files,
    lease_of,
    local_files,
    publish_files,
    stored_names,
    visible,
)
from tests.cloud.store_double import CrashError, StoreDouble

OLD: Files = {"a.ndjson": b"old a", "x/b": b"same", "x/c": b"old c"}
NEW: Files = {"a.ndjson": b"new a", "x/b": b"same", "d": b"new d"}


def counts(stats: PublicationStats) -> tuple[int, int, int, int]:
    return stats.version.number, stats.sent, stats.present, stats.deleted


# ── without faults ──


async def test_a_version_is_published_and_fetched(tmp_path: Path) -> None:
    store = StoreDouble()
    assert await visible(store, tmp_path) == {}
    assert counts(await publish_files(store, OLD, tmp_path)) == (1, 3, 0, 0)
    assert await visible(store, tmp_path) == OLD


async def test_a_new_version_sends_what_changed_and_deletes_what_is_left_over(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    assert counts(await publish_files(store, NEW, tmp_path)) == (2, 2, 1, 2)
    assert await visible(store, tmp_path) == NEW
    assert await stored_names(store) == (await read_version(store)).stored_names


async def test_publishing_the_same_again_writes_nothing(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    again = StoreDouble(store)
    assert counts(await publish_files(again, OLD, tmp_path)) == (1, 0, 3, 0)
    assert again.names == ["get manifest.json", "get publishing.json"]


async def test_the_manifest_is_the_last_object_that_is_written_before_deletions(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    again = StoreDouble(store)
    await publish_files(again, NEW, tmp_path)
    place = again.names.index("replace manifest.json")
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
    assert count == 8
    for number in range(1, count + 1):
        store = StoreDouble()
        await publish_files(store, OLD, tmp_path)
        crashing = StoreDouble(store, crash_at=number, crash_is_late=is_late)
        with pytest.raises(CrashError):
            await publish_files(crashing, NEW, tmp_path)
        is_published = "replace manifest.json" in crashing.applied
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


async def test_a_leftover_of_other_bytes_is_sent_again(tmp_path: Path) -> None:
    store = StoreDouble()
    crashing = StoreDouble(store, crash_at=5, crash_is_late=True)
    with pytest.raises(CrashError):
        await publish_files(crashing, OLD, tmp_path)
    sent = next(name.removeprefix("put_file ") for name in crashing.applied if name.startswith("put_file"))
    await store.put(sent, b"x" * (await store.head(sent)).size)
    await publish_files(store, OLD, tmp_path)
    assert await visible(store, tmp_path) == OLD


# ── other writers ──


async def test_an_upload_that_ends_after_the_successor_has_cleaned_up_is_deleted_later(
    tmp_path: Path,
) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    [late] = local_files({"x/e": b"late"}, tmp_path)
    name, foreign = stored_name("x/e", 1, late.sha256), stored_name("x/f", 1, "0" * 64)
    for object_name in (name, foreign, stored_name("other/x/e", 1, late.sha256)):
        await store.put_file(object_name, late.path)
    assert (await publish_files(store, OLD, tmp_path)).deleted == 1
    names = await stored_names(store)
    assert name not in names
    assert foreign in names
    assert len(names) == len(OLD) + 2


async def test_a_writer_that_lost_its_lease_changes_nothing_that_readers_see(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    async with lease_of(StoreDouble(store)) as lease:
        store.clock.seconds += 1000
        async with lease_of(StoreDouble(store)):
            with pytest.raises(LeaseLostError, match="has passed to another writer"):
                await Publisher(store, lease).publish(local_files({"late": b"late"}, tmp_path))
    assert await visible(store, tmp_path) == OLD


class InterferingStore:
    """A store at which another writer publishes `NEW` before the first call of an operation."""

    def __init__(self, store: StoreDouble, operation: str, folder: Path) -> None:
        self._store = store
        self._operation = operation
        self._folder = folder
        self._task: asyncio.Task[PublicationStats] | None = None

    def __getattr__(self, name: str) -> object:
        function = getattr(self._store, name)
        if name != self._operation:
            return function

        async def interfere(*args: object, **options: object) -> object:
            if self._task is None:
                self._store.clock.seconds += 1000
                work = publish_files(StoreDouble(self._store), NEW, self._folder)
                self._task = asyncio.create_task(work)
            await self._task
            return await function(*args, **options)

        return interfere


async def test_a_manifest_that_another_writer_replaced_is_not_replaced(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    (tmp_path / "other").mkdir()
    late = local_files({"late": b"late"}, tmp_path)
    async with lease_of(StoreDouble(store)) as lease:
        interfering: Any = InterferingStore(store, "put_file", tmp_path / "other")
        with pytest.raises((LeaseLostError, ObjectChangedError)):
            await Publisher(interfering, lease).publish(late)
    assert await visible(store, tmp_path) == NEW


# ── readers ──


async def test_a_reader_whose_version_is_replaced_meanwhile_fetches_the_new_one(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    interfering: Any = InterferingStore(store, "download", tmp_path)
    assert await visible(interfering, tmp_path) == NEW


async def test_a_missing_file_of_the_current_version_is_an_error(tmp_path: Path) -> None:
    store = StoreDouble()
    stats = await publish_files(store, OLD, tmp_path)
    await store.delete(next(file.stored_as for file in stats.version.files if file.name == "x/b"))
    with pytest.raises(ObjectStoreError, match="a file of version 1 is missing"):
        await visible(store, tmp_path)


async def test_a_file_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    store, target = StoreDouble(), tmp_path / "target"
    version = (await publish_files(store, OLD, tmp_path)).version
    await fetch_version(store, version, target)
    (target / "x" / "c").write_bytes(b"OLD C")
    reader = StoreDouble(store)
    await fetch_version(reader, version, target)
    assert [name.split("-")[0] for name in reader.names] == ["download x/c"]
    assert (target / "x" / "c").read_bytes() == b"old c"


# ── real stores ──


async def test_versions_on_every_kind_of_store(store: ObjectStore, tmp_path: Path) -> None:
    for files in (OLD, NEW, OLD):
        stats = await publish_files(store, files, tmp_path)
        assert (stats.sent, stats.present) == ((3, 0) if stats.version.number == 1 else (2, 1))
        assert await visible(store, tmp_path) == files
    assert await stored_names(store) == stats.version.stored_names
