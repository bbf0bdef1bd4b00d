"""The place where workers leave the files of an attempt, and where the coordinator finds them.

Here it is the folder `spool` of an export in a folder that all workers share; `attempt_store` has the place
in an object store. A file is copied under a name that nobody else has, and is on the disk, with its name,
when `put` returns.
"""

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol, final

from ..export.disk import Disk, ErrorPath, make_folder, sync_folder
from ..export.file_names import SPOOL, path_inside

JOB_PREFIX: Final = "job-"
ATTEMPT_PREFIX: Final = "attempt-"
_COPIES: Final = 8
"""Files that are copied at the same time."""
_CHUNK: Final = 1 << 20


class JobEndedError(Exception):
    """The file of the job is not there any more: nobody waits for what a worker has read."""


class AttemptPlace(Protocol):
    """The place of attempts, as a worker sees it. Its methods wait for the disk or the network."""

    def read_job(self, name: str) -> bytes:
        """Return the content of a job's file; FileNotFoundError where it is not there, or not any more."""

    def put(self, job: str, files: Sequence[tuple[Path, str]]) -> None:
        """Take files over, each under a name of its own; they survive a loss of power then.

        Raises `JobEndedError` where the job has ended, and OSError.
        """


class AdoptedAttempts(Protocol):
    """The attempts as the coordinator sees them. Its methods wait for the disk or the network."""

    def fetch(self, files: Sequence[tuple[str, int]]) -> None:
        """Bring files, given with their sizes, to where they are adopted: into the folder `spool`.

        Raises `ChatRestError` where they cannot be fetched, and OSError where they cannot be written.
        """

    def remove(self, names: list[str]) -> None:
        """Remove the files of an attempt that is not adopted."""


@final
class AttemptFolder:
    """The folder `spool` of an export's folder."""

    def __init__(self, out: Path, disk: Disk | None = None) -> None:
        self._out = out
        self._disk = disk or Disk()

    def read_job(self, name: str) -> bytes:
        """Return the content of a job's file."""
        return self._path(name).read_bytes()

    def write_job(self, name: str, content: bytes) -> None:
        """Write a job's file; one that is there is replaced in one moment."""
        path = self._path(name)
        make_folder(self._disk, path.parent)
        new = path.with_name(f"{name}.part")
        new.write_bytes(content)
        self._disk.replace(new, path)

    def remove_job(self, name: str) -> None:
        """Remove a job's file: workers that still read for it end, and leave nothing."""
        self._disk.remove(self._path(name))

    def put(self, job: str, files: Sequence[tuple[Path, str]]) -> None:
        """Copy files, several at a time, as each waits for the disk."""
        if not self._path(job).exists():
            raise JobEndedError(job)
        if files:
            with ThreadPoolExecutor(_COPIES) as pool:
                for _ in pool.map(lambda each: self._copy(*each), files):
                    pass
            sync_folder(self._disk, path_inside(self._out, SPOOL))

    def _copy(self, file: Path, name: str) -> None:
        path = self._path(name)
        with file.open("rb") as source, path.open("xb") as target:
            shutil.copyfileobj(source, target, _CHUNK)
            target.flush()
            with ErrorPath(path):
                self._disk.sync(target.fileno())

    def fetch(self, files: Sequence[tuple[str, int]]) -> None:
        """Do nothing: the files of an attempt are where they are adopted."""

    def remove(self, names: list[str]) -> None:
        """Remove the files of an attempt that is not adopted."""
        for name in names:
            self._disk.remove(self._path(name))

    def _path(self, name: str) -> Path:
        return path_inside(self._out, f"{SPOOL}/{name}")


def attempt_name(job: str, shard: int, count: int, suffix: str) -> str:
    """Return a name for a file of an attempt of a job that no other attempt gives, whoever runs the shard."""
    return f"{attempts_of(job)}{shard}-{os.urandom(8).hex()}-{count}{suffix}"


def attempts_of(job: str) -> str:
    """Return how the names of all files of a job's attempts begin."""
    return f"{ATTEMPT_PREFIX}{job.removeprefix(JOB_PREFIX)}-"
