"""SQLite: one database, whose columns, views and full-text index `sqlite_schema` describes.

Rows are committed here before the journal commits their pages. A crash between the two leaves rows that the
journal does not know. They are written once all the same: the ids that are written are those of the database
itself, and a row that is added again takes the place of its older version, which is kept.

While it is written, it has a log beside it (WAL), and others may read it. At the end it is one file again,
and its hash is taken: that costs the reading of all of it, where anything was written. Where a finished
database has another hash when it is opened, somebody has changed it: then none of its ids counts as written,
and all are read again; what it holds stays.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Final, final

from ...core.rows import UNKNOWN, Row, row_of
from ..disk import sync_folder
from ..file_names import DATABASE, path_inside
from ..id_set import IdSet
from ..journal import Block, DataFile
from ..message_ids import PageIds, ids_of
from ..ownership import Source
from ..plan import Plan
from ..workspace import LAST, StoredRow, Workspace
from .sqlite_file import fold, has_log, open_database, os_errors
from .sqlite_rows import entry
from .sqlite_schema import BY_NUMBER, BY_TIME, COUNT, EDGES, UNDATED, UNNUMBERED, UPSERT

NAME: Final = DATABASE
_PARTITION: Final = "messages"
_FINISHED: Final = b"\x01\x01"
"""The bytes 18 and 19 of the header of a database without a log beside it."""
_BATCH: Final = 500


@final
class DatabaseSink:
    """The sink of `sqlite`."""

    upserts: Final = True

    def __init__(self, plan: Plan, workspace: Workspace) -> None:
        self._plan = plan
        self._workspace = workspace
        self._path = path_inside(workspace.folder, NAME)
        self._connection: sqlite3.Connection | None = None
        self._is_trusted = True
        self._is_logging = False

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._connection is not None, "recover() comes first"
        return self._connection

    # ── opening ──

    def recover(self) -> None:
        """Open the database, or make it; one that is damaged is moved aside first."""
        self.close()
        try:
            with os_errors(self._path):
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        journal = self._workspace.journal
        marks = {"app": journal["app"] or "", "plan": self._plan.encoded().decode()}
        self._is_trusted = self._has_its_hash()
        self._connection, is_new = open_database(self._workspace.folder, self._workspace.disk, marks)
        # A log was left by a run that did not come to its end.
        if is_new or not self._is_trusted or has_log(self._db):
            self._drop_hash()
        self._note_others()

    def _has_its_hash(self) -> bool:
        """Return False if a finished database is not as it was left."""
        file = self._workspace.journal.open_file(_PARTITION, "part")
        if file is None or file.digest is None or not self._path.exists():
            return True
        with self._path.open("rb") as database:
            if database.read(20)[18:] != _FINISHED:
                return True  # a run had begun, and did not come to its end
            database.seek(0)
            return hashlib.file_digest(database, "sha256").digest() == file.digest

    def _note_others(self) -> None:
        """Note the ids of the database that are no numbers as written, and no others."""
        journal, file = self._workspace.journal, self._file().number
        journal.move_others(file, None)
        rows = (
            self._db.execute("SELECT source, id FROM messages WHERE number IS NULL")
            if self._is_trusted
            else ()
        )
        for source, key in rows:
            journal.write_others(file, source, [key])

    # ── writing ──

    def add(self, number: int, source: Source, rows: list[Row], ids: PageIds | None = None) -> int:
        """Take rows; return how many were not there. One that is there byte for byte changes nothing."""
        with os_errors(self._path):
            self._begin()
            before = self._newest()
            self._db.executemany(UPSERT, map(entry, rows, repeat(number)))
            added = self._newest() - before
            self._db.execute(COUNT, (number, source.key, added))
        self._workspace.journal.write_others(self._file().number, number, (ids or ids_of(rows)).others)
        return added

    def _begin(self) -> None:
        if not self._is_logging:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._is_logging = True
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _newest(self) -> int:
        # Nothing is removed in between, so places are given without gaps, and a difference is a count.
        [newest] = self._db.execute("SELECT max(place) FROM messages").fetchone()
        return int(newest or 0)

    def flush(self) -> None:
        """Commit."""
        if not self._db.in_transaction:
            return
        with os_errors(self._path):
            self._db.execute("COMMIT")
        self._drop_hash()

    def _drop_hash(self) -> None:
        """Drop the hash from the journal: the file is another one now. `finish` notes the new one."""
        file = self._file()
        if file.digest is not None:
            self._workspace.journal.replace_blocks(file.number, ())
            self._workspace.journal.keep_file(file._replace(size=0, digest=None))

    def rollback(self) -> None:
        """Roll back what was not committed."""
        if self._connection is not None and self._connection.in_transaction:
            with os_errors(self._path):
                self._connection.execute("ROLLBACK")

    # ── reading ──

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """Yield the rows of these ids and times, and the rows without either; memory for some hundred."""
        if since > 0:
            yield from self._batches(BY_TIME, since, first=first, last=last)
        else:
            yield from self._batches(BY_NUMBER, first, last=last)
        yield from self._batches(UNNUMBERED, 0)
        yield from self._batches(UNDATED, 0)

    def _batches(self, sql: str, edge: int, **values: int) -> Iterator[StoredRow]:
        place = 0
        while True:
            # No statement stays open between two batches: it would keep the file from being finished.
            with os_errors(self._path):
                rows = self._db.execute(
                    sql, {**values, "edge": edge, "place": place, "size": _BATCH}
                ).fetchall()
            for _, _, source, raw in rows:
                yield StoredRow(row_of(raw), source)
            if len(rows) < _BATCH:
                return
            edge, place, *_ = rows[-1]

    def written_ids(self) -> IdSet:
        """Return the ids of the database; none where somebody has changed it, so that all are read again."""
        if not self._is_trusted:
            return IdSet()
        with os_errors(self._path):
            rows = self._db.execute("SELECT number FROM messages WHERE number > 0")
            return IdSet(number for (number,) in rows)

    def counts(self) -> dict[int, int]:
        """Return the numbers of messages from the database's own table."""
        with os_errors(self._path):
            return dict(
                self._db.execute("SELECT number, messages FROM sources WHERE messages > 0").fetchall()
            )

    # ── the end ──

    def apply_updates(self) -> int:
        """Do nothing: versions are kept when a message is added again."""
        return 0

    def compact(self, least: int, begin: Callable[[], None]) -> int:
        """Do nothing: it is one file."""
        return 0

    def maintain(self) -> None:
        """Do nothing: all that is committed is in its place."""

    def finish(self) -> None:
        """Make it one file, and take its hash; where nothing was written, all is as it was."""
        file = self._file()
        with os_errors(self._path):
            if file.digest is not None and not has_log(self._db):
                return
            fold(self._db)
            self._is_logging = False
            block = self._block(file)
        sync_folder(self._workspace.disk, self._workspace.folder)
        journal = self._workspace.journal
        with journal.transaction():
            journal.replace_blocks(file.number, [block])
            journal.keep_file(file._replace(size=block.size, digest=block.digest))

    def _block(self, file: DataFile) -> Block:
        first, last, since, until, other = self._db.execute(EDGES).fetchone()
        with self._path.open("rb") as database:
            digest = hashlib.file_digest(database, "sha256").digest()
            size = database.tell()
        return Block(
            file=file.number,
            start=0,
            size=size,
            source=0,
            rows=sum(self.counts().values()),
            first=first or 0,
            last=last or 0,
            since=UNKNOWN if since is None else since,
            until=UNKNOWN if since is None else until,
            digest=digest,
            ids=IdSet(),
            other=other,
        )

    def _file(self) -> DataFile:
        journal = self._workspace.journal
        return journal.open_file(_PARTITION, "part") or journal.add_file(NAME, _PARTITION, "part")

    def close(self) -> None:
        """Close the database; what was not committed never happened."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._is_logging = False
