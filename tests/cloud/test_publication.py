"""Versions of files: readers see a complete one, also if a publication is interrupted or another one runs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from chatrest._cloud.lease import LEASE
from chatrest._cloud.publication import (
    EMPTY,
    MANIFEST,
    PublishedFile,
    Publisher,
    Version,
    base_name,
    decode_version,
    read_version,
)
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.store_errors import LeaseLostError, ObjectChangedError, ObjectStoreError
from chatrest.errors import RequestInvalidError
from tests.cloud.publications import (
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
from tests.support.buckets import write_over
from tests.support.cases import loop_over

OLD: Files = {"a.ndjson": b"old a", "x/b": b"same", "x/c": b"old c"}
NEW: Files = {"a.ndjson": b"new a", "x/b": b"same", "x/d": b"new d", "e.json": b"new e"}


async def test_a_new_version_uploads_new_objects_and_deletes_old_ones(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    again = StoreDouble(store)
    assert (await publish_files(again, NEW, tmp_path)).number == 2
    assert await visible(store, tmp_path) == NEW
    assert await stored_names(store) == await named(store, tmp_path)
    place = again.names.index(f"replace {MANIFEST}")
    before, after = again.names[:place], again.names[place:]
    sent = [name for name in before if name.startswith("put_file")]
    assert len(sent) == 4  # a, e, d and the names
    assert sent[0].startswith("put_file x/d"), "what never changes is there before what names it"
    assert [name for name in before if name.startswith("delete")] == []
    assert [name for name in after if name.startswith("put_file")] == []
    assert len([name for name in after if name.startswith("delete")]) == 3  # a, c and the names


async def test_publishing_the_same_again_writes_nothing(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    again = StoreDouble(store)
    assert (await publish_files(again, OLD, tmp_path)).number == 1
    assert again.names == [f"get {MANIFEST}"]


async def test_a_part_of_a_version_keeps_the_other_files(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    async with lease_of(store) as lease:
        publisher = Publisher(store, lease)
        await publisher.begin()
        version = await publisher.publish([local_file("e.json", b"e", tmp_path)], is_partial=True)
        assert [file.name for file in version.files] == ["a.ndjson", "e.json", "names.json"]
        version = await publisher.publish([local_file("e.json", b"e", tmp_path)])
        assert [file.name for file in version.files] == ["e.json"]


async def test_a_finished_run_leaves_no_object_outside_the_version(tmp_path: Path) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    foreign = ["x/mine.ndjson", "notes-20261122.txt", "x/b-1-0123456789abcdef", "their-00001-01234567.csv"]
    late = ["x/late-00007-01234567.ndjson", "x/worker-00007-0123456789abcdef.ndjson"]
    async with lease_of(store) as lease:
        own = Publisher(store, lease, is_own=lambda name: base_name(name).startswith(("x/", "a.", "names")))
        await own.begin()
        for name in (*foreign, *late):
            await write_over(store, name, b"put by another one")
        await own.publish(*local_files(NEW, tmp_path), is_partial=True)
        assert {*late} <= await stored_names(store), "it may be of a worker of this run"
        await own.publish(*local_files(NEW, tmp_path))
    assert await stored_names(store) == {*foreign, *await named(store, tmp_path)}


async def test_a_missing_object_or_one_of_another_size_is_uploaded_again(tmp_path: Path) -> None:
    store = StoreDouble()
    version = await publish_files(store, OLD, tmp_path)
    file = version.file("a.ndjson")
    assert file is not None
    await write_over(store, fixed_name("x/b", b"same"), b"cut")
    await store.delete(file.object)
    await publish_files(store, OLD, tmp_path)
    assert await visible(store, tmp_path) == OLD


async def test_nothing_is_sent_after_the_lease_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose() -> None:
        raise LeaseLostError("the lease has passed to another writer")

    store = StoreDouble()
    async with lease_of(StoreDouble(store)) as lease:
        publisher = Publisher(store, lease)
        await publisher.begin()
        monkeypatch.setattr(lease, "check", lose)
        with pytest.raises(LeaseLostError):
            await publisher.publish(*local_files(NEW, tmp_path))
    assert [name for name in store.applied if name.startswith("put_file")] == []


async def test_old_objects_are_deleted_right_after_a_lease_renewal(tmp_path: Path) -> None:
    """A successor may have put files under the same names, if the lease is lost."""
    store, leftover = StoreDouble(), "x/old-00001-01234567.ndjson"
    async with lease_of(store) as lease:
        publisher = Publisher(store, lease, is_own=lambda name: name == leftover)
        await publisher.begin()
        await write_over(store, leftover, b"of a run that was killed")
        await publisher.publish(*local_files(NEW, tmp_path))
    assert store.names[store.names.index(f"delete {leftover}") - 1] == f"replace {LEASE}"


@pytest.mark.parametrize("fault", ["early", "late", "lost"])
async def test_a_fault_at_any_operation_leaves_a_complete_version(tmp_path: Path, fault: str) -> None:
    options: dict[str, Any] = {"crash_is_late": fault == "late", "crash_is_lost": fault == "lost"}
    number = 0
    while True:
        number += 1
        store = StoreDouble()
        await publish_files(store, OLD, tmp_path)
        crashing = StoreDouble(store, crash_at=number, **options)
        try:
            await publish_files(crashing, NEW, tmp_path)
            break
        except (CrashError, ObjectStoreError):
            pass
        is_published = f"replace {MANIFEST}" in crashing.applied
        assert await visible(store, tmp_path) == (NEW if is_published else OLD)
        again = StoreDouble(store)
        await publish_files(again, NEW, tmp_path)
        assert await visible(store, tmp_path) == NEW
        assert await stored_names(store) == await named(store, tmp_path)
        sent = [name for name in crashing.applied + again.applied if name.startswith("put_file x/")]
        assert len(sent) == len(set(sent))
    assert number > 8


async def test_a_writer_continues_after_a_lost_reply_at_any_operation(tmp_path: Path) -> None:
    """Of each of six publications by one writer, as within a run; the fourth replaces all other files."""
    versions = [
        {"a.j": b"%d" % n} | {f"x/{k}": b"%d" % k for k in range(3 * (n > 2), n + 1)} for n in range(6)
    ]
    number, lost = 0, 0
    while True:
        number += 1
        store = StoreDouble(crash_at=number, crash_is_lost=True)
        failures = 0
        async with lease_of(StoreDouble(store)) as lease:
            publisher = Publisher(store, lease)
            for _ in range(2):
                try:
                    await publisher.begin()
                    break
                except ObjectStoreError:
                    failures += 1
            for files in versions:
                for _ in range(2):
                    try:
                        await publisher.publish(*local_files(files, tmp_path))
                        break
                    except ObjectStoreError:
                        failures += 1
                assert await visible(StoreDouble(store), tmp_path) == files
        assert await stored_names(store) == await named(StoreDouble(store), tmp_path)
        lost += failures
        if len(store.names) < number:
            break
    assert lost > 30


@pytest.mark.parametrize("operation", ["put_file", "replace", "delete"])
async def test_a_late_writer_breaks_no_version_of_the_next_writer(tmp_path: Path, operation: str) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    (tmp_path / "other").mkdir()
    files = local_files({"a.ndjson": b"late", "x/b": b"same", "x/late": b"late"}, tmp_path)
    late, successor = StoreDouble(store), list[asyncio.Task[Version]]()
    inner = getattr(late, operation)

    async def after_another(*args: object, **options: object) -> object:
        """Let another writer publish `NEW` before the first call."""
        if not successor:
            late.end_lease()
            work = publish_files(StoreDouble(store), NEW, tmp_path / "other")
            successor.append(asyncio.create_task(work))
        await successor[0]
        return await inner(*args, **options)

    setattr(late, operation, after_another)
    async with lease_of(StoreDouble(store)) as lease:
        publisher = Publisher(late, lease)
        await publisher.begin()
        with pytest.raises((LeaseLostError, ObjectChangedError)):
            await publisher.publish(*files)
    assert await visible(store, tmp_path) == NEW
    await publish_files(store, NEW, tmp_path)  # what was late is deleted
    assert await stored_names(store) == await named(store, tmp_path)


class Unleased:
    """A lease that says yes to everybody."""

    def check(self) -> None: ...

    async def confirm(self) -> None: ...


async def test_a_manifest_write_of_unknown_outcome_is_checked_first(tmp_path: Path) -> None:
    store, unleased = StoreDouble(), Unleased()
    publisher = Publisher(store, unleased)  # type: ignore[arg-type]
    await publisher.begin()
    store.crash_at, store.crash_is_lost = len(store.names) + 3, True
    with pytest.raises(ObjectStoreError, match="no reply"):
        await publisher.publish(*local_files({"a.ndjson": b"1"}, tmp_path))
    await publish_files(StoreDouble(store), NEW, tmp_path)
    with pytest.raises(ObjectChangedError, match=r"another writer has replaced s3://bucket/chat/manifest"):
        await publisher.publish(*local_files({"a.ndjson": b"2"}, tmp_path))
    assert await visible(store, tmp_path) == NEW


async def test_a_writer_without_a_valid_lease_sends_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(_: Unleased) -> None:
        raise LeaseLostError("it has passed to another writer")

    store = StoreDouble()
    publisher = Publisher(store, Unleased())  # type: ignore[arg-type]
    await publisher.begin()
    monkeypatch.setattr(Unleased, "check", lost)
    with pytest.raises(LeaseLostError):
        await publisher.publish(*local_files(NEW, tmp_path))
    assert [name for name in store.names if name.startswith("put_file")] == []


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_a_store_without_a_manifest_is_refused_unchanged(tmp_path: Path, is_deleted: bool) -> None:
    store = StoreDouble()
    await publish_files(store, OLD, tmp_path)
    if is_deleted:
        await store.delete(MANIFEST)
    else:
        await write_over(store, MANIFEST, b"{}")
    before = store.objects
    async with lease_of(StoreDouble(store)) as lease:
        with pytest.raises(RequestInvalidError, match=r"json is (lost|damaged).* restore an earlier"):
            await Publisher(store, lease).begin()
    assert store.objects == before | {LEASE: store.objects[LEASE]}
    with pytest.raises(RequestInvalidError, match=r"/manifest\.json is (lost|damaged).* to a new address"):
        await read_version(store, lambda name: bool(base_name(name)))


async def test_a_first_run_leaves_a_manifest_before_anything_else(tmp_path: Path) -> None:
    store = StoreDouble()
    await write_over(store, "notes.txt", b"a stranger's")
    dying = StoreDouble(store, crash_at=3)  # the first file
    with pytest.raises(CrashError):
        await publish_files(dying, OLD, tmp_path)
    assert dying.applied == [f"get {MANIFEST}"] or f"put_new {MANIFEST}" in dying.applied
    assert await read_version(store) == EMPTY
    await publish_files(StoreDouble(store), OLD, tmp_path)
    assert await visible(store, tmp_path) == OLD


@loop_over(
    "data",
    [
        b"", b"\xff", b"[]", b'{"number": 1}',
        Version(1, [PublishedFile("../a", "a", 1, "")]).encoded(),
        Version(1, [PublishedFile("a", "/a", 1, "")]).encoded(),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_an_error(data: bytes) -> None:
    with pytest.raises(RequestInvalidError, match=r"^s3://b/manifest.json is damaged"):
        decode_version(data, "s3://b")


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


async def test_versions_on_every_kind_of_store(store: ObjectStore, tmp_path: Path) -> None:
    for files in (OLD, NEW, OLD):
        await publish_files(store, files, tmp_path)
        assert await visible(store, tmp_path) == files
    assert await stored_names(store) == await named(store, tmp_path)
