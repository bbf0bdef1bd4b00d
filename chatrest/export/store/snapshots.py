"""Snapshots: files that are replaced completely, such as a table of users. They have names that stay.

| between … and … | on the disk | the next opening |
|---|---|---|
| it is written to `spool/` and synced · the journal commits | the older one | removes the new one |
| the journal commits · it gets its name | the older one, and the new one in `spool/` | gives it its name |

The journal's commit is the moment of change: what is in `spool/` with the hash that the journal has then is
the snapshot, until it has its name.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ..formats.stored_records import SourceLines
from ..plan.file_names import path_inside
from ..plan.id_set import IdSet
from .disk import Disk, make_folder, sync_folder
from .formats import Format
from .segments import new_path
from .store_journal import StoreBlock, StoreFile, StoreJournal


class Snapshots:
    def __init__(self, folder: Path, disk: Disk, journal: StoreJournal) -> None:
        self._folder = folder
        self._disk = disk
        self._journal = journal

    def replace(self, stem: str, own_format: Format, pieces: Iterable[SourceLines], read_at: int) -> None:
        """Put a snapshot in the place of the older one; killed at any point, one of them is there, complete.

        `read_at` is the time of its rows.
        """
        name, rows = f"{stem}{own_format.suffix}", 0
        new = new_path(self._folder, name)

        def counted() -> Iterator[SourceLines]:
            nonlocal rows
            for piece in pieces:
                rows += piece.rows
                yield piece

        try:
            digest = own_format.write(self._disk, new, counted())
            sync_folder(self._disk, new.parent)
            with self._journal.transaction():
                file = self._journal.file(name) or StoreFile(0, name, stem, "sealed", 0)
                file = self._journal.note_file(file._replace(size=new.stat().st_size, sha256=digest))
                self._journal.write("DELETE FROM blocks WHERE file = ?", file.number)
                self._journal.add_blocks(file.number, [StoreBlock(0, rows, read_at, read_at, IdSet())])
                self._journal.check_in_place()
        except Exception:
            with suppress(OSError):
                self._disk.remove(new)
            raise
        self.place(name)

    def place(self, name: str) -> None:
        path = path_inside(self._folder, name)
        make_folder(self._disk, path.parent)
        self._disk.replace(new_path(self._folder, name), path)
        sync_folder(self._disk, path.parent)
