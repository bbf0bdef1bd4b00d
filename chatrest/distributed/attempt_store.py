"""The place of attempts in an object store: files get their final names there, and no manifest names them.

Workers write with the credentials of their own environment, and the coordinator adopts what is there: no byte
of it comes to its machine, but of files that are partly known. The file of a job is in the folder `attempts`.
The methods wait for the network, and are called in threads.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

from ..cloud.store import ObjectStore
from ..cloud.store_errors import ObjectNotFoundError
from ..export.in_thread import for_each
from ..export.store.fragments import Fragment
from .attempt_folder import AttemptFolder, AttemptPlace, JobEndedError

_FOLDER: Final = "attempts"
_REQUESTS: Final = 8
"""Requests to the store at the same time."""


@final
class AttemptStore:
    """An object store with an export."""

    scratch: Path | None = None

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

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

    def remove_job(self, name: str) -> None:
        """Delete a job's object: workers that still read for it end, and leave nothing."""
        asyncio.run(self._store.delete(_path(name)))

    def put(self, job: str, files: Sequence[tuple[Path, Fragment]]) -> None:
        """Write files as objects; `JobEndedError` where the job has ended."""

        async def write() -> None:
            try:
                await self._store.head(_path(job))
            except ObjectNotFoundError:
                raise JobEndedError(job) from None
            await for_each(files, lambda each: self._put(*each), _REQUESTS)

        asyncio.run(write())

    async def _put(self, path: Path, fragment: Fragment) -> None:
        await self._store.put_file(fragment.name, path, sha256=fragment.sha256.hex())

    def clear(self) -> None:
        """Delete all jobs, so that workers that still read for one end."""

        async def delete() -> None:
            names = [info.name async for info in self._store.list(_FOLDER)]
            await for_each(names, self._store.delete, _REQUESTS)

        asyncio.run(delete())


def place_of(out: str) -> AttemptPlace:
    """Return the place of the attempts of an export in a folder, or at the address of an object store.

    Raises `RequestInvalidError` where the store cannot be opened here.
    """
    from ..cloud.address import is_address

    return AttemptStore(ObjectStore.open(out)) if is_address(out) else AttemptFolder(Path(out))


def _path(name: str) -> str:
    return f"{_FOLDER}/{name}"
