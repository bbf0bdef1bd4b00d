"""Attempts in an object store: workers put files there under their final names, while the job is there."""

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from chatrest.cloud.store import ObjectStore
from chatrest.distributed.attempt_folder import JobEndedError
from chatrest.distributed.attempt_store import AttemptStore
from chatrest.export.store.fragments import Fragment


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
