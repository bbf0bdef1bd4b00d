"""The place of attempts in an object store: the folder `attempts` under the export's address.

Workers write there, with the credentials of their own environment; the coordinator fetches the files of an
attempt into the folder `spool` of its local copy, and adopts them there. Readers of the export see none of
it.
The methods wait for the network, and are called in threads.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, final

from ..cloud.lease import LEASE, decode_lease
from ..cloud.store import ObjectStore
from ..cloud.store_errors import ObjectNotFoundError
from ..export.disk import Disk, make_folder
from ..export.file_names import SPOOL, path_inside
from ..export.in_thread import for_each
from .attempt_folder import AttemptFolder, AttemptPlace, JobEndedError, attempts_of

_FOLDER: Final = "attempts"
_REQUESTS: Final = 8
"""Requests to the store at the same time."""


@final
class AttemptStore:
    """The folder `attempts` of a store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    @property
    def address(self) -> str:
        """The export's address."""
        return self._store.address

    def read_job(self, name: str) -> bytes:
        """Return the content of a job's object; `FileNotFoundError` where it is not there."""
        try:
            return asyncio.run(self._store.get(_path(name))).data
        except ObjectNotFoundError:
            missing = f"{self._store.address}/{_path(name)}"
        raise FileNotFoundError(2, "there is no such object", missing)

    def write_job(self, name: str, content: bytes) -> None:
        """Write a job's object."""
        asyncio.run(self._store.put(_path(name), content))

    def put(self, job: str, files: Sequence[tuple[Path, str]]) -> None:
        """Write files as objects; `JobEndedError` where the job has ended."""

        async def write() -> None:
            try:
                await self._store.head(_path(job))
            except ObjectNotFoundError:
                raise JobEndedError(job) from None
            await for_each(files, lambda each: self._store.put_file(_path(each[1]), each[0]), _REQUESTS)

        asyncio.run(write())

    def remove_job(self, name: str) -> None:
        """Delete a job's object, and all that its workers have left: those that still read leave no more."""
        asyncio.run(self._store.delete(_path(name)))
        self.delete([each for each in self.names() if each.startswith(_path(attempts_of(name)))])

    def names(self) -> list[str]:
        """Return the objects of all jobs, and of their attempts."""

        async def listed() -> list[str]:
            return [info.name async for info in self._store.list(_FOLDER)]

        return asyncio.run(listed())

    def delete(self, names: list[str]) -> None:
        """Delete objects; workers that still read for a job among them end."""
        asyncio.run(for_each(names, self._store.delete, _REQUESTS))

    def holder(self) -> tuple[str, int] | None:
        """Return who holds the export's lease, and for the how manieth time it was taken; None for nobody."""
        try:
            record = decode_lease(asyncio.run(self._store.get(LEASE)).data)
        except ObjectNotFoundError:
            return None
        return record.owner, record.generation

    def fetch(self, files: Sequence[tuple[str, int]], out: Path) -> None:
        """Move files, given with their sizes, to the folder `spool` of an export's folder.

        Raises `ObjectNotFoundError` where one is not there, and other `ObjectStoreError`s.
        """
        if not files:
            return
        folder = path_inside(out, SPOOL)
        make_folder(Disk(), folder)

        async def move() -> None:
            def fetch(file: tuple[str, int]) -> Coroutine[Any, Any, object]:
                return self._store.download(_path(file[0]), folder / file[0], size=file[1])

            await for_each(files, fetch, _REQUESTS)
            await for_each(files, lambda each: self._store.delete(_path(each[0])), _REQUESTS)

        asyncio.run(move())


@final
class FetchedAttempts:
    """The attempts of a store, as the coordinator adopts them: in the folder `spool` of its local copy."""

    def __init__(self, store: AttemptStore, out: Path) -> None:
        self._store = store
        self._out = out

    def fetch(self, files: Sequence[tuple[str, int]]) -> None:
        """Move files here, given with their sizes."""
        self._store.fetch(files, self._out)

    def remove(self, names: list[str]) -> None:
        """Remove files that were fetched."""
        AttemptFolder(self._out).remove(names)


def place_of(out: str) -> AttemptPlace:
    """Return the place of the attempts of an export in a folder, or at the address of an object store.

    Raises `RequestInvalidError` where the store cannot be opened here.
    """
    from ..cloud.address import is_address

    return AttemptStore(ObjectStore.open(out)) if is_address(out) else AttemptFolder(Path(out))


def _path(name: str) -> str:
    return f"{_FOLDER}/{name}"
