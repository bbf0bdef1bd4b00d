"""The folder of an export as sinks see it. Below the sinks, and imports none of them."""

from pathlib import Path
from typing import Final, NamedTuple

from ..core.rows import Row
from .disk import Disk, OpenFiles, make_folder
from .file_names import SPOOL, path_inside
from .journal import DataFile, Journal

LAST: Final = (1 << 63) - 1
"""No id is higher."""


class Workspace(NamedTuple):
    """The folder of an export, and what is needed to write into it."""

    folder: Path
    journal: Journal
    disk: Disk
    files: OpenFiles

    def path(self, file: DataFile) -> Path:
        """Return where a file is; `ChatRestError` where its name leads outside of the folder."""
        return path_inside(self.folder, file.name)

    def new_path(self, file: DataFile) -> Path:
        """Return where the content of a file is made that is new, or takes the place of the older one."""
        return path_inside(self.folder, f"{SPOOL}/{file.number}.new")

    def make_spool(self) -> None:
        """Make the folder of files that are being made."""
        make_folder(self.disk, path_inside(self.folder, SPOOL))


class StoredRow(NamedTuple):
    """A row as it is on disk."""

    row: Row
    source: int
    """The source that wrote it; 0 where that is unknown."""
