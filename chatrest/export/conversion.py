"""Folders of version 0.2: their journal becomes one of this version when they are opened for writing.

It keeps what was seen, covered and deleted, and knows no file any more: the opening adopts what is in the
folder, as where a journal was lost. Before that all is done to files that version 0.2 had noted: new content
that waits in `spool/` is put in place, a spool of Parquet becomes a segment, the log of a database is taken
into it, and what is not as it was committed, or was merged into another file, is set aside. A kill
at any point leaves what can be done again; the journal changes in one transaction.
"""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, final

from ..errors import RequestInvalidError
from .disk import Disk, make_folder, set_aside, sync_folder
from .file_names import DATABASE, SPOOL, STEM, partition_folder, path_inside
from .journal import GENERATION, LAYOUT, NAME, RUN, Journal
from .manifest import find_undamaged
from .opening import is_edited, set_next_generation
from .plan import Plan
from .run_log import last_run
from .store.formats import NewFile, file_sha256
from .store.segments import segment_path
from .stored_records import lines

_VERSION: Final = 2
_FORMER: Final = LAYOUT._replace(version=_VERSION, application=0, former={})
_FILES: Final = (
    "SELECT number, name, partition_key, role, size, state, digest FROM former_files ORDER BY number"
)
_BLOCKS: Final = "SELECT start, size, digest FROM former_blocks WHERE file = ? ORDER BY start"
_WAIT: Final = 10.0
"""Seconds that another program may have the database for itself, before that is an error."""


class _File(NamedTuple):
    number: int
    name: str
    partition_key: str
    role: str
    size: int
    state: str
    digest: bytes | None


def convert(folder: Path, disk: Disk) -> None:
    """Convert the journal of a folder that version 0.2 has written; without effect for any other.

    The caller has the folder's lock. All files are in it, also in a working copy. Costs the reading of them.
    Raises `RequestInvalidError` for a journal that is not as the last run left it.
    """
    path = folder / NAME
    if not _is_former(path):
        return
    with _FormerJournal(path, {}, _FORMER) as journal:
        manifest = find_undamaged(folder)
        if manifest is not None and is_edited(journal, manifest):
            raise RequestInvalidError(
                f"{path} is not as the last run left it; nothing was changed: restore it from a backup, or "
                "move it out of the folder and export again: a new one is made from the files"
            )
        with journal.transaction():
            journal.convert(folder, disk)
            if manifest is not None and manifest.generation == journal[GENERATION]:
                set_next_generation(journal)  # its rows are not those of the manifest any more


def _is_former(path: Path) -> bool:
    if not path.is_file() or not path.stat().st_size:
        return False
    try:
        with closing(sqlite3.connect(path, timeout=0)) as db:
            [application] = db.execute("PRAGMA application_id").fetchone()
            [version] = db.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error:
        return False  # whoever opens it says what is wrong
    return (application, version) == (0, _VERSION)


@final
class _FormerJournal(Journal):
    def convert(self, folder: Path, disk: Disk) -> None:
        """Make it one of this version; called in a transaction."""
        db, former = self._db, ("files", "blocks", "seen")
        for name in ("files_of_partition", "seen_of_source"):
            db.execute(f"DROP INDEX {name}")
        for name in former:
            db.execute(f"ALTER TABLE {name} RENAME TO former_{name}")
        have = {name for (name,) in self._all("SELECT name FROM sqlite_master")}
        for statement in LAYOUT.schema.split(";"):
            if statement.split("(")[0].split(" ON ")[0].split()[-1] not in have:
                db.execute(statement)
        db.execute("INSERT INTO seen SELECT number, source, ids FROM former_seen")
        db.execute("UPDATE other_ids SET file = NULL")
        plan = Plan.parse(self["plan"] or "")
        for row in self._all(_FILES):
            self._settle(_File(*row), plan, folder, disk)
        for path in sorted((folder / SPOOL).glob("*.spool*")):  # nothing of it was committed
            set_aside(disk, folder, path)
        for name in former:
            db.execute(f"DROP TABLE former_{name}")
        self[RUN] = str(last_run(folder) or 1)
        self.tell("deleted", [each.id for each in self.deleted()])
        db.execute(f"PRAGMA application_id={LAYOUT.application}")
        db.execute(f"PRAGMA user_version={LAYOUT.version}")

    def _settle(self, file: _File, plan: Plan, folder: Path, disk: Disk) -> None:
        """End what version 0.2 has begun with a file; set aside what is not as it was committed."""
        path, new = path_inside(folder, file.name), folder / SPOOL / f"{file.number}.new"
        if file.state == "replacing" and new.exists():
            make_folder(disk, path.parent)
            disk.replace(new, path)
            sync_folder(disk, path.parent)
        if not path.exists():
            return
        if file.name == DATABASE:
            _take_log(path)
        elif (file.state == "replacing" and not file.size) or not self._is_sound(file, path):
            set_aside(disk, folder, path)
        elif file.role == "spool":
            stem = f"{partition_folder(plan.partition or 'none', file.partition_key)}/{STEM}"
            name = f"{stem}-{file.number:05}-{file.number:08x}.parquet"
            with NewFile(disk, segment_path(folder, name)) as segment:
                for raws in lines(path, file.name, file.size):
                    segment.write(b"\n".join([*raws, b""]))
            sync_folder(disk, path.parent)
            disk.remove(path)

    def _is_sound(self, file: _File, path: Path) -> bool:
        """Return True if the committed bytes of a file are as they were written."""
        if file.digest is not None:
            return path.stat().st_size == file.size and file_sha256(path) == file.digest
        end = 0
        with path.open("rb") as opened:
            for start, size, digest in self._all(_BLOCKS, file.number):
                if start != end or hashlib.sha256(opened.read(size)).digest() != digest:
                    return False
                end += size
        return end == file.size


def _take_log(database: Path) -> None:
    """Take the log of a database into it; one that is damaged is set aside by the opening."""
    try:
        with closing(sqlite3.connect(database, timeout=_WAIT, isolation_level=None)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        raise OSError(f"{database}: {error}") from None
    except sqlite3.DatabaseError:
        return
