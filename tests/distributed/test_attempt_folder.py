"""Attempts in a shared folder: a file is synced once and renamed, and a job that has ended gets none."""

from pathlib import Path

import pytest

from chatrest.distributed.attempt_folder import AttemptFolder, JobEndedError
from chatrest.export.disk import Disk
from chatrest.export.store import repair
from chatrest.export.store.fragments import Fragment
from chatrest.export.store.segments import fragment_path
from tests.sealing import opened_as_it_is


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
    place.write_job("job-1", b"job")
    assert place.read_job("job-1") == b"job"
    files = sealed(place, 20)
    disk.asked.clear()
    place.put("job-1", files)
    assert sorted(disk.asked) == [*["replace"] * 20, *["sync"] * 21]  # and the folder, once
    assert all(fragment_path(tmp_path, each.name).read_bytes() == b"content" for _, each in files)
    assert not any(path.exists() for path, _ in files)


def test_a_job_that_has_ended_gets_no_file(tmp_path: Path) -> None:
    place = AttemptFolder(tmp_path)
    place.write_job("job-1", b"job")
    place.remove_job("job-1")
    files = sealed(place, 2)
    with pytest.raises(JobEndedError):
        place.put("job-1", files)
    assert {path.name for path in (tmp_path / "spool").iterdir()} == {"worker.new"}
    with pytest.raises(FileNotFoundError):
        place.read_job("job-1")


def test_the_job_and_the_workers_of_a_run_that_was_killed_end_with_the_next_opening(tmp_path: Path) -> None:
    place = AttemptFolder(tmp_path)
    place.write_job("job-1", b"job")
    files = sealed(place, 1)
    with opened_as_it_is(tmp_path, "plain") as store:
        assert [finding.kind for finding in repair(store)] == ["leftover", "leftover"]
    with pytest.raises(FileNotFoundError):
        place.read_job("job-1")
    with pytest.raises(FileNotFoundError):
        place.put("job-1", files)
