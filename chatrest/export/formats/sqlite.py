"""A database: one SQLite file, whose columns, views and full-text index `database_schema` describes.

Rows are committed here before the journal commits that they are covered. A crash between the two leaves rows
that the journal does not know of: they are added again, and that changes nothing, for a message stands once,
by its id, and takes the place of its older version, which is kept. So the file may hold more than the journal
knows; where it holds less (an older copy, rows that somebody has deleted), or had to be made anew, all is
read again, and what it holds stays.

While it is written, it has a log beside it (WAL), and others may read it. At the end it is one file again,
and its hash is taken: that costs the reading of all of it, where anything was written.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from itertools import repeat
from typing import Final, final

from ...core.rows import UNKNOWN, Row, row_of
from ..disk import sync_folder
from ..file_names import DATABASE
from ..id_set import IdSet
from ..journal import Block, DataFile
from ..message_ids import key_of, number as number_of
from ..ownership import Source
from ..plan import Plan
from ..workspace import LAST, MissingIds, StoredRow, Workspace
from .sqlite_file import fold, has_log, opened, told
from .sqlite_rows import entry
from .sqlite_schema import BY_NUMBER, BY_TIME, COUNT, EDGES, UNDATED, UNNUMBERED, UPSERT

NAME: Final = DATABASE
_BUCKET: Final = "messages"
_HELD: Final = "database"
_FINISHED: Final = b"\x01\x01"
"""What the header says of a database without a log beside it (its bytes 18 and 19)."""
"""The journal's own note: how many messages are safe here."""
_BATCH: Final = 500


