"""Attempts in a folder or a store: a file is put once, while the job is there, and passes no coordinator."""

import asyncio
import tracemalloc
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from chatrest._cloud.store import ObjectStore
from chatrest.distributed.attempt_place import AttemptFolder, AttemptPlace, AttemptStore, JobEndedError
from chatrest.distributed.shard import Budget, OpenJob, write_job
from chatrest.distributed.start import ClusterWalk
from chatrest.export import Plan, Progress, Report, read, verify
from chatrest.export.plan.ownership import Source
from chatrest.export.run.place import run_at
from chatrest.export.run.run import export_folder
from chatrest.export.store import repair
from chatrest.export.store.disk import Disk
from chatrest.export.store.fragments import Fragment
from chatrest.export.store.segments import fragment_path
from tests.buckets import ADDRESS, Buckets, memory_store
from tests.distributed.clusters import HomeCluster
from tests.exporting import served, small_pages as small_pages
from tests.sealing import opened_as_it_is

USERS = [(2, Source("user", ("ann",))), (7, Source("user", ("\ud800",))), (9, Source("group", ("g",)))]


def job(place: AttemptPlace, name: str) -> None:
    write_job(place, name, "app", Plan(), USERS)


def has_job(place: AttemptPlace, name: str) -> bool:
    """Return whether the job's file is there; it is asked for what is in it."""
    try:
        with place.job_file(name) as path:
            opened = OpenJob(path)
    except FileNotFoundError:
        return False
    assert opened.app_id == "app"
    assert opened.sources([7, 8, 9]) == dict(USERS[1:])
    rules = opened.rules()
    assert rules.writer("\ud800", "ann", "user") == USERS[0][1], "the journal has known ann for longer"
    assert rules.writer("\ud800", "eve", "user") == USERS[1][1]
    assert rules.writer("ann", "g", "group") == USERS[2][1]
    assert rules.writer("eve", "bob", "user") is None
    return True


def test_a_worker_holds_none_of_the_sources_of_a_job(tmp_path: Path) -> None:
    place, count = AttemptFolder(tmp_path), 20_000
    sources = [Source("user", (f"user-{number:05}",)) for number in range(1, count + 1)]
    write_job(place, "job-1", "app", Plan(), enumerate(sources, 1))
    tracemalloc.start()
    try:
        with place.job_file("job-1") as path:
            opened = OpenJob(path)
        rules = opened.rules()
        assert rules.writer("user-19999", "user-00007", "user") == sources[6]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2 * count, "bytes"


