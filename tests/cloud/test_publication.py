"""Versions of files: readers see one whole, wherever a publication ends."""

import asyncio
import hashlib
import json
from contextlib import nullcontext as nothing
from pathlib import Path
from typing import Any

import pytest

from chatrest.cloud.pages import PAGE, page_digests, write_change
from chatrest.cloud.publication import (
    LocalFile,
    PageChange,
    Part,
    PublishedFile,
    Publisher,
    Version,
    base_name,
    decode_version,
    fetch_file,
)
from chatrest.cloud.store import ObjectStore
from chatrest.cloud.store_errors import LeaseLostError, ObjectChangedError, ObjectStoreError
from chatrest.cloud.transfer import file_sha256
from tests.cases import loop_over
from tests.cloud.publishing import (
    Files,
    fixed_name,
    lease_of,
    local_file,
    local_files,
    named,
    publish_files,
    stored_names,
    visible,
)
from tests.cloud.store_double import CrashError, StoreDouble

OLD: Files = {"a.ndjson": b"old a", "x/b": b"same", "x/c": b"old c"}
NEW: Files = {"a.ndjson": b"new a", "x/b": b"same", "x/d": b"new d", "e.json": b"new e"}


# ── without faults ──


async def test_a_version_is_published_and_fetched(tmp_path: Path) -> None:
    store = StoreDouble()
    assert await visible(store, tmp_path) == {}
    assert (await publish_files(store, OLD, tmp_path)).number == 1
    assert await visible(store, tmp_path) == OLD
    assert fixed_name("x/b", b"same") in await stored_names(store)


