"""The pages of a file that have changed: of a large journal the few are published that a run has written.

A change is a file: a line of JSON (the size of the new content, and the numbers of its pages), and then these
pages. Applied in their order to the content that they began from, changes give the newest.
"""

import hashlib
import shutil
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Final, final

import msgspec
from msgspec import Meta, Struct

from .store_errors import ObjectStoreError

PAGE: Final = 4096
"""Bytes: SQLite's own size of a page."""
_DIGEST: Final = 16


@final
class _Head(Struct):
    size: Annotated[int, Meta(ge=0)]
    pages: list[Annotated[int, Meta(ge=0)]]


def page_digests(path: Path) -> bytes:
    """Return the digests of all pages of a file, 16 bytes each; reads it once."""
    with path.open("rb") as file:
        return b"".join(map(_digest, iter(lambda: file.read(PAGE), b"")))


def write_change(path: Path, former: bytes, change: Path) -> bytes:
    """Write the pages of the file at `path` that have not the `former` digests to `change`.

    Returns the digests of all of its pages. Reads the file once; the pages that differ are not in memory.
    """
    digests, numbers = bytearray(), list[int]()
    with path.open("rb") as file, change.open("wb") as out, TemporaryFile(dir=change.parent) as pages:
        for number, page in enumerate(iter(lambda: file.read(PAGE), b"")):
            digests += (digest := _digest(page))
            if digest != former[number * _DIGEST : (number + 1) * _DIGEST]:
                numbers.append(number)
                pages.write(page)
        out.write(msgspec.json.encode(_Head(file.tell(), numbers)) + b"\n")
        pages.seek(0)
        shutil.copyfileobj(pages, out)
    return bytes(digests)


def apply_change(path: Path, change: Path) -> None:
    """Replace the pages of a file by those of a change; `ObjectStoreError` where that is none."""
    with change.open("rb") as file, path.open("r+b") as out:
        try:
            head = msgspec.json.decode(file.readline(), type=_Head)
        except (msgspec.DecodeError, UnicodeDecodeError):
            head = None
        if head is None or any(number * PAGE >= head.size for number in head.pages):
            raise ObjectStoreError(f"{change.name} is damaged: it is no change of a file")
        for number in head.pages:
            out.seek(number * PAGE)
            out.write(file.read(PAGE))
        out.truncate(head.size)


def _digest(page: bytes) -> bytes:
    return hashlib.blake2b(page, digest_size=_DIGEST).digest()
