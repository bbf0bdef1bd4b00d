"""Attempts in an object store: what workers write, and what the coordinator fetches."""

import asyncio
from pathlib import Path

import pytest

from chatrest.cloud.store import ObjectStore
from chatrest.cloud.store_errors import ObjectNotFoundError
from chatrest.distributed.attempt_folder import JobEndedError
from chatrest.distributed.attempt_store import AttemptStore


def names(store: ObjectStore) -> set[str]:
    async def collect() -> set[str]:
        return {info.name async for info in store.list()}

    return asyncio.run(collect())


def test_attempts_are_moved_to_the_coordinator_and_nothing_of_an_ended_job_stays(tmp_path: Path) -> None:
    store = ObjectStore.in_memory()
    attempts, file, out = AttemptStore(store), tmp_path / "data", tmp_path / "out"
    file.write_bytes(b"content")
    asyncio.run(store.put("manifest.json", b"{}"))
    attempts.write_job("job-1", b"of a killed run")
    attempts.delete(attempts.names())
    with pytest.raises(FileNotFoundError):
        attempts.read_job("job-1")
    attempts.write_job("job-2", b"job")
    assert attempts.read_job("job-2") == b"job"
    attempts.put("job-2", [(file, f"attempt-2-{number}") for number in range(20)])
    attempts.fetch([(f"attempt-2-{number}", 7) for number in range(10)], out)
    assert {path.name for path in (out / "spool").iterdir()} == {f"attempt-2-{each}" for each in range(10)}
    assert {path.read_bytes() for path in (out / "spool").iterdir()} == {b"content"}
    assert len(names(store)) == 12
    with pytest.raises(ObjectNotFoundError):
        attempts.fetch([("attempt-2-10", 7), ("attempt-2-3", 7)], out)
    attempts.write_job("job-22", b"of another one")
    attempts.put("job-22", [(file, "attempt-22-0")])
    attempts.remove_job("job-2")
    with pytest.raises(JobEndedError):
        attempts.put("job-2", [(file, "attempt-2-99")])
    assert names(store) == {"manifest.json", "attempts/job-22", "attempts/attempt-22-0"}
