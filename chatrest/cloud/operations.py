"""The operations of an object store that a lease and a publication need, and their values."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Protocol, final

from msgspec import Struct


@final
class ObjectInfo(Struct, frozen=True):
    """The facts of an object, without its content."""

    name: str
    size: int
    """In bytes."""
    etag: str | None
    """Changes with the content; None from a store that has none."""
    modified: datetime
    """The time of the last write, by the store's own clock."""
    sha256: str | None = None
    """Hexadecimal, as recorded by `put_file`; None where it was not, and in a list."""


@final
class StoredObject(Struct, frozen=True):
    """An object with its content."""

    info: ObjectInfo
    data: bytes


class Operations(Protocol):
    """A store. Every operation raises `ObjectStoreError`, and is described at `ObjectStore`."""

    @property
    def address(self) -> str:
        """The address, without credentials."""

    async def put(self, name: str, data: bytes) -> str | None:
        """Write an object, whatever was there."""

    async def put_new(self, name: str, data: bytes) -> str | None:
        """Create an object."""

    async def replace(self, name: str, data: bytes, etag: str) -> str | None:
        """Replace an object that is still the one with this e-tag."""

    async def put_file(
        self, name: str, path: Path, *, sha256: str | None = None, size: int | None = None
    ) -> ObjectInfo:
        """Write a file."""

    async def copy(self, name: str, target: str) -> None:
        """Copy an object within the store."""

    def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        """Iterate over the objects in a folder and below."""

    async def get(self, name: str) -> StoredObject:
        """Read an object."""

    async def download(
        self,
        name: str,
        path: Path,
        *,
        sha256: str | None = None,
        size: int | None = None,
        is_durable: bool = True,
    ) -> None:
        """Write an object to a file."""

    async def head(self, name: str) -> ObjectInfo:
        """Return the facts of an object."""

    async def stored_sha256(self, name: str) -> str:
        """Return the hash of an object's content."""

    async def delete(self, name: str) -> None:
        """Delete an object."""
