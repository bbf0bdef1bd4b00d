"""Exports in object stores: an export folder, published as one version, and fetched on another machine."""

from os import PathLike

from .local_path import local_path
from .version.results import FetchedVersion, Progress, PublishResult


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
    from .version.export_files import check_apart
    from .version.sending import publish_folder

    folder = local_path(out)
    check_apart(folder, address)
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
    from .version.export_files import check_apart
    from .version.fetching import fetch_folder

    folder = local_path(out)
    check_apart(folder, address)
    return await fetch_folder(ObjectStore.open(address), folder, progress=progress or (lambda _: None))
