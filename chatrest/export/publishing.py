"""Exports in object stores: an export folder, published as one version, and fetched on another machine."""

from collections.abc import Callable
from os import PathLike
from typing import TypeAlias, final

from msgspec import Struct

from .local_path import local_path


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


async def publish(
    out: str | PathLike[str],
    address: str,
    *,
    allow_incomplete: bool = False,
    progress: Progress | None = None,
) -> PublishResult:
    """Publish the export in the folder `out` as one version at `address`.

    `address` is `s3://bucket/prefix`, `gs://…`, `az://container/prefix` or `file:///folder`; credentials and
    endpoints are read from the usual environment variables. Files that the last version has are not sent
    again; readers see the old version or the new one. The journal is locked meanwhile. After an interruption,
    publish again; after a kill, the store's lease must end first, which takes about a minute.

    Raises `RequestInvalidError`, and publishes nothing, for a folder that is no export, for one that is being
    written, or is not complete without `allow_incomplete`, for a copy that does not go on from the published
    version, and without the extra `cloud`. Raises `ObjectStoreError` where the store fails or another writer
    holds it, and OSError where the disk does.
    """
    from ..cloud.lease import Lease
    from ..cloud.store import ObjectStore
    from .version.sending import publish_folder

    folder = local_path(out)
    store = ObjectStore.open(address)
    return await publish_folder(
        store, Lease(store), folder, allow_incomplete=allow_incomplete, progress=progress or (lambda _: None)
    )


async def fetch(
    address: str, out: str | PathLike[str], *, progress: Progress | None = None
) -> FetchedVersion:
    """Fetch the export that is published at `address` into the folder `out`, and check all hashes.

    `out` is an empty folder, or an older copy of the same export without runs of its own: files that are the
    same stay, and the others are downloaded beside them before any is replaced. After an interruption, fetch
    again. The export can then be read, verified and continued there.

    Raises `RequestInvalidError`, and changes nothing, for any other folder, for an address where nothing is
    published, and without the extra `cloud`. Raises `ObjectStoreError` where the store fails, and OSError
    where the disk does.
    """
    from ..cloud.store import ObjectStore
    from .version.fetching import fetch_folder

    return await fetch_folder(
        ObjectStore.open(address), local_path(out), progress=progress or (lambda _: None)
    )