async def test_a_new_version_sends_what_is_new_and_deletes_what_is_left_over(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    again = StoreDouble(store)
    assert (await publish_files(again, NEW, tmp_path)).number == 2
    assert await visible(store, tmp_path) == NEW
    assert await stored_names(store) == await named(store, tmp_path)
    place = again.names.index("replace manifest.json")
    before, after = again.names[:place], again.names[place:]
    assert len([name for name in before if name.startswith("put_file")]) == 4  # a, e, d and the names
    assert [name for name in before if name.startswith("delete")] == []
    assert [name for name in after if name.startswith("put_file")] == []
    assert len([name for name in after if name.startswith("delete")]) == 3  # a, c and the names


async def test_publishing_the_same_again_writes_nothing(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    again = StoreDouble(store)
    assert (await publish_files(again, OLD, tmp_path)).number == 1
    assert again.names == ["get manifest.json"]


async def test_a_part_of_a_version_keeps_the_other_files(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    async with lease_of(store) as lease:
        publisher = Publisher(store, lease)
        await publisher.publish([local_file("e.json", b"e", tmp_path)], is_partial=True)
        version = await publisher.current()
        assert [file.name for file in version.files] == ["a.ndjson", "e.json", "names.json"]
        await publisher.publish([local_file("e.json", b"e", tmp_path)])
        assert {file.name for file in (await publisher.current()).files} == {"e.json"}


async def test_objects_that_have_no_made_name_of_ours_are_left_alone(tmp_path: Path) -> None:
    store = StoreDouble()
    foreign = ["x/mine.ndjson", "notes-20261122.txt", "x/b-1-0123456789abcdef", "their-00001-01234567.csv"]
    for name in [*foreign, "x/late-00007-01234567.ndjson"]:
        await store.put(name, b"a stranger's")
    async with lease_of(store) as lease:
        own = Publisher(store, lease, is_own=lambda base: base.startswith("x/"))
        await own.publish(*local_files(OLD, tmp_path))
    assert await stored_names(store) == {*foreign, *await named(store, tmp_path)}


async def test_what_was_listed_with_another_size_or_is_missing_is_put_again(tmp_path: Path) -> None:
    store = StoreDouble()
    version = await publish_files(store, OLD, tmp_path)
    file = version.file("a.ndjson")
    assert file is not None
    await store.put(fixed_name("x/b", b"same"), b"cut")
    await store.delete(file.parts[0].name)
    await publish_files(store, OLD, tmp_path)
    assert await visible(store, tmp_path) == OLD


# ── pages ──


def page_change(old: bytes, new: bytes, folder: Path) -> tuple[LocalFile, int]:
    """A journal of these bytes, with the pages that differ from the old ones; and the size of the change."""
    former = local_file("j.sqlite", old, folder)
    file = local_file("j.sqlite", new, folder)
    write_change(file.path, page_digests(former.path), path := folder / f"change-{file.sha256[:9]}")
    change = PageChange(path, path.stat().st_size, file_sha256(path), former.sha256)
    return file._replace(change=change), change.size


def paged(*pages: int, end: bytes = b"") -> bytes:
    return b"".join(bytes([page]) * PAGE for page in pages) + end


async def test_of_a_journal_the_pages_are_sent_that_have_changed(tmp_path: Path) -> None:
    store, first = StoreDouble(), paged(*range(40))
    contents = [
        first,
        paged(*range(39), 99),
        paged(77, *range(1, 39), 99, 100, end=b"torn"),
        paged(77, *range(1, 39)),
        paged(77, *range(1, 39)),
    ]
    async with lease_of(store) as lease:
        publisher, former = Publisher(store, lease), first
        for number, content in enumerate(contents):
            file, size = page_change(former, content, tmp_path)
            version = await publisher.publish([file if number else file._replace(change=None)])
            [entry] = version.files
            assert len(entry.parts) == min(number, 3) + 1
            assert number in (0, 4) or entry.parts[-1].size == size < 4 * PAGE
            await fetch_file(store, entry, tmp_path / "back")
            assert (tmp_path / "back").read_bytes() == content
            former = content
        file, _ = page_change(former, paged(*range(100, 130)), tmp_path)
        [entry] = (await publisher.publish([file])).files
        assert len(entry.parts) == 1  # more than half of it has changed: it is sent whole
    assert await stored_names(store) == {entry.parts[0].name}


async def test_changes_of_another_content_and_of_missing_parts_are_not_used(tmp_path: Path) -> None:
    store, old, new = StoreDouble(), paged(*range(40)), paged(*range(39), 99)
    async with lease_of(store) as lease:
        publisher = Publisher(store, lease)
        await publisher.publish([local_file("j.sqlite", paged(*range(1, 41)), tmp_path)])
        [entry] = (await publisher.publish([page_change(old, new, tmp_path)[0]])).files
        assert len(entry.parts) == 1
        await store.delete(entry.parts[0].name)
        publisher = Publisher(store, lease)
        [entry] = (await publisher.publish([page_change(new, old, tmp_path)[0]])).files
        assert len(entry.parts) == 1
        await fetch_file(store, entry, tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == old


@pytest.mark.parametrize(
    "damage", [b"{}", b"\xff", b'{"size":4096,"pages":[1]}\n', b'{"size":4096,"pages":[0]}\nx']
)
async def test_a_damaged_change_is_an_error(tmp_path: Path, damage: bytes) -> None:
    store = StoreDouble()
    await store.put("a", paged(1))
    await store.put("b", damage)
    file = PublishedFile("j", PAGE, "0" * 64, [Part("a", PAGE), Part("b", len(damage))])
    with pytest.raises(ObjectStoreError, match="damaged"):
        await fetch_file(store, file, tmp_path / "j")
    assert names_in(tmp_path) == []


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


# ── crashes ──


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
async def test_a_crash_at_any_operation_leaves_a_whole_version_and_the_next_completes(
    tmp_path: Path, is_late: bool
) -> None:
    number = 0
    while True:
        number += 1
        store = StoreDouble()
        await publish_files(store, OLD, tmp_path)
        crashing = StoreDouble(store, crash_at=number, crash_is_late=is_late)
        try:
            await publish_files(crashing, NEW, tmp_path)
            break
        except CrashError:
            pass
        is_published = "replace manifest.json" in crashing.applied
        assert await visible(store, tmp_path) == (NEW if is_published else OLD)
        again = StoreDouble(store)
        await publish_files(again, NEW, tmp_path)
        assert await visible(store, tmp_path) == NEW
        assert await stored_names(store) == await named(store, tmp_path)
        sent = [name for name in crashing.applied + again.applied if name.startswith("put_file x/")]
        assert len(sent) == len(set(sent))
    assert number > 8


# ── other writers ──


async def test_a_writer_that_lost_its_lease_changes_nothing_that_readers_see(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    async with lease_of(StoreDouble(store)) as lease:
        store.clock.seconds += 1000
        async with lease_of(StoreDouble(store)):
            with pytest.raises(LeaseLostError, match="has passed to another writer"):
                await Publisher(store, lease).publish(*local_files({"late": b"late"}, tmp_path))
    assert await visible(store, tmp_path) == OLD


class InterferingStore:
    """A store at which another writer publishes `NEW` before the first call of an operation."""

    def __init__(self, store: StoreDouble, operation: str, folder: Path) -> None:
        self._store = store
        self._operation = operation
        self._folder = folder
        self._task: asyncio.Task[Version] | None = None

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


@pytest.mark.parametrize("operation", ["put_file", "replace", "delete"])
async def test_a_writer_that_is_late_at_any_operation_breaks_no_version_of_its_successor(
    tmp_path: Path, operation: str
) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    (tmp_path / "other").mkdir()
    files = local_files({"a.ndjson": b"late", "x/b": b"same", "x/late": b"late"}, tmp_path)
    async with lease_of(StoreDouble(store)) as lease:
        interfering: Any = InterferingStore(store, operation, tmp_path / "other")
        with pytest.raises((LeaseLostError, ObjectChangedError)) if operation != "delete" else nothing():
            await Publisher(interfering, lease).publish(*files)
    assert await visible(store, tmp_path) == NEW
    await publish_files(store, NEW, tmp_path)  # what was late is deleted
    assert await stored_names(store) == await named(store, tmp_path)


# ── the manifest ──


@loop_over(
    "data",
    [
        b"", b"\xff", b"[]", b'{"number": 1}', b'{"number": 1, "files": [], "format": 3}',
        Version(1, [PublishedFile("../a", 1, "", [Part("a", 1)])]).encoded(),
        Version(1, [PublishedFile("a", 1, "", [Part("/a", 1)])]).encoded(),
        Version(1, [PublishedFile("a", 1, "", [])]).encoded(),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_an_error(data: bytes) -> None:
    with pytest.raises(ObjectStoreError, match=r"^s3://b/manifest.json is damaged"):
        decode_version(data, "s3://b/manifest.json")


async def test_a_version_that_version_0_2_has_published_is_gone_on_with(tmp_path: Path) -> None:
    store = StoreDouble()
    files = [
        {
            "name": name,
            "stored_as": f"{name}-7-01234567",
            "size": len(data),
            "sha256": sha256_of(data),
        }
        for name, data in OLD.items()
    ]
    for name, data in OLD.items():
        await store.put(f"{name}-7-01234567", data)
    manifest = {"number": 7, "files": files, "complete": True, "about": {"messages": 3}, "format": 1}
    await store.put("manifest.json", json.dumps(manifest).encode())
    assert await visible(store, tmp_path) == OLD
    assert (await publish_files(store, NEW, tmp_path)).number == 8
    assert await visible(store, tmp_path) == NEW
    assert await stored_names(store) == await named(store, tmp_path)


@loop_over(
    ("name", "base"),
    [
        ("messages/a=b/messages-00012-0123abcd.ndjson.gz", "messages/a=b/messages.ndjson.gz"),
        ("journal-00012-0123456789abcdef.sqlite", "journal.sqlite"),
        ("messages-100000-0123abcd.parquet", "messages.parquet"),
        ("messages-2.ndjson", ""), ("notes-20261122.txt", ""), ("a-00012-0123abcd/b.txt", ""),
    ],
)  # fmt: skip
def test_made_names_are_known(name: str, base: str) -> None:
    assert base_name(name) == base


# ── real stores ──


async def test_versions_on_every_kind_of_store(store: ObjectStore, tmp_path: Path) -> None:
    for files in (OLD, NEW, OLD):
        await publish_files(store, files, tmp_path)
        assert await visible(store, tmp_path) == files
    assert await stored_names(store) == await named(store, tmp_path)


async def test_what_others_put_there_is_neither_sent_nor_deleted_before_a_version_has_it(
    tmp_path: Path,
) -> None:
    store, data = StoreDouble(), b"of a worker"
    told, untold = fixed_name("x/told", data), fixed_name("x/untold", data)
    async with lease_of(StoreDouble(store)) as lease:
        publisher = Publisher(store, lease)
        changing, fixed = local_files(OLD, tmp_path)
        await publisher.publish(changing, fixed)
        await store.put(told, data)
        publisher.add({told: len(data)})
        await store.put(untold, data)
        publisher._current = None  # as after a manifest whose reply was lost: all is listed again
        changing, fixed = local_files(NEW, tmp_path)  # of the moment before it was told of
        await publisher.publish(changing, fixed)
        assert {told, untold} <= await stored_names(store)
        sent = len(store.names)
        await publisher.publish(changing, [*fixed, local_file(told, data, tmp_path)])
        assert f"put_file {told}" not in store.names[sent:]
        await publisher.publish(changing, fixed)  # it was replaced
        assert told not in await stored_names(store)
        assert untold in await stored_names(store)
    await publish_files(store, NEW, tmp_path)
    assert untold not in await stored_names(store), "the next writer lists what nobody told of"
