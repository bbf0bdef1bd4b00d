"""The folder of an export as sinks see it. Below the sinks, and imports none of them.

Where the place of the export is an object store, a data file may be *remote*: the journal knows it, and its
bytes are in the store only. Nothing says so but that it is not in the folder, and that the store has it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from ..core.replies.rows import Row
from .disk import Disk, OpenFiles, make_folder
from .file_names import SPOOL, path_inside
from .journal import DataFile, Journal

LAST: Final = (1 << 63) - 1
"""No id is higher."""


class RemoteFiles(Protocol):
    """The data files in the version of the store that the folder goes on from."""

    def has(self, file: DataFile) -> bool:
        """Return True if the store has a file of this name, size and, where it is known, digest."""

    def fetch(self, file: DataFile, path: Path) -> None:
        """Write a file that the store has to `path`, whole and durably.

        Raises `ObjectStoreError` where that fails or the content is another one, OSError where the disk does.
        """


class Workspace(NamedTuple):
    """The folder of an export, and what is needed to write into it."""

    folder: Path
    journal: Journal
    disk: Disk
    files: OpenFiles
    remote: RemoteFiles | None = None
    """None where all files are in the folder."""

    def path(self, file: DataFile) -> Path:
        """Return where a file is; `ChatRestError` where its name leads outside of the folder."""
        return path_inside(self.folder, file.name)

    def new_path(self, file: DataFile) -> Path:
        """Return where the content of a file is made that is new, or takes the place of the older one."""
        return path_inside(self.folder, f"{SPOOL}/{file.number}.new")

    def is_remote(self, file: DataFile) -> bool:
        """Return True if the bytes of a file are in the store only."""
        return self.remote is not None and not self.path(file).exists() and self.remote.has(file)

    @contextmanager
    def content(self, file: DataFile) -> Iterator[Path]:
        """Have a file in its place within the block, to be read: one that is remote is fetched.

        Behind the block it is remote again, unless another content has taken its place.
        """
        path = self.path(file)
        if self.remote is None or not self.is_remote(file):
            yield path
            return
        make_folder(self.disk, path.parent)
        self.remote.fetch(file, path)
        fetched = path.stat()
        try:
            yield path
        finally:
            if path.exists() and os.path.samestat(path.stat(), fetched):
                self.disk.remove(path)

    def make_spool(self) -> None:
        """Make the folder of files that are being made."""
        make_folder(self.disk, path_inside(self.folder, SPOOL))


class StoredRow(NamedTuple):
    """A row as it is on disk."""

    row: Row
    source: int
    """The source that wrote it; 0 where that is unknown."""