@final
class DatabaseSink:
    """The sink of `sqlite`."""

    upserts: Final = True

    def __init__(self, plan: Plan, workspace: Workspace) -> None:
        self._plan = plan
        self._workspace = workspace
        self._path = workspace.folder / NAME
        self._open: sqlite3.Connection | None = None
        self._held = 0
        self._added = 0
        """Of these, since the last commit."""
        self._is_logging = False

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._open is not None, "repair() comes first"
        return self._open

    # ── opening ──

    def recover(self) -> list[MissingIds]:
        """Opens the database, or makes it anew; where it lacks read_json, all of it is lost."""
        self.close()
        try:
            with told(self._path):
                return self._repaired()
        except BaseException:
            self.close()
            raise

    def _repaired(self) -> list[MissingIds]:
        journal = self._workspace.journal
        marks = {"app": journal["app"] or "", "plan": self._plan.encoded().decode()}
        is_as_left = self._is_as_left()
        self._open, was_sound, is_changed = opened(self._path, self._workspace.disk, marks)
        if (
            is_changed or not is_as_left or has_log(self._db)
        ):  # a log was left by a run that did not come to its end
            self._note_changing()
        [self._held] = self._db.execute("SELECT coalesce(sum(messages), 0) FROM sources").fetchone()
        known = int(journal[_HELD] or 0)
        journal[_HELD] = str(self._held)
        self._note_others()
        return [] if was_sound and is_as_left and self._held >= known else [MissingIds(0, 0, 0)]

    def _note_others(self) -> None:
        """Note the ids of the database that are no numbers."""
        journal, file = self._workspace.journal, self._part().number
        journal.move_others(file, None)
        rows = self._db.execute("SELECT source, id FROM messages WHERE number IS NULL")
        for source, key in rows.fetchall():
            journal.write_others(file, source, [key])

    def _is_as_left(self) -> bool:
        """Whether a finished file has its hash: if not, another program or the disk has changed it."""
        part = self._workspace.journal.open_file(_BUCKET, "part")
        if part is None or part.digest is None or not self._path.exists():
            return True
        with self._path.open("rb") as file:
            if file.read(20)[18:] != _FINISHED:
                return True  # a run had begun, and did not come to its end
            file.seek(0)
            return hashlib.file_digest(file, "sha256").digest() == part.digest

    # ── writing ──

    def add(self, number: int, source: Source, rows: list[Row]) -> int:
        """Takes rows; those that are there already, byte for byte, change nothing."""
        with told(self._path):
            self._begin()
            before = self._newest()
            self._db.executemany(UPSERT, map(entry, rows, repeat(number)))
            added = self._newest() - before
            self._db.execute(COUNT, (number, source.key, added))
            others = [key_of(row) for row in rows if number_of(row.id) is None]
            self._workspace.journal.write_others(self._part().number, number, others)
        self._held += added
        self._added += added
        return added

    def _begin(self) -> None:
        if not self._is_logging:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._is_logging = True
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _newest(self) -> int:
        # Nothing is removed in between, so places are given without gaps, and a difference is a count.
        found = self._db.execute("SELECT max(place) FROM messages").fetchone()
        return int(found[0] or 0)

    def flush(self) -> None:
        """Commits."""
        if not self._db.in_transaction:
            return
        with told(self._path):
            self._db.execute("COMMIT")
        self._added = 0
        self._workspace.journal[_HELD] = str(self._held)
        self._note_changing()

    def _note_changing(self) -> None:
        """What the journal knows of the file's bytes is not so any more; `finish` tells of them again."""
        part = self._part()
        if part.digest is not None:
            self._workspace.journal.drop_blocks(part.number)
            self._workspace.journal.keep_file(part._replace(size=0, digest=None))

    def rollback(self) -> None:
        """Rolls back what was not committed."""
        self._held -= self._added
        self._added = 0
        if self._open is not None and self._open.in_transaction:
            with told(self._path):
                self._open.execute("ROLLBACK")

    # ── reading ──

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """The rows of these ids and times, and the rows without either; memory for some hundred."""
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
            with told(self._path):
                found = self._db.execute(
                    sql, {**values, "edge": edge, "place": place, "size": _BATCH}
                ).fetchall()
            for _, _, source, raw in found:
                yield StoredRow(row_of(raw), source)
            if len(found) < _BATCH:
                return
            edge, place, *_ = found[-1]

    def written_ids(self) -> IdSet:
        """The ids of the database."""
        with told(self._path):
            rows = self._db.execute("SELECT number FROM messages WHERE number > 0")
            return IdSet(each for (each,) in rows)

    def counts(self) -> dict[int, int]:
        """As the database's own table tells."""
        with told(self._path):
            return dict(
                self._db.execute("SELECT number, messages FROM sources WHERE messages > 0").fetchall()
            )

    # ── the end ──

    def apply_updates(self) -> int:
        """Nothing: versions are kept when a message is added again."""
        return 0

    def maintain(self) -> None:
        """Nothing: all that is committed is in its place."""

    def finish(self) -> None:
        """Makes it one file, and takes its hash; where nothing was written, all is as it was."""
        part = self._part()
        with told(self._path):
            if part.digest is not None and not has_log(self._db):
                return
            fold(self._db)
            self._is_logging = False
            block = self._block(part)
        sync_folder(self._workspace.disk, self._workspace.folder)
        journal = self._workspace.journal
        with journal.transaction():
            journal.drop_blocks(part.number)
            journal.add_blocks([block])
            journal.keep_file(part._replace(size=block.size, digest=block.digest))

    def _block(self, part: DataFile) -> Block:
        first, last, since, until, other = self._db.execute(EDGES).fetchone()
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
            size = file.tell()
        if since is None:
            since = until = UNKNOWN
        return Block(
            part.number, 0, size, 0, self._held, first or 0, last or 0, since, until, digest, IdSet(), other
        )

    def _part(self) -> DataFile:
        journal = self._workspace.journal
        return journal.open_file(_BUCKET, "part") or journal.add_file(NAME, _BUCKET, "part")

    def close(self) -> None:
        """Lets go of the database; what was not committed never happened."""
        if self._open is not None:
            self._open.close()
            self._open = None
        self._is_logging = False
        self._added = 0
