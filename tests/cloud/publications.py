"""Publications of small files, for tests: those below `x/` never change, and are named by their content."""

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from chatrest._cloud.lease import Lease
from chatrest._cloud.publication import (
    EMPTY,
    MANIFEST,
    LocalFile,
    Publisher,
    Version,
    fetch_file,
    read_version,
)
from chatrest._cloud.store import ObjectStore
from chatrest._cloud.transfer import file_sha256
from tests.cloud.store_double import StoreDouble

Files = Mapping[str, bytes]
NAMES = "names.json"
"""The file with the names of those that never change: for an export it is the journal."""


def lease_of(store: ObjectStore) -> Lease:
    """A lease that is never renewed by itself."""
    return Lease(store, sleep=lambda _: asyncio.Event().wait())


def fixed_name(name: str, data: bytes) -> str:
    return f"{name}-00001-{hashlib.sha256(data).hexdigest()[:8]}.ndjson"


def local_file(name: str, data: bytes, folder: Path) -> LocalFile:
    path = folder / hashlib.sha256(f"{name} {data!r}".encode()).hexdigest()
    path.write_bytes(data)
    return LocalFile(name, path, len(data), file_sha256(path))


def local_files(files: Files, folder: Path) -> tuple[list[LocalFile], list[LocalFile]]:
    """Write files to a folder; return those that change, and the others."""
    fixed = {fixed_name(name, data): data for name, data in files.items() if name.startswith("x/")}
    changing = {name: data for name, data in files.items() if not name.startswith("x/")}
    changing[NAMES] = json.dumps({name: len(data) for name, data in fixed.items()}).encode()
    written = [[local_file(*item, folder) for item in each.items()] for each in (changing, fixed)]
    return written[0], written[1]


async def publish_files(store: ObjectStore, files: Files, folder: Path) -> Version:
    """Publish files under a new lease; a double of the store counts no operations of the lease."""
    async with lease_of(StoreDouble(store) if isinstance(store, StoreDouble) else store) as lease:
        publisher = Publisher(store, lease)
        await publisher.begin()
        await publisher.check_fixed(await fixed_names(store, folder), set())
        return await publisher.publish(*local_files(files, folder))


async def fixed_names(store: ObjectStore, folder: Path) -> dict[str, int]:
    """The names and sizes of the files of the current version that never change."""
    if isinstance(store, StoreDouble):
        store = StoreDouble(store)
    if (file := (await read_version(store) or EMPTY).file(NAMES)) is None:
        return {}
    with tempfile.TemporaryDirectory(dir=folder) as target:
        await fetch_file(store, file, Path(target) / NAMES)
        return dict(json.loads((Path(target) / NAMES).read_bytes()))


async def visible(store: ObjectStore, folder: Path) -> Files:
    """The files that a reader fetches."""
    with tempfile.TemporaryDirectory(dir=folder) as target:
        files = {}
        for file in (await read_version(store) or EMPTY).files:
            await fetch_file(store, file, path := Path(target) / file.name)
            files[file.name] = path.read_bytes()
        for name in json.loads(files.pop(NAMES, b"{}")):
            files[name.partition("-")[0]] = (await store.get(name)).data
            assert fixed_name(name.partition("-")[0], files[name.partition("-")[0]]) == name
        return files


async def stored_names(store: ObjectStore) -> set[str]:
    return {info.name async for info in store.list()} - {MANIFEST, "writer.json"}


async def named(store: ObjectStore, folder: Path) -> set[str]:
    objects = {file.object for file in (await read_version(store) or EMPTY).files}
    return objects | (await fixed_names(store, folder)).keys()
