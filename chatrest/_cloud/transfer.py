"""Files of this machine: sent in parts, and received whole."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Final, TypeAlias, TypeVar

from .store_errors import ObjectDamagedError, ObjectStoreError

T = TypeVar("T")

PART_SIZE: Final = 8 << 20
"""Bytes of a part; a store of S3's kind takes at least 5 MiB, but for the last one."""
_MOST_PARTS: Final = 9_000
"""Below the 10,000 of S3's kind: the parts of a very large file are larger."""
_PARTS_AT_ONCE: Final = 4
_BLOCK: Final = 1 << 20
"""Bytes that are read from a file at once."""
_ABORT_SECONDS: Final = 10.0
"""The time that a cancelled upload has for deleting its parts."""

Put: TypeAlias = Callable[..., Awaitable[Any]]
"""Writes its argument, bytes or an iterator of blocks, to an object, with the options of obstore's `put`."""


class FileSource:
    """The content of a file in blocks, for an upload; hashes what it hands out.

    Raises `ObjectStoreError` in the place of the end if the hash is not the expected one, and at the next
    block once it `is_stopped`: obstore then aborts the upload, and nothing of it becomes visible.
    """

    def __init__(self, path: Path, sha256: str) -> None:
        self._path = path
        self._expected = sha256
        self._digest = hashlib.sha256()
        self.is_stopped = False

    async def blocks(self, block_size: int) -> AsyncIterator[bytes]:
        with _readable(self._path):
            file = self._path.open("rb")  # not in a thread: a cancel would lose the open file
        with file:
            while (block := await self._next(file, block_size)) and not self.is_stopped:
                yield block
        if self.is_stopped:
            raise ObjectStoreError("the upload was cancelled")
        if self._digest.hexdigest() != self._expected:
            raise ObjectStoreError(
                f"the file {self._path} changed while it was sent, or its hash is not the given one"
            )

    async def _next(self, file: IO[bytes], block_size: int) -> bytes:
        def read() -> bytes:
            block = file.read(block_size)
            self._digest.update(block)
            return block

        with _readable(self._path):
            return await asyncio.to_thread(read)


async def upload(put: Put, path: Path, sha256: str | None, part_size: int) -> int:
    """Write a file to the object that `put` writes; return its size.

    A file of up to one part is sent in one request.
    """
    with _readable(path):
        size = (await asyncio.to_thread(path.stat)).st_size
        sha256 = sha256 if sha256 is not None else await asyncio.to_thread(file_sha256, path)
    source, block_size = FileSource(path, sha256), min(part_size, _BLOCK)
    if size <= part_size:
        data = b"".join([block async for block in source.blocks(block_size)])
        await put(data, use_multipart=False)
        return len(data)
    chunk_size = max(part_size, -(-size // _MOST_PARTS))
    options = {"use_multipart": True, "chunk_size": chunk_size, "max_concurrency": _PARTS_AT_ONCE}
    await _send_parts(lambda: put(source.blocks(block_size), **options), source)
    return size


async def _send_parts(put: Callable[[], Awaitable[Any]], source: FileSource) -> None:
    """Send a multipart upload; if it is cancelled, let obstore abort it first.

    A cancelled future of obstore would drop the upload without an abort, and its parts would stay in the
    store, invisible and paid for.
    """

    async def send() -> None:
        await put()

    task = asyncio.create_task(send())
    # The loop would log an error that no one retrieves, with the store's own text.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        source.is_stopped = True
        await asyncio.wait({task}, timeout=_ABORT_SECONDS)
        task.cancel()
        raise


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise an OSError as a fault of the local file, which is not one of the store's."""
    try:
        yield
    except OSError as error:
        raise ObjectStoreError(f"could not read the file {path}: {error.strerror or error}") from None


def file_sha256(path: Path, step: Callable[[int], object] = lambda _: None) -> str:
    """Return the hash of a file's content; `step` is called with the bytes of each block that was read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            step(len(block))
    return digest.hexdigest()


async def download(
    parts: AsyncIterator[bytes], name: str, path: Path, sha256: str | None, *, is_durable: bool
) -> None:
    """Write an object's parts to `path`: to a temporary file that is checked, synced and renamed."""
    temporary = path.with_name(f".{path.name}.{token_hex(8)}.part")
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    digest = hashlib.sha256()

    def write(part: bytes) -> None:
        file.write(part)
        digest.update(part)

    try:
        with temporary.open("xb") as file:  # not in a thread: a cancel would lose the open file
            async for part in parts:
                await asyncio.to_thread(write, part)
        if sha256 is not None and digest.hexdigest() != sha256:
            raise ObjectDamagedError(f"{name} is damaged: its SHA-256 is {digest.hexdigest()}, not {sha256}")
        if is_durable:
            await asyncio.to_thread(_sync, temporary)
        temporary.replace(path)
        if is_durable:
            await asyncio.to_thread(_sync, path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync(path: Path) -> None:
    if sys.platform == "win32" and path.is_dir():  # a system that opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
