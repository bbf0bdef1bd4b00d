"""Files to objects and objects to files, in parts, with a bounded number of them in memory."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Final, TypeAlias, TypeVar, final

from . import local_files
from .store_errors import ObjectStoreError

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


@final
class FileSource:
    """The content of a file in blocks, for an upload; hashes what it hands out.

    Raises `ObjectStoreError` in the place of the end if the hash is not `sha256`, and at the next block after
    `stop()`: obstore then aborts the upload, and nothing of it becomes visible.
    """

    def __init__(self, path: Path, sha256: str, size: int, block_size: int = _BLOCK) -> None:
        """`size` is the number of bytes that are handed out: what is behind them is not read."""
        self._path = path
        self._left = size
        self._block_size = block_size
        self._expected = sha256
        self._digest = hashlib.sha256()
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Let the upload fail at its next block."""
        self._stopped.set()

    async def blocks(self) -> AsyncIterator[bytes]:
        """Iterate over the blocks, once."""
        with _opened(self._path) as file:
            while block := await _read_file(self._path, lambda: self._read(file)):
                if self._stopped.is_set():
                    raise ObjectStoreError("the upload was cancelled")
                yield block
        if self._stopped.is_set():
            raise ObjectStoreError("the upload was cancelled")
        if self._digest.hexdigest() != self._expected:
            raise ObjectStoreError(
                f"the file {self._path} changed while it was sent, or its hash is not the given one"
            )

    def _read(self, file: IO[bytes]) -> bytes:
        block = file.read(min(self._block_size, self._left))
        self._left -= len(block)
        self._digest.update(block)
        return block


async def upload(
    put: Put, path: Path, sha256: str | None, part_size: int, *, records_hash: bool, size: int | None = None
) -> tuple[str, int]:
    """Write a file to the object that `put` writes; return its hash and size.

    A file of up to one part is sent in one request. `records_hash` says if the store keeps attributes.
    Only the first `size` bytes are sent if it is given.
    """
    if size is None:
        size = (await _read_file(path, path.stat)).st_size
    if sha256 is None:
        sha256 = await _read_file(path, lambda: file_sha256(path, size))
    options: dict[str, Any] = {"attributes": {"sha256": sha256}} if records_hash else {}
    source = FileSource(path, sha256, size, min(part_size, _BLOCK))
    if size <= part_size:
        data = b"".join([block async for block in source.blocks()])
        await put(data, use_multipart=False, **options)
        return sha256, len(data)
    options["chunk_size"] = max(part_size, -(-size // _MOST_PARTS))
    options["max_concurrency"] = _PARTS_AT_ONCE
    await _send_parts(put, source, options)
    return sha256, size


async def _send_parts(put: Put, source: FileSource, options: dict[str, Any]) -> None:
    """Send a multipart upload; if it is cancelled, let obstore abort it first.

    A cancelled future of obstore would drop the upload without an abort, and its parts would stay in the
    store, invisible and paid for.
    """

    async def send() -> None:
        await put(source.blocks(), use_multipart=True, **options)

    task = asyncio.create_task(send())
    # The loop would log an error that nobody retrieves, with the store's own text.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        source.stop()
        _, pending = await asyncio.wait({task}, timeout=_ABORT_SECONDS)
        for unfinished in pending:
            unfinished.cancel()
        raise


async def download(
    parts: AsyncIterator[bytes], name: str, path: Path, sha256: str | None, *, is_durable: bool
) -> None:
    """Write an object's parts to `path`: to a temporary file that is checked, synced and renamed."""
    temporary = path.with_name(f".{path.name}.{token_hex(8)}.part")
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    try:
        digest = hashlib.sha256()
        with temporary.open("xb") as file:  # not in a thread: a cancel would lose the open file
            async for part in parts:
                await asyncio.to_thread(_write_part, file, digest, part)
        if sha256 is not None and digest.hexdigest() != sha256:
            raise ObjectStoreError(f"{name} is damaged: its SHA-256 is {digest.hexdigest()}, not {sha256}")
        await asyncio.to_thread(_rename if is_durable else Path.replace, temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


async def _read_file(path: Path, read: Callable[[], T]) -> T:
    """Run `read` in a thread; a failure of the local file is not one of the store's."""
    try:
        return await asyncio.to_thread(read)
    except OSError as error:
        raise _unreadable(path, error) from None


def _opened(path: Path) -> IO[bytes]:
    """Return an open file; not in a thread, as a cancel would lose it."""
    try:
        return path.open("rb")
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> ObjectStoreError:
    return ObjectStoreError(f"could not read the file {path}: {error.strerror or error}")


def file_sha256(path: Path, size: int | None = None) -> str:
    """Return the hash of a file's content, or of its first `size` bytes; at most a block is in memory."""
    with path.open("rb") as file:
        if size is None:
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        while size and (block := file.read(min(size, _BLOCK))):
            digest.update(block)
            size -= len(block)
        return digest.hexdigest()


def _write_part(file: IO[bytes], digest: Any, part: bytes) -> None:
    file.write(part)
    digest.update(part)


def _rename(temporary: Path, path: Path) -> None:
    local_files.sync_file(temporary)
    temporary.replace(path)
    local_files.sync_folder(path.parent)
