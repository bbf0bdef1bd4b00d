"""Files of this machine: sent in parts, and received completely or not at all."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, TypeAlias

from .store_errors import ObjectDamagedError, ObjectStoreError

PART_SIZE: Final = 8 << 20
"""Bytes of a part; a store of S3's kind takes at least 5 MiB, but for the last one."""
_MAX_PARTS: Final = 9_000
"""Below the 10,000 of S3's kind: the parts of a very large file are larger."""
_PARTS_AT_ONCE: Final = 4
_BLOCK: Final = 1 << 20
_ABORT_SECONDS: Final = 10.0

Put: TypeAlias = Callable[..., Awaitable[Any]]
"""Writes its argument, bytes or an iterator of blocks, to an object, with the options of obstore's `put`."""


async def upload(put: Put, path: Path, sha256: str, part_size: int) -> int:
    """Write a file to the object that `put` writes; return its size.

    A file of up to one part is sent in one request. Raises `ObjectStoreError` in the place of the end if the
    hash is not the expected one: obstore then aborts the upload, and nothing of it becomes visible. One that
    is cancelled ends so, too: a cancelled future of obstore would leave the parts in the store, invisible and
    paid for.
    """
    with _readable(path):
        size = (await asyncio.to_thread(path.stat)).st_size
    digest, is_stopped = hashlib.sha256(), False

    async def blocks() -> AsyncIterator[bytes]:
        with _readable(path), path.open("rb") as file:  # not in a thread: a cancel would lose the open file
            while (block := await asyncio.to_thread(file.read, min(part_size, _BLOCK))) and not is_stopped:
                digest.update(block)
                yield block
        if is_stopped:
            raise ObjectStoreError("the upload was cancelled")
        if digest.hexdigest() != sha256:
            raise ObjectStoreError(
                f"the file {path} changed while it was sent, or its hash is not the given one"
            )

    if size <= part_size:
        data = b"".join([block async for block in blocks()])
        await put(data, use_multipart=False)
        return len(data)

    async def send() -> None:
        chunk_size = max(part_size, -(-size // _MAX_PARTS))
        await put(blocks(), use_multipart=True, chunk_size=chunk_size, max_concurrency=_PARTS_AT_ONCE)

    task = asyncio.create_task(send())
    # The loop would log an error that no one retrieves, with the store's own text.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        is_stopped = True
        await asyncio.wait({task}, timeout=_ABORT_SECONDS)
        task.cancel()
        raise
    return size


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
