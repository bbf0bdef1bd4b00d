"""Folders of version 0.2: their journal becomes one of this version when they are opened for writing.

All of it is one transaction of the journal. What is done to files before it changes nothing for version 0.2,
and does no harm when it is done again: a kill at any point leaves an export of one version or of the other.

| a file of version 0.2              | is then                                                           |
|------------------------------------|-------------------------------------------------------------------|
| as it was committed                | sealed, as it stands, with a SHA-256                              |
| new content that waits in `spool/` | put in place first, as version 0.2 would                          |
| longer than was committed: torn    | cut, and sealed; the end is kept in `damaged/`                    |
| a spool of Parquet                 | a segment, which becomes a file when the next run ends            |
| the database                       | sealed, with its log taken into it, and its ids as it has them    |
| merged into another one            | dropped: the opening removes it                                   |
| shorter, or with other bytes       | in `damaged/`: its ids are missing, and are read again            |
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple, final

from ..core.paging.intervals import LAST
from ..core.replies.rows import UNKNOWN
from ..errors import RequestInvalidError
from .disk import Disk, make_folder, set_aside, sync_folder
from .file_names import DATABASE, HISTORY, SPOOL, STEM, partition_folder, path_inside
from .id_set import IdSet
from .journal import GENERATION, LAYOUT, NAME, RUN, Journal
from .manifest import find_undamaged
from .opening import is_edited, set_next_generation
from .plan import Plan
from .run_log import last_run
from .store.formats import NewFile, file_sha256
from .store.journal import StoreBlock
from .store.segments import segment_path
from .stored_records import lines

_VERSION: Final = 2
_FORMER: Final = LAYOUT._replace(version=_VERSION, application=0, former={})
_RENAMED: Final = ("files", "blocks", "seen")
"""Tables that have other columns now."""
_FILES: Final = (
    "SELECT number, name, partition_key, role, size, state, digest FROM former_files ORDER BY number"
)
_BLOCKS: Final = """SELECT start, size, source, rows, since, until, other, digest, ids FROM former_blocks
WHERE file = ? ORDER BY start"""
_ROWS: Final = "SELECT source, number, sent_at, id FROM messages ORDER BY source, number"
_BATCH: Final = 10_000
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


class _Block(NamedTuple):
    start: int
    size: int
    source: int
    rows: int
    since: int
    until: int
    other: int
    """1 where any row tells no time, 2 where any has an id that is no number."""
    digest: bytes
    ids: bytes


def convert(folder: Path, disk: Disk) -> None:
    """Convert the journal of a folder that version 0.2 has written; without effect for any other.

    The caller has the folder's lock. All files are in it, also in a working copy. Costs the reading of them.
    Raises `RequestInvalidError` for a journal that is not as the last run left it.
    """
    path = folder / NAME
    if not _is_former(path):
        return
    with _FormerJournal(path, folder, disk) as journal:
        manifest = find_undamaged(folder)
        if manifest is not None and is_edited(journal, manifest):
            raise RequestInvalidError(
                f"{path} is not as the last run left it; nothing was changed: restore it from a backup, or "
                "move it out of the folder and export again: a new one is made from the files"
            )
        with journal.transaction():
            journal.convert()
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
    """A journal of version 0.2, which becomes one of this version."""

    def __init__(self, path: Path, folder: Path, disk: Disk) -> None:
        super().__init__(path, {}, _FORMER)
        self._folder, self._disk = folder, disk
        self._lost = set[str]()
        """Partitions of which a file is not as it was committed."""
        self._spools = list[str]()

    def convert(self) -> None:
        """Convert it; called in a transaction."""
        db = self._db
        for name in ("files_of_partition", "seen_of_source"):
            db.execute(f"DROP INDEX {name}")
        for name in _RENAMED:
            db.execute(f"ALTER TABLE {name} RENAME TO former_{name}")
        have = {name for (name,) in self._all("SELECT name FROM sqlite_master")}
        for statement in LAYOUT.schema.split(";"):
            if statement.split("(")[0].split(" ON ")[0].split()[-1] not in have:
                db.execute(statement)
        db.execute("INSERT INTO seen SELECT number, source, ids FROM former_seen")
        plan = Plan.parse(self["plan"] or "")
        for row in self._all(_FILES):
            self._take(_File(*row), plan)
        for name in self._spools:
            self.keep_file(self.add_file(name, STEM, "dropped")._replace(sha256=bytes(1)))
        for path in sorted((self._folder / SPOOL).glob("*.spool*")):
            if (name := f"{SPOOL}/{path.name}") not in self._spools:  # nothing of it was committed
                set_aside(self._disk, self._folder, path)
        db.execute("UPDATE other_ids SET file = NULL WHERE file NOT IN (SELECT number FROM files)")
        for name in _RENAMED:
            db.execute(f"DROP TABLE former_{name}")
        self[RUN] = str(last_run(self._folder) or 1)  # all that it has is of that run
        self.tell("deleted", [each.id for each in self.deleted()])
        db.execute(f"PRAGMA application_id={LAYOUT.application}")
        db.execute(f"PRAGMA user_version={LAYOUT.version}")

    def _take(self, file: _File, plan: Plan) -> None:
        """Take a file over, under its number; one that is not as it was committed is moved aside."""
        path = path_inside(self._folder, file.name)
        blocks = [_Block(*row) for row in self._all(_BLOCKS, file.number)]
        if file.state == "replacing" and not file.size:
            if file.partition_key not in self._lost:  # else what it was merged into is not there
                self._add(file.number, file.name, STEM, "dropped", bytes(1))
            return
        if file.name == DATABASE:
            self._take_database(file, path)
            return
        if file.state == "replacing" and (new := self._folder / SPOOL / f"{file.number}.new").exists():
            make_folder(self._disk, path.parent)
            self._disk.replace(new, path)
            sync_folder(self._disk, path.parent)
        if not _is_sound(file, path, blocks):
            self._lost.add(file.partition_key)
            if path.exists():
                set_aside(self._disk, self._folder, path)
            return
        self._cut(file, path)
        if file.role == "spool":
            self._take_spool(file, path, blocks, plan)
            return
        stem = HISTORY if file.role == "history" else f"{file.name.rpartition('/')[0]}/{STEM}"
        self._add(file.number, file.name, stem, "sealed", file_sha256(path))
        self.replace_blocks(file.number, [_converted(each, stem) for each in blocks])

    def _add(self, number: int, name: str, stem: str, state: str, sha256: bytes | None) -> None:
        path = segment_path(self._folder, name) if state == "open" else self._folder / name
        size = path.stat().st_size if path.exists() else 0
        values = (number, name, stem, state, size, sha256)
        sql = "INSERT INTO files(number, name, stem, state, size, sha256) VALUES(?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, values)

    def _cut(self, file: _File, path: Path) -> None:
        """Take bytes that no commit knows off the end of a file; they are kept in `damaged/`."""
        if path.stat().st_size == file.size:
            return
        name = f"{SPOOL}/{file.number}.end"
        make_folder(self._disk, self._folder / SPOOL)
        with NewFile(self._disk, self._folder / name) as end, path.open("rb") as whole:
            whole.seek(file.size)
            end.write(whole.read())
        set_aside(self._disk, self._folder, self._folder / name)
        new = self._folder / SPOOL / f"{file.number}.cut"
        with NewFile(self._disk, new) as start:
            start.copy(path, file.size)
        self._disk.replace(new, path)
        sync_folder(self._disk, path.parent)

    def _take_spool(self, file: _File, path: Path, blocks: list[_Block], plan: Plan) -> None:
        """Make a segment of a spool, which is removed when the export is opened."""
        assert plan.partition is not None
        stem = f"{partition_folder(plan.partition, file.partition_key)}/{STEM}"
        name = f"{stem}-{file.number:05}-{file.number:08x}.parquet"
        with NewFile(self._disk, segment_path(self._folder, name)) as segment:
            for raws in lines(path, file.name, file.size):
                segment.write(b"\n".join([*raws, b""]))
        sync_folder(self._disk, path.parent)
        self._add(file.number, name, stem, "open", None)
        self.add_blocks(file.number, [_converted(each, stem) for each in blocks])
        self._spools.append(file.name)

    def _take_database(self, file: _File, path: Path) -> None:
        """Take the log of the database into it, and learn its ids from it; leave out one that is damaged."""
        self._db.execute("UPDATE other_ids SET file = NULL WHERE file = ?", (file.number,))
        if not path.exists():
            return
        try:
            with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                db.execute("PRAGMA journal_mode=DELETE")
                blocks = [self._block_of(file, *each) for each in groupby(db.execute(_ROWS), itemgetter(0))]
        except sqlite3.OperationalError as error:
            raise OSError(f"{path}: {error}") from None
        except sqlite3.DatabaseError:
            return  # the opening sets it aside
        self._add(file.number, file.name, STEM, "sealed", file_sha256(path))
        self.replace_blocks(file.number, blocks)

    def _block_of(
        self, file: _File, source: int, rows: Iterator[tuple[int, int, int | None, str]]
    ) -> StoreBlock:
        count, ids, since, until, is_dated = 0, IdSet(), LAST, UNKNOWN, True
        while batch := list(islice(rows, _BATCH)):
            numbers = [number for _, number, _, _ in batch if number]
            times = [time for _, _, time, _ in batch if time is not None]
            self.write_others(file.number, source, [key for _, number, _, key in batch if not number])
            ids.update(IdSet(numbers))
            count, is_dated = count + len(batch), is_dated and len(times) == len(batch)
            since, until = min([since, *times]), max([until, *times])
        return StoreBlock(source, count, since if is_dated else UNKNOWN, until, ids)


def _is_sound(file: _File, path: Path, blocks: list[_Block]) -> bool:
    """Return True if the committed bytes of a file are as they were written."""
    if not path.is_file() or (size := path.stat().st_size) < file.size:
        return False
    if file.digest is not None:
        return size == file.size and file_sha256(path) == file.digest
    end = 0
    with path.open("rb") as opened:
        for block in blocks:
            if block.start != end or hashlib.sha256(opened.read(block.size)).digest() != block.digest:
                return False
            end += block.size
    return end == file.size


def _converted(block: _Block, stem: str) -> StoreBlock:
    ids = IdSet() if stem == HISTORY else IdSet.from_bytes(block.ids)
    return StoreBlock(block.source, block.rows, UNKNOWN if block.other else block.since, block.until, ids)
