"""Attempts in an object store: workers put files there under their final names, while the job is there."""

import asyncio
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from chatrest.cloud.store import ObjectStore
from chatrest.distributed.attempt_folder import JobEndedError
from chatrest.distributed.attempt_store import AttemptStore
from chatrest.distributed.shard import Budget
from chatrest.distributed.start import ClusterWalk
from chatrest.export import Plan, Progress, Report, read, verify
from chatrest.export.entry_points import run_at
from chatrest.export.run import export_folder
from chatrest.export.store.fragments import Fragment
from tests.distributed.clusters import HomeCluster
from tests.exporting import served, small_pages as small_pages


def names(store: ObjectStore) -> set[str]:
    async def collect() -> set[str]:
        return {info.name async for info in store.list()}

    return asyncio.run(collect())


def test_files_get_their_final_names_while_the_job_is_there(tmp_path: Path) -> None:
    store = ObjectStore.in_memory()
    place, file = AttemptStore(store), tmp_path / "data"
    file.write_bytes(b"content")
    fragments = [
        Fragment(f"messages/messages-00001-{number:016x}.ndjson", "", 7, sha256(b"content").digest(), [], [])
        for number in range(20)
    ]
    asyncio.run(store.put("manifest.json", b"{}"))
    place.write_job("job-1", b"of a killed run")
    place.clear()
    with pytest.raises(FileNotFoundError):
        place.read_job("job-1")
    place.write_job("job-2", b"job")
    assert place.read_job("job-2") == b"job"
    place.put("job-2", [(file, fragment) for fragment in fragments])
    assert names(store) == {"manifest.json", "attempts/job-2", *(each.name for each in fragments)}
    place.remove_job("job-2")
    with pytest.raises(JobEndedError):
        place.put("job-2", [(file, fragments[0]._replace(name="messages/late.ndjson"))])
    assert names(store) == {"manifest.json", *(each.name for each in fragments)}


@pytest.mark.parametrize("trouble", [0.0, 0.4])
@pytest.mark.usefixtures("small_pages", "tidy")
async def test_no_message_passes_the_coordinator_on_its_way_into_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: float
) -> None:
    address, puts, downloads = f"file://{tmp_path}/store", Counter[str](), list[str]()
    put_file, download = ObjectStore.put_file, ObjectStore.download

    async def noted_put(self: ObjectStore, name: str, path: Path, **options: Any) -> Any:
        puts[name] += name.startswith("messages/")
        return await put_file(self, name, path, **options)

    async def noted_download(self: ObjectStore, name: str, path: Path, **options: Any) -> None:
        downloads.append(name)
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
        paths = {path.name for path in (tmp_path / "store" / "messages").rglob("*.parquet")}
        assert len(paths) <= sum(puts.values())
        assert not list((tmp_path / "store").glob("attempts/*"))
