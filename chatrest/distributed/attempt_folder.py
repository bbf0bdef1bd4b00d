"""The place where workers leave the files of an attempt: the folder `spool` of an export that all share.

A worker writes in a folder of its own there, whose name says that what is in it is being made. A file that
it has sealed is synced, and renamed to that of a fragment, which the coordinator adopts by another rename:
nothing is copied. `attempt_store` has the place in an object store.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol, final

from ..export.disk import Disk, ErrorPath, make_folder, sync_folder
from ..export.file_names import SPOOL, path_inside
from ..export.store.fragments import Fragment
from ..export.store.segments import NEW, fragment_path

JOB_PREFIX: Final = "job-"
_AT_ONCE: Final = 8
"""Files that are synced at the same time."""


class JobEndedError(Exception):
    """The file of the job is not there any more: nobody waits for what a worker has read."""


class AttemptPlace(Protocol):
    """The place of attempts, as a worker sees it. Its methods wait for the disk or the network."""

    @property
    def scratch(self) -> Path | None:
        """The folder in which a worker makes its files; None for any."""

    def read_job(self, name: str) -> bytes:
        """Return the content of a job's file; FileNotFoundError where it is not there, or not any more."""

    def put(self, job: str, files: Sequence[tuple[Path, Fragment]]) -> None:
        """Take files over, each under the name of its fragment; they survive a loss of power then.

        Raises `JobEndedError` where the job has ended, and OSError.
        """


@final
class AttemptFolder:
    """The folder `spool` of an export's folder."""

    def __init__(self, out: Path, disk: Disk | None = None) -> None:
        self._out = out
        self._disk = disk or Disk()

    @property
    def scratch(self) -> Path | None:
        """The folder itself: what is made there is put in place by a rename."""
        return path_inside(self._out, SPOOL)

    def read_job(self, name: str) -> bytes:
        """Return the content of a job's file."""
        return self._job(name).read_bytes()

    def write_job(self, name: str, content: bytes) -> None:
        """Write a job's file; one that is there is replaced in one moment."""
        path = self._job(name)
        make_folder(self._disk, path.parent)
        new = path.with_name(f"{path.name}{NEW}")
        new.write_bytes(content)
        self._disk.replace(new, path)

    def remove_job(self, name: str) -> None:
        """Remove a job's file: workers that still read for it end, and leave nothing."""
        self._disk.remove(self._job(name))

    def put(self, job: str, files: Sequence[tuple[Path, Fragment]]) -> None:
        """Sync files, several at a time, and rename them."""
        if files:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(self._sync, [path for path, _ in files]))
        if not self._job(job).exists():
            raise JobEndedError(job)
        for path, fragment in files:
            self._disk.replace(path, fragment_path(self._out, fragment.name))
        if files:
            sync_folder(self._disk, path_inside(self._out, SPOOL))

    def _sync(self, path: Path) -> None:
        with path.open("rb") as file, ErrorPath(path):
            self._disk.sync(file.fileno())

    def _job(self, name: str) -> Path:
        """Return the path of a job's file: one of a run that was killed is a leftover of the store."""
        return path_inside(self._out, f"{SPOOL}/{name}{NEW}")
