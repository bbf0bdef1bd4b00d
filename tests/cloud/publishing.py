"""Publications of small files, for tests."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path

from chatrest.cloud.publication_plan import RESERVED, LocalFile

from chatrest.cloud.lease import Lease
from chatrest.cloud.publication import PublicationStats, Publisher, fetch_version, read_version
from chatrest.cloud.store import ObjectStore
from chatrest.cloud.transfer import file_sha256
from tests.cloud.store_double import StoreDouble

Files = Mapping[str, bytes]


def lease_of(store: ObjectStore) -> Lease:
    """A lease that is never renewed by itself."""
    return Lease(store, sleep=lambda _: asyncio.Event().wait())


def local_files(files: Files, folder: Path) -> list[LocalFile]:
    """Write the files to a folder."""
    local = []
    for number, (name, data) in enumerate(files.items()):
        path = folder / f"file-{number}"
        path.write_bytes(data)
        local.append(LocalFile(name, path, len(data), file_sha256(path)))
    return local


async def publish_files(store: ObjectStore, files: Files, folder: Path) -> PublicationStats:
    """Publish files under a lease of its own; a double of the store counts no operations of the lease."""
    async with lease_of(StoreDouble(store) if isinstance(store, StoreDouble) else store) as lease:
        return await Publisher(store, lease).publish(local_files(files, folder))


async def visible(store: ObjectStore, folder: Path) -> Files:
    """The files that a reader fetches."""
    with tempfile.TemporaryDirectory(dir=folder) as target:
        version = await fetch_version(store, await read_version(store), Path(target))
        return {file.name: (Path(target) / file.name).read_bytes() for file in version.files}


async def stored_names(store: ObjectStore) -> set[str]:
    """The objects of files."""
    return {info.name async for info in store.list()} - RESERVED