class CountingDisk(Disk):
    """A disk that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def sync(self, file: int) -> None:
        self.asked.append("sync")

    def replace(self, old: Path, new: Path) -> None:
        self.asked.append("replace")
        super().replace(old, new)


def sealed(place: AttemptFolder, count: int) -> list[tuple[Path, Fragment]]:
    """Return files that a worker has made in its scratch folder."""
    assert place.scratch is not None
    folder = place.scratch / "worker.new"
    folder.mkdir(parents=True)
    files = []
    for number in range(count):
        path = folder / str(number)
        path.write_bytes(b"content")
        files.append((path, Fragment(f"messages/messages-00001-{number:016x}.ndjson", "", 7, b"", [], [])))
    return files


def test_a_file_is_synced_once_and_renamed(tmp_path: Path) -> None:
    disk = CountingDisk()
    place = AttemptFolder(tmp_path, disk)
    job(place, "job-1")
    files = sealed(place, 20)
    disk.asked.clear()
    place.put("job-1", files)
    assert sorted(disk.asked) == [*["replace"] * 20, *["sync"] * 21]  # and the folder, once
    assert all(fragment_path(tmp_path, each.name).read_bytes() == b"content" for _, each in files)
    assert not any(path.exists() for path, _ in files)


def test_a_job_that_has_ended_gets_no_file(tmp_path: Path) -> None:
    place = AttemptFolder(tmp_path)
    job(place, "job-1")
    place.remove_job("job-1")
    files = sealed(place, 2)
    with pytest.raises(JobEndedError):
        place.put("job-1", files)
    assert {path.name for path in (tmp_path / "spool").iterdir()} == {"worker.new"}
    assert not has_job(place, "job-1")


def test_the_job_and_the_workers_of_a_run_that_was_killed_end_with_the_next_opening(tmp_path: Path) -> None:
    place = AttemptFolder(tmp_path)
    job(place, "job-1")
    files = sealed(place, 1)
    with opened_as_it_is(tmp_path, "plain") as store:
        assert [finding.kind for finding in repair(store)] == ["leftover", "leftover"]
    assert not has_job(place, "job-1")
    with pytest.raises(FileNotFoundError):
        place.put("job-1", files)


def names(store: ObjectStore) -> set[str]:
    async def collect() -> set[str]:
        return {info.name async for info in store.list()}

    return asyncio.run(collect())


def test_files_get_their_final_names_while_the_job_is_there(tmp_path: Path) -> None:
    store = memory_store()
    place, file = AttemptStore(store), tmp_path / "data"
    file.write_bytes(b"content")
    fragments = [
        Fragment(f"messages/messages-00001-{number:016x}.ndjson", "", 7, sha256(b"content").digest(), [], [])
        for number in range(20)
    ]
    asyncio.run(store.put("manifest.json", b"{}"))
    job(place, "job-1")
    place.delete(place.names())
    assert not has_job(place, "job-1")
    job(place, "job-2")
    assert has_job(place, "job-2")
    place.put("job-2", [(file, fragment) for fragment in fragments])
    assert names(store) == {"manifest.json", "attempts/job-2", *(each.name for each in fragments)}
    job(place, "job-22")
    place.remove_job("job-2")
    with pytest.raises(JobEndedError):
        place.put("job-2", [(file, fragments[0]._replace(name="messages/late.ndjson"))])
    assert names(store) == {"manifest.json", "attempts/job-22", *(each.name for each in fragments)}


@pytest.mark.parametrize("trouble", [0.0, 0.4])
@pytest.mark.usefixtures("small_pages", "tidy")
async def test_no_message_passes_the_coordinator_on_its_way_into_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buckets: Buckets, trouble: float
) -> None:
    address, puts, downloads = ADDRESS, Counter[str](), list[str]()
    put_file, download = ObjectStore.put_file, ObjectStore.download

    async def noted_put(self: ObjectStore, name: str, path: Path, **options: Any) -> Any:
        puts[name] += name.startswith("messages/")
        return await put_file(self, name, path, **options)

    async def noted_download(self: ObjectStore, name: str, path: Path, **options: Any) -> None:
        downloads.extend([name] if name.startswith("messages/") else [])
        await download(self, name, path, **options)

    async with served(200, loose=False) as service:
        session, place = service.session, AttemptStore(ObjectStore.open(address))

        async def run(folder: Path, **options: Any) -> Report:
            cluster = HomeCluster(session, folder, place=place, trouble=trouble, seed=3)
            walk = ClusterWalk(
                lambda _: cluster, session.app.app_id, folder, Budget(requests=8, seconds=60.0), place
            )
            return await export_folder(session, folder, plan, ahead=walk, **options)

        plan = Plan(users=("ann", "bob"), partition="source", format="parquet")
        with monkeypatch.context() as patched:
            patched.setattr(ObjectStore, "put_file", noted_put)
            patched.setattr(ObjectStore, "download", noted_download)
            report = await run_at(address, tmp_path / "journal", Progress(), run)
            again = await run_at(address, tmp_path / "journal", Progress(), run)
        assert report.complete
        assert (report.written, again.written) == (report.messages, 0)
        assert max(puts.values()) == 1
        assert trouble or not downloads
        assert await asyncio.to_thread(lambda: verify(address).ok)
        rows = await asyncio.to_thread(lambda: [message.id for message in read(address)])
        assert len(rows) == len(set(rows)) == report.messages
        assert len(buckets.names(folder="messages")) <= sum(puts.values())
        assert not buckets.names(folder="attempts")
