"""The objects that the parts of an export in an object store have in common: `PartFiles` of an address.

A file of its own because folders need nothing of object stores. What was left to a part may be added to by a
process that has lost its lease: each write has the condition that nobody else has written meanwhile.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..._cloud.lease import LEASE, Lease, decode_lease
from ..._cloud.publication import MANIFEST
from ..._cloud.store import ObjectStore
from ..._cloud.store_errors import ObjectChangedError, ObjectExistsError, ObjectNotFoundError
from ..folder.part_files import PartFiles, StampedFile, one_export_error


class PartObjects(PartFiles):
    def __init__(self, address: str) -> None:
        self._store = ObjectStore.open(address)
        self._leases: dict[str, tuple[str, float]] = {}
        """The leases that were seen: their stamps, and when each was seen first, by this machine's clock."""

    @property
    def place(self) -> str:
        return self._store.address

    async def read(self, name: str) -> StampedFile | None:
        try:
            stored = await self._store.get(name)
        except ObjectNotFoundError:
            return None
        return StampedFile(stored.data, stored.info.etag or "")

    async def write(self, name: str, data: bytes, former: StampedFile | None) -> bool:
        try:
            if former is None:
                await self._store.put_new(name, data)
            else:
                await self._store.replace(name, data, former.stamp)
        except (ObjectExistsError, ObjectChangedError):
            return False
        return True

    async def stamps(self, folder: str) -> dict[str, str]:
        names = {info.name: info.etag or "" async for info in self._store.list(folder)}
        return {name.rpartition("/")[2]: etag for name, etag in names.items()}

    async def remove(self, name: str) -> None:
        await self._store.delete(name)

    async def lost(self, names: list[str]) -> list[str]:
        return []  # each part would have to ask for all: P requests squared

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        async with Lease(self._store):
            yield

    async def is_held(self, part: str = "") -> bool:
        """Return whether there is a lease that its holder renews, or whose end was not seen yet."""
        name = f"{part}{part and '/'}{LEASE}"
        lease = await self.read(name)
        if lease is None or (record := decode_lease(lease.data)).released:
            return False
        stamp, since = self._leases.get(name, ("", 0.0))
        if stamp != lease.stamp:
            self._leases[name] = lease.stamp, time.monotonic()
            return True
        return time.monotonic() - since < record.seconds

    async def check_free(self) -> None:
        try:
            await self._store.get(MANIFEST)
        except ObjectNotFoundError:
            return
        raise one_export_error(self.place)
