"""The results of `publish` and `fetch`, and their progress."""

from collections.abc import Callable
from typing import TypeAlias, final

from msgspec import Struct


@final
class VersionFile(Struct, frozen=True):
    """A file that was sent or fetched."""

    name: str
    """Its path in the export's folder."""
    size: int
    """In bytes."""


Progress: TypeAlias = Callable[[VersionFile], object]
"""Called after each file."""


@final
class PublishResult(Struct, frozen=True, kw_only=True):
    """The result of `publish`."""

    address: str
    version: int
    """The number of the version that readers see now."""
    files: int
    """Files of the version."""
    sent: int
    """Files that were sent; the others were in the store."""
    sent_bytes: int
    deleted: int
    """Objects of older versions that were deleted."""
    warning: str = ""
    """The sentence that says what the store cannot promise; empty if it keeps the conditions of writes."""


@final
class FetchedVersion(Struct, frozen=True, kw_only=True):
    """The result of `fetch`."""

    address: str
    version: int
    files: int
    """Files of the version."""
    fetched: int
    """Files that were fetched; the others were in the folder."""
    fetched_bytes: int
    removed: int
    """Files of the older copy that the version does not have."""
