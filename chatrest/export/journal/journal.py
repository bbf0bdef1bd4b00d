"""The writes of the journal. All of them but `transaction` are called inside of one."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import final

from ...core.paging.intervals import Interval, merge
from ...core.replies.rows import Row
from ...core.requests.endpoint import Pairs
from ...storage import sql_in
from ..id_set import IdSet
from ..message_ids import number
from ..ownership import Source
from .reader import JournalReader, position_of
from .records import Block, DataFile, Role, State


@final
class Journal(JournalReader):
    """The journal of one folder, open for writing."""

    def __init__(self, path: Path, begin: Mapping[str, str] | None = None) -> None:
        """Open the journal; a new one begins with `begin` as its meta."""
        super().__init__(path, begin or {})

    def __setitem__(self, name: str, value: str) -> None:
        """Set a value of meta."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (name, value))

    # ── sources ──

    def add_sources(self, sources: Iterable[Source]) -> None:
        """Add those that are not known yet; a user that was deleted, and is listed again, is open again."""
        keys = [(source.key,) for source in sources]
        self._db.executemany("INSERT OR IGNORE INTO sources(key) VALUES(?)", keys)
        self._db.executemany(
            "UPDATE sources SET state = 'open' WHERE key = ? AND state = 'deleted_user'", keys
        )

    def set_asked(self, sources: Iterable[Source]) -> None:
        """Note which sources the plan asks for; the others are kept."""
        self._db.execute("UPDATE sources SET asked = 0")
        keys = [(source.key,) for source in sources]
        self._db.executemany("UPDATE sources SET asked = 1 WHERE key = ?", keys)

    def set_state(self, source: int, state: State, error: str | None = None) -> None:
        """Note the state of a source."""
        self._db.execute("UPDATE sources SET state = ?, error = ? WHERE number = ?", (state, error, source))

    def set_by_time(self, source: int) -> None:
        """Note that the list of a source goes by time."""
        self._db.execute("UPDATE sources SET by_time = 1 WHERE number = ?", (source,))

    def prove(self, source: int, until: int) -> None:
        """Note the frozen end for which the end of a source was proven; one that is lower changes nothing."""
        self._db.execute("UPDATE sources SET proven = max(proven, ?) WHERE number = ?", (until, source))

    # ── what is covered, and what was seen ──

    def cover(self, source: int, after: int, last: int, position: Pairs) -> None:
        """Note that the ids above `after` up to `last` were read; the list goes on at `position`."""
        if last <= after:
            return
        near = (source, last + 1, after)
        sql = "SELECT first, last, position FROM covered WHERE source = ? AND first <= ? AND last >= ?"
        rows = list(self._rows(sql, tuple[int, int, str], *near))
        if len(rows) == 1 and rows[0][0] <= rows[0][1] == after:  # as mostly: it goes on where it was
            sql = "UPDATE covered SET last = ?, position = ? WHERE source = ? AND first = ?"
            self._db.execute(sql, (last, json.dumps(position), source, rows[0][0]))
            return
        intervals = [Interval(first, end, position_of(text, end)) for first, end, text in rows]
        self._db.execute("DELETE FROM covered WHERE source = ? AND first <= ? AND last >= ?", near)
        merged = merge([*intervals, Interval(after + 1, last, position)])
        values = [(source, each.first, each.last, json.dumps(each.position)) for each in merged]
        self._db.executemany("INSERT OR REPLACE INTO covered VALUES(?, ?, ?, ?)", values)

    def forget_coverage(self) -> None:
        """Note that no list was read: each is read again, as for a wider window."""
        self._db.execute("DELETE FROM covered")
        self._db.execute("UPDATE sources SET proven = 0")

    def see(self, source: int, ids: IdSet) -> None:
        """Note ids that the list of a source has shown."""
        if ids:
            sql = "INSERT INTO seen(source, first, last, ids) VALUES(?, ?, ?, ?)"
            self._db.execute(sql, (source, ids.first, ids.last, ids.to_bytes()))

    def merge_seen(self) -> None:
        """Merge the rows of `seen`, of which a page leaves one, per source.

        Older rows that are more than twice as large stay: millions of ids are not written anew for a few.
        """
        sizes: dict[int, list[tuple[int, int]]] = {}
        sql = "SELECT number, source, length(ids) FROM seen ORDER BY number"
        for row, source, size in self._rows(sql, tuple[int, int, int]):
            sizes.setdefault(source, []).append((row, size))
        for source, rows in sizes.items():
            total, merged = 0, list[int]()
            for row, size in reversed(rows):
                if len(merged) > 0 and size > 2 * total:
                    break
                total += size
                merged.append(row)
            if len(merged) > 1:
                self._merge_rows(source, merged)

    def _merge_rows(self, source: int, rows: list[int]) -> None:
        merged = sql_in(self._db, "SELECT ids FROM seen WHERE number IN", rows)
        ids = IdSet.union(each for (each,) in self._typed(merged, tuple[IdSet]))
        self._db.executemany("DELETE FROM seen WHERE number = ?", [(row,) for row in rows])
        self.see(source, ids)

    # ── ids that are no numbers ──

    def see_others(self, source: int, keys: Iterable[str]) -> None:
        """Note ids that are no numbers, and that the list of a source has shown."""
        sql = "INSERT OR IGNORE INTO other_ids VALUES(?, ?, NULL)"
        self._db.executemany(sql, [(key, source) for key in keys])

    def write_others(self, file: int, source: int, keys: Iterable[str]) -> None:
        """Note ids that are no numbers, and that are written into a file."""
        sql = "INSERT INTO other_ids VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET file = excluded.file"
        self._db.executemany(sql, [(key, source, file) for key in keys])

    def move_others(self, file: int, to: int | None) -> None:
        """Note that the ids of a file that are no numbers are in another file, or in none."""
        self._db.execute("UPDATE other_ids SET file = ? WHERE file = ?", (to, file))

    # ── files ──

    def add_file(self, name: str, partition_key: str, role: Role) -> DataFile:
        """Add a new file, empty and open."""
        sql = "INSERT INTO files(name, partition_key, role, size, state) VALUES(?, ?, ?, 0, 'open')"
        self._db.execute(sql, (name, partition_key, role))
        file = self.open_file(partition_key, role)
        assert file is not None
        return file

    def keep_file(self, file: DataFile) -> None:
        """Note the size, state and hash of a file."""
        sql = "UPDATE files SET size = ?, state = ?, digest = ? WHERE number = ?"
        self._db.execute(sql, (file.size, file.state, file.digest, file.number))

    def drop_file(self, file: int) -> None:
        """Remove a file with its blocks: its ids are not written any more."""
        self.drop_blocks(file)
        self._db.execute("DELETE FROM files WHERE number = ?", (file,))

    def drop_unreferenced_blocks(self) -> int:
        """Remove the blocks of files that are not there: somebody has edited the journal; return how many."""
        self._db.execute("UPDATE other_ids SET file = NULL WHERE file NOT IN (SELECT number FROM files)")
        return self._db.execute("DELETE FROM blocks WHERE file NOT IN (SELECT number FROM files)").rowcount

    def add_blocks(self, blocks: Iterable[Block]) -> None:
        """Add blocks of files that are there."""
        rows = [(*block[:10], block.ids.to_bytes(), block.other) for block in blocks]
        self._db.executemany("INSERT INTO blocks VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", rows)

    def replace_blocks(self, file: int, blocks: Iterable[Block]) -> None:
        """Replace the blocks of a file by others that have the same ids."""
        self._db.execute("DELETE FROM blocks WHERE file = ?", (file,))
        self.add_blocks(blocks)

    def drop_blocks(self, file: int, start: int = 0) -> None:
        """Remove the blocks of a file from a place on: their ids are not written any more.

        Of the ids that are no numbers, all of the file are forgotten; who keeps blocks with some in front of
        `start` notes them again (`write_others`).
        """
        self._db.execute("DELETE FROM blocks WHERE file = ? AND start >= ?", (file, start))
        self.move_others(file, None)

    # ── reading again ──

    def recheck(self, source: int, since: int, until: int) -> None:
        """Note that a source is to be read again from a time on, up to an id.

        One that is under way, and as long, goes on.
        """
        sql = """INSERT INTO rechecks VALUES(?, ?, 0, ?, '[]') ON CONFLICT(source) DO UPDATE
            SET since = excluded.since, after = 0, until = excluded.until, position = '[]'
            WHERE excluded.since < since OR after >= until"""
        if self._db.execute(sql, (source, since, until)).rowcount:
            self._db.execute("DELETE FROM shown WHERE source = ?", (source,))

    def rechecked(self, source: int, last: int, position: Pairs) -> None:
        """Note that a source was read again up to an id."""
        sql = "UPDATE rechecks SET after = ?, position = ? WHERE source = ?"
        self._db.execute(sql, (last, json.dumps(position), source))

    def show(self, source: int, ids: IdSet) -> None:
        """Note ids that the service shows while a source is read again."""
        if ids:
            self._db.execute("INSERT INTO shown(source, ids) VALUES(?, ?)", (source, ids.to_bytes()))

    def end_rechecks(self) -> None:
        """Forget the rechecks, and what was shown in them."""
        self._db.execute("DELETE FROM rechecks")
        self._db.execute("DELETE FROM shown")

    def change(self, rows: Iterable[Row]) -> None:
        """Keep messages that have changed, until they take their places."""
        values = [(row.id, number(row.id), bytes(row.raw)) for row in rows]
        self._db.executemany("INSERT OR REPLACE INTO changed VALUES(?, ?, ?)", values)

    def applied(self, ids: Iterable[str]) -> None:
        """Note that changed messages have taken their places."""
        self._db.executemany("DELETE FROM changed WHERE id = ?", [(each,) for each in ids])

    def forget_changed(self) -> None:
        """Note that no changed message waits for its place any more."""
        self._db.execute("DELETE FROM changed")

    def mark_deleted(self, source: int, ids: Iterable[int | str], now: int, *, missing: bool = False) -> None:
        """Note ids that the service does not show any more, and that are missing in the export or not."""
        sql = "INSERT OR REPLACE INTO deleted VALUES(?, ?, ?, ?)"
        self._db.executemany(sql, [(str(each), source, now, int(missing)) for each in ids])

    def undelete(self, ids: Iterable[int | str]) -> None:
        """Note ids that are shown again."""
        self._db.executemany("DELETE FROM deleted WHERE id = ?", [(str(each),) for each in ids])
