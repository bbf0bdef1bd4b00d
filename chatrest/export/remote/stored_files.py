"""The data files of an export that are in its store: which the copy may do without, and how it gets them."""

import errno
import shutil
from collections.abc import Container
from pathlib import Path
from typing import Final, final

from ...cloud.publication_plan import EMPTY, PublishedFile, Version
from ...cloud.store import ObjectStore
from ..file_names import MESSAGES, SPOOL
from ..journal import DataFile
from .blocking import wait_for

SMALL: Final = 1 << 20
"""Bytes up to which a file that can grow stays in the copy.

One that is remote is never added to: the next run begins another file. So a file that grows is sent again up
to this size and no more, and a partition has few smaller ones.
"""


@final
class StoredFiles:
    """The data files of the version that the copy goes on from; see `workspace.RemoteFiles`."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._files: dict[str, PublishedFile] = {}
        self.note(EMPTY)

    def note(self, version: Version, damaged: Container[str] = ()) -> None:
        """Go on from a version; the objects that are `damaged` count as missing."""
        self._files = {file.name: file for file in version.files if file.stored_as not in damaged}

    def has(self, file: DataFile) -> bool:
        """Return True if the store has a file of this name, size and, where it is known, digest."""
        stored = self._files.get(file.name)
        if stored is None or stored.size != file.size:
            return False
        return file.digest is None or file.digest.hex() == stored.sha256

    def fetch(self, file: DataFile, path: Path) -> None:
        """Download a file to `path`; its bytes are checked. Called outside of the event loop's thread."""
        stored = self._files[file.name]
        check_room(path.parent, stored, self._store.address)
        wait_for(self._store.download(stored.stored_as, path, sha256=stored.sha256, size=stored.size))


def may_be_remote(name: str) -> bool:
    """Return True for the name of a file that a copy need not have, if it goes on from the store."""
    return name.partition("/")[0] in (MESSAGES, SPOOL)


def check_room(folder: Path, file: PublishedFile, address: str) -> None:
    """Raise OSError where a disk has no room for a file."""
    space = shutil.disk_usage(folder).free
    if file.size > space:
        text = f"{file.name} of {address} needs {file.size:,} bytes, and {space:,} are free"
        raise OSError(errno.ENOSPC, text, str(folder))
