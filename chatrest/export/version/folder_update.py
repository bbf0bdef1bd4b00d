"""A folder that becomes a fetched version: files are downloaded beside it, then take their places.

```
.fetch/… downloaded and checked → .fetch/update.json written → journal removed → files in their places
→ files that are no longer the export's removed → manifest → journal → .fetch removed
```

- Until the journal is removed, the folder is the older copy, whole. From then on no run takes the folder for
  an export that can be continued, until the journal is there, which is the last one. `fetch` goes on with it.
- `update.json` has the names of all files of the older copy and of the version, so that what is left over
  after a crash is still known.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final, final

import msgspec
from msgspec import Struct

from ...errors import ChatRestError
from ..disk import Disk, make_folder, sync_folder
from ..file_names import path_inside
from ..journal.schema import NAME as JOURNAL
from ..manifest import NAME as MANIFEST, put

STAGING: Final = ".fetch"
"""The folder of the download; hidden, so that no reader of the folder meets it."""
_UPDATE: Final = "update.json"
_LAST: Final = (MANIFEST, JOURNAL)


@final
class Update(Struct, frozen=True):
    """The content of `update.json`."""

    generation: str
    """Of the version."""
    names: list[str]
    """Of the files of the older copy and of the version."""


def staging(folder: Path) -> Path:
    """Return the folder of the download; `ChatRestError` if it is a symbolic link."""
    return path_inside(folder, STAGING)


def interrupted_update(folder: Path) -> Update | None:
    """Return the update of `folder` that was interrupted after its journal was removed; None for none."""
    path = staging(folder) / _UPDATE
    if (folder / JOURNAL).exists() or not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Update)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ChatRestError(f"{path} is damaged: fetch into another folder") from None


def begin_update(folder: Path, generation: str, former: Iterable[str], names: Iterable[str]) -> Update:
    """Write which files the update is about, and remove the journal: the folder is no export from here on."""
    disk = Disk()
    update = Update(generation, sorted({*former, *names}))
    put(disk, staging(folder) / _UPDATE, msgspec.json.encode(update))
    for name in (JOURNAL, f"{JOURNAL}-wal", f"{JOURNAL}-shm"):
        disk.remove(folder / name)
    sync_folder(disk, folder)
    return update


def finish_update(folder: Path, update: Update, names: Iterable[str]) -> int:
    """Put the files of a version in their places, and remove the others; return how many were removed.

    A file that is not in the folder of the download is in its place already.
    """
    disk, wanted = Disk(), {*names}
    for name in [*sorted(wanted - {*_LAST}), *_LAST[:1]]:
        _move(disk, folder, name)
    removed = 0
    for name in sorted({*update.names} - wanted):
        path = path_inside(folder, name)
        removed += path.is_file()
        disk.remove(path)
    _move(disk, folder, JOURNAL)
    discard_staging(folder)
    return removed


def discard_staging(folder: Path) -> None:
    """Remove the folder of the download."""
    if (path := staging(folder)).exists():
        shutil.rmtree(path)


def _move(disk: Disk, folder: Path, name: str) -> None:
    source, target = path_inside(staging(folder), name), path_inside(folder, name)
    if source.is_file():
        make_folder(disk, target.parent)
        disk.replace(source, target)
        sync_folder(disk, target.parent)
