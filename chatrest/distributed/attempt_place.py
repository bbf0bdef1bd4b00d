"""The place where workers leave the files of an attempt: the folder `spool` of an export, or an object store.

In a folder a worker writes below `spool`. A file that it has sealed is synced, and renamed to that of a
fragment, which the coordinator adopts by another rename. In a store, workers put files under their final
names, with the credentials of their environment, and no manifest names them before they are adopted: no
byte passes the coordinator, but of files that are partly known. Both hold the file of the job while it runs.
Methods wait for the disk or the network, and are called in threads.
"""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias, final

from .._cloud.lease import LEASE, decode_lease
from .._cloud.store import ObjectStore
from .._cloud.store_errors import ObjectNotFoundError
from .._cloud.transfer import file_sha256
from .._threads import for_each
from ..export.plan.file_names import SPOOL, path_inside
from ..export.store.disk import Disk, ErrorPath, sync_folder
from ..export.store.fragments import Fragment
from ..export.store.segments import NEW, fragment_path

JOB_PREFIX: Final = "job-"
_FOLDER: Final = "attempts"
_AT_ONCE: Final = 8
"""Files that are synced, and requests to a store, at the same time."""


class JobEndedError(Exception):
    """The file of the job is not there any more: no one waits for what a worker has read."""


@final
class AttemptFolder:
    """The folder `spool` of an export's folder."""

    def __init__(self, out: Path, disk: Disk | None = None) -> None:
        self._out, self._disk = out, disk or Disk()
        self.scratch: Path | None = path_inside(out, SPOOL)
        """The folder in which files are made; None for any."""

    def write_job(self, name: str, path: Path) -> None:
        """Take the file of a job over."""
        self._disk.replace(path, self._job(name))

    def remove_job(self, name: str) -> None:
        """Remove the file of a job: workers that still read for it end, and leave nothing."""
        self._disk.remove(self._job(name))

    @contextmanager
    def job_file(self, name: str) -> Iterator[Path]:
        """Have the file of a job here, to be opened in the block; FileNotFoundError where there is none."""
        self._job(name).stat()
        yield self._job(name)

    def put(self, job: str, files: Sequence[tuple[Path, Fragment]]) -> None:
        """Take files over, each under the name of its fragment; they survive a loss of power then.

        Raises `JobEndedError` where the job has ended, and OSError.
        """
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
        """Return the path of a job's file: that of a run that was killed is a leftover of the store."""
        return path_inside(self._out, SPOOL) / f"{name}{NEW}"


@final
class AttemptStore:
    """An object store with an export; methods as those of `AttemptFolder`."""

    scratch: Path | None = None

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self.address: str = store.address

    def write_job(self, name: str, path: Path) -> None:
        asyncio.run(self._store.put_file(_path(name), path, sha256=file_sha256(path)))

    def remove_job(self, name: str) -> None:
        asyncio.run(self._store.delete(_path(name)))

    @contextmanager
    def job_file(self, name: str) -> Iterator[Path]:
        with TemporaryDirectory(prefix="chatrest-") as folder:
            path = Path(folder) / name
            try:
                asyncio.run(self._store.download(_path(name), path, is_durable=False))
            except ObjectNotFoundError:
                place = f"{self.address}/{_path(name)}"
                raise FileNotFoundError(2, "there is no such object", place) from None
            yield path

    def put(self, job: str, files: Sequence[tuple[Path, Fragment]]) -> None:
        async def write() -> None:
            try:
                await self._store.head(_path(job))
            except ObjectNotFoundError:
                raise JobEndedError(job) from None
            await for_each(files, put, _AT_ONCE)

        async def put(file: tuple[Path, Fragment]) -> None:
            await self._store.put_file(file[1].name, file[0], sha256=file[1].sha256.hex())

        asyncio.run(write())

    def names(self) -> list[str]:
        """Return the objects of all jobs."""

        async def listed() -> list[str]:
            return [info.name async for info in self._store.list(_FOLDER)]

        return asyncio.run(listed())

    def delete(self, names: list[str]) -> None:
        """Delete objects; workers that still read for a job among them end."""
        asyncio.run(for_each(names, self._store.delete, _AT_ONCE))

    def holder(self) -> tuple[str, int] | None:
        """Return the owner and the generation of the export's lease; None if no one has it."""
        try:
            record = decode_lease(asyncio.run(self._store.get(LEASE)).data)
        except ObjectNotFoundError:
            return None
        return record.owner, record.generation


AttemptPlace: TypeAlias = AttemptFolder | AttemptStore


def place_of(out: str) -> AttemptPlace:
    """Return the place of the attempts of an export in a folder, or at the address of an object store.

    Raises `RequestInvalidError` where the store cannot be opened here.
    """
    from .._cloud.address import is_address

    return AttemptStore(ObjectStore.open(out)) if is_address(out) else AttemptFolder(Path(out))


def _path(name: str) -> str:
    return f"{_FOLDER}/{name}"
