"""The store: the three moves `commit`, `seal` and `inspect`, over one journal and one folder.

Five rules:

1. A byte that was committed is never changed, only dropped after its successor is committed.
2. A file has one name for ever: a random part is in it.
3. Of what the journal does not know the new rows are written again, and it is set aside; never cut.
4. `written` is the ids of all sealed files and segments; `missing` is `seen - written`: the proof.
5. Formats are converters at seal time, or a rename.

Methods wait for the disk; one thread at a time.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ..._core.replies.rows import Row
from ..plan.file_names import SPOOL
from ..plan.id_set import IdSet
from ..plan.message_ids import NO_IDS, PageIds, ids_of, number
from .disk import Disk, make_folder
from .formats import RowKind
from .sealer import NO_CHANGES, Changes, Sealer, Snapshots
from .segments import AddedBlocks, Segments
from .store_journal import StoreFile, StoreJournal
from .stored_files import Difference, StoredFiles, findings

_SEALED_AT_ONCE: Final = 256


class NewRows(NamedTuple):
    """Rows of a source for a partition, and what its list has shown."""

    stem: str
    source: int
    rows: list[Row]
    ids: PageIds | None = None
    seen: PageIds | None = None
    is_new: bool = False
    """True if `ids` are given, and all of them are known to be unwritten."""


class ExportStore:
    """The store of an export's folder, over its journal that is open for writing; the caller closes both.

    - `kinds`: by the first part of a stem, as `messages`; one of `history` is needed for changed messages.
    - `labels`: the name of a source, for formats that store it.
    - `remote_names`: names of sealed files that are in an object store, and need not be in the folder.
      `fetch` downloads one of them, and checks its SHA-256.
    """

    def __init__(
        self,
        folder: Path,
        journal: StoreJournal,
        kinds: Mapping[str, RowKind],
        *,
        labels: Callable[[int], str | None] = lambda _: None,
        remote_names: Collection[str] = (),
        fetch: Callable[[str, Path, str], object] | None = None,
        disk: Disk | None = None,
    ) -> None:
        self.folder = folder
        self.journal = journal
        self.disk: Disk = disk or Disk()
        self.files: StoredFiles = StoredFiles(folder, self.disk, journal, kinds, labels, remote_names, fetch)
        self.snapshots: Snapshots = Snapshots(folder, self.disk, journal)
        self._segments = Segments(folder, self.disk, journal)
        self.sealer: Sealer = Sealer(self.files, self._segments, self.snapshots)
        self.written: IdSet
        """The ids of unique rows that are committed; not to be changed."""
        self._pending = IdSet()
        """Those that the transaction under way has added."""
        self._missing: IdSet | None = None
        make_folder(self.disk, folder / SPOOL)
        self.load_ids()

    def close(self) -> None:
        """Close the segments: they stay as they are, and a later process seals them."""
        self._segments.close()
        with suppress(OSError):  # it is not empty
            (self.folder / SPOOL).rmdir()

    def load_ids(self) -> None:
        """Read again from the journal which ids are written."""
        self.written = self.journal.ids_in(self.journal.files("open", "sealing", "sealed"))
        self._missing = None

    def missing(self) -> IdSet:
        """Return the ids seen but not written; not to be changed. An empty set proves completeness."""
        if self._missing is None:
            self._missing = self.journal.expected_ids() - self.written
        return self._missing

    def inspect(self) -> list[Difference]:
        """Return the differences of journal and disk. Nothing is changed."""
        files = self.files
        result = list(findings(self.folder, self.journal.files(), files.kinds, files.remote_names))
        if count := len(self.missing()):
            result.append(Difference("ids", "", f"{count:,} were seen, and are not written"))
        return result

    # ── commit ──

    def commit(self, pages: Iterable[NewRows]) -> int:
        """Add the rows whose ids are new; return how many. All or nothing; it is on the disk afterwards."""
        with self.transaction() as add:
            return sum(map(add, pages))

    @contextmanager
    def transaction(self) -> Iterator[Callable[[NewRows], int]]:
        """Give what adds rows whose ids are new, and returns how many; the journal can be written beside it.

        All or nothing; it is on the disk afterwards. Bytes are synced before the journal says so: one sync of
        each segment.
        """
        added = AddedBlocks()
        try:
            with self.journal.transaction():
                yield partial(self._add, added)
                self._segments.note_added(added)
                self.journal.check_in_place()
        except BaseException:
            self._segments.abandon(added)
            self._pending = IdSet()
            raise
        self._segments.note_committed(added)
        self.written.update(self._pending)
        self._pending = IdSet()
        self._missing = None

    def _add(self, added: AddedBlocks, page: NewRows) -> int:
        if page.seen is not None:
            self.journal.note_seen(page.source, self.journal.assign_numbers(page.seen))
        rows, ids = page.rows, NO_IDS
        kind = self.files.kind(page.stem)
        if kind.identity != "content":
            ids = page.ids or ids_of(rows)
            if not page.is_new:
                rows, ids = self.unwritten(rows, ids)
        if rows:
            numbers = self.journal.assign_numbers(ids)
            self._pending.update(numbers)
            self._segments.append(page.stem, kind.format, page.source, rows, numbers, added)
        return len(rows)

    def unwritten(self, rows: list[Row], ids: PageIds) -> tuple[list[Row], PageIds]:
        """Return the rows that are not written yet, each once, with their ids; in a commit, those that it has
        added count as written.
        """
        new = ids.numbers - self.written
        if self._pending:
            new.discard(self._pending)
        if len(new) == len(rows):
            return rows, ids
        known = self.journal.numbers_of_names(ids.others)
        written = {key for key, name in known.items() if name in self.written or name in self._pending}
        others = {key: row for key, row in ids.others.items() if key not in written}
        if len(new) + len(others) == len(rows):
            return rows, ids
        chosen, expected, identities = list[Row](), set(new), set(map(id, others.values()))
        for row in rows:
            numeric_id = number(row.id)
            if id(row) in identities or numeric_id in expected:
                expected.discard(numeric_id or 0)  # a page may have an id twice
                chosen.append(row)
        return chosen, PageIds(new, others)

    # ── seal ──

    def seal(self, stem: str, replaces: Sequence[StoreFile] = (), changes: Changes = NO_CHANGES) -> None:
        """Make a file of the segments of a partition, and of the sealed files that it replaces.

        Costs a rename for a segment of lines, else the reading and writing of all of it.
        """
        self.sealer.seal([stem], replaces, changes)

    def seal_full(self) -> None:
        """Make files of the segments that are full; called between commits."""
        for file in self._segments.files():
            if file.size >= self.files.kind(file.stem).format.full:
                self.seal(file.stem)

    def seal_all(self) -> None:
        """Make files of all segments, as at the end of a run."""
        stems = list(dict.fromkeys(file.stem for file in self.journal.files("open")))
        for at in range(0, len(stems), _SEALED_AT_ONCE):
            self.sealer.seal(stems[at : at + _SEALED_AT_ONCE])

    def update(self, changes: Changes) -> None:
        """Let changed messages take the places of their older versions, which go to the history."""
        by_key = self.journal.ids_by_key(changes.rows)
        rows = {key: row for key, row in changes.rows.items() if by_key.get(key, 0) in self.written}
        ids, changes = IdSet(by_key[key] for key in rows), changes._replace(rows=rows)
        stems: dict[str, list[StoreFile]] = {}
        for file in self.files.with_ids(ids):
            stems.setdefault(file.stem, []).append(file)
        for stem, files in stems.items():
            self.seal(stem, [file for file in files if file.state == "sealed"], changes)

    def compact(
        self, least: int, largest: int = 1 << 26, *, begin: Callable[[], object] = lambda: None
    ) -> int:
        """Merge the small files of each partition that has at least so many; return how many are gone.

        `begin` is called before the first change.
        """
        small: dict[str, list[StoreFile]] = {}
        for file in self.journal.files("sealed"):
            if file.size < largest:
                small.setdefault(file.stem, []).append(file)
        groups = {stem: files for stem, files in small.items() if len(files) >= least}
        if groups:
            begin()
        for stem, files in groups.items():
            self.seal(stem, files)
        return sum(len(files) - 1 for files in groups.values())
