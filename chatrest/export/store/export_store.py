"""The store: the three moves `commit`, `seal` and `inspect`, over one journal and one folder.

Five rules:

1. A byte that was committed is never changed, only dropped after its successor is committed.
2. A file has one name for ever: a random part is in it.
3. Of what the journal does not know the new rows are written again, and it is set aside; never cut.
4. `written` is the ids of all sealed files and segments; `missing` is `seen - written`: the proof.
5. Formats are converters at seal time, or a rename.

Methods wait for the disk; one thread at a time.
"""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from ..._core.replies.rows import UNKNOWN, Row, lines_of, row_of
from ...errors import ChatRestError
from ..formats.stored_records import SourceLines, line_batches, piece_of
from ..plan.file_names import HISTORY, SPOOL, path_inside
from ..plan.id_set import IdSet
from ..plan.message_ids import NO_IDS, PageIds, ids_of, number, times
from .disk import Disk, make_folder, sync_folder
from .formats import Format, RowKind, file_sha256, format_of
from .inspection import Difference, findings, is_unnamed_snapshot, path_of
from .segments import Segments, new_path, segment_path
from .snapshots import Snapshots
from .store_journal import StoreBlock, StoreFile, StoreJournal, joint_block

_SEALED_AT_ONCE: Final = 256
_ROWS: Final = 1000
"""Rows of a segment that are read at once."""


class NewRows(NamedTuple):
    """Rows of a source for a partition, and what its list has shown."""

    stem: str
    source: int
    rows: list[Row]
    ids: PageIds | None = None
    seen: PageIds | None = None
    is_new: bool = False
    """True if `ids` are given, and all of them are known to be unwritten."""


class Changes(NamedTuple):
    """Newer versions of rows, by their ids; `note` gets those that took their place, in a transaction."""

    rows: Mapping[str, Row]
    note: Callable[[list[str]], object] = lambda _: None


NO_CHANGES: Final = Changes({})
_Added: TypeAlias = dict[str, list[StoreBlock]]


class _Job(NamedTuple):
    target: StoreFile | None
    """The segment that becomes the file; None for a file that replaces sealed ones only."""
    inputs: list[StoreFile]
    """The segments and sealed files that it is made of."""
    stem: str
    format: Format
    changes: Changes
    digest: bytes | None
    """The SHA-256 of the target's segment, where this process wrote it."""

    @property
    def is_rename(self) -> bool:
        """True if the only segment becomes the file as it is."""
        alone = [file.number for file in self.inputs] == [self.target.number if self.target else 0]
        return self.format.is_lines and alone and not self.changes.rows


class _SealedFile(NamedTuple):
    """A file that is in its place, and not noted yet."""

    job: _Job
    path: Path
    sha256: bytes
    older: list[tuple[int, Row]]


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
        self.kinds = kinds
        self.disk: Disk = disk or Disk()
        self._remote_names, self._fetch = remote_names, fetch
        self._labels = labels
        self._segments = Segments(folder, self.disk)
        self.snapshots: Snapshots = Snapshots(folder, self.disk, journal)
        self._token = secrets.token_hex(4)
        """The random part of the names of this process's files."""
        self._count = max((file.number for file in journal.files()), default=0)
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
            self._missing = self.journal.seen() - self.written
        return self._missing

    def inspect(self) -> list[Difference]:
        """Return the differences of journal and disk. Nothing is changed."""
        result = list(
            findings(self.folder, self.journal.files(), self.kinds, remote_names=self._remote_names)
        )
        if count := len(self.missing()):
            result.append(Difference("ids", "", f"{count:,} were seen, and are not written"))
        return result

    def kind(self, stem: str) -> RowKind:
        """Return the kind of a partition's rows: the one of its whole name, or of the name's first part."""
        return self.kinds.get(stem) or self.kinds[stem.partition("/")[0]]

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
        added = _Added()
        try:
            with self.journal.transaction():
                yield partial(self._add, added)
                self._note_added(added)
                self.journal.check_in_place()
        except BaseException:
            self._segments.abandon(added)
            self._pending = IdSet()
            raise
        self._segments.note_committed(added)
        self.written.update(self._pending)
        self._pending = IdSet()
        self._missing = None

    def _add(self, added: _Added, page: NewRows) -> int:
        if page.seen is not None:
            self.journal.note_seen(page.source, self.journal.assign_numbers(page.seen))
        rows, ids = page.rows, NO_IDS
        if not self.kind(page.stem).by_content:
            ids = page.ids or ids_of(rows)
            if not page.is_new:
                rows, ids = self.unwritten(rows, ids)
        if rows:
            self._append(page.stem, page.source, rows, self.journal.assign_numbers(ids), added)
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

    def _append(self, stem: str, source: int, rows: list[Row], ids: IdSet, added: _Added) -> None:
        self._pending.update(ids)
        blocks, kind = added.setdefault(stem, []), self.kind(stem)
        segment = self._segments.get(stem)
        if segment is None:
            name = f"{self._new_stem(stem)}{kind.format.suffix}"
            segment = self._segments.add(StoreFile(0, name, stem, "open", 0))
        self._segments.write(segment, kind.format.packing.pack(lines_of(rows)))
        block = block_of(source, rows, ids)
        if blocks and blocks[-1].source == source:
            block = joint_block([blocks.pop(), block])
        blocks.append(block)

    def _note_added(self, added: _Added) -> None:
        """Note in a transaction what was appended, once it survives a loss of power."""
        self._segments.sync(added)
        for stem, blocks in added.items():
            segment = self._segments.get(stem)
            assert segment is not None
            segment.file = self.journal.note_file(segment.file)
            self.journal.add_blocks(segment.file.number, blocks)

    def _new_stem(self, stem: str) -> str:
        """Return a name that no other file ever has, without its suffix; they sort as files were made."""
        self._count += 1
        return f"{stem}-{self._count:05d}-{self._token}"

    # ── seal ──

    def seal(self, stem: str, replaces: Sequence[StoreFile] = (), changes: Changes | None = None) -> None:
        """Make a file of the segments of a partition, and of the sealed files that it replaces.

        Costs a rename for a segment of lines, else the reading and writing of all of it.
        """
        self._seal([self._job(stem, replaces, changes or NO_CHANGES)])

    def seal_full(self) -> None:
        """Make files of the segments that are full; called between commits."""
        for file in self._segments.files():
            if file.size >= self.kind(file.stem).format.full:
                self.seal(file.stem)

    def seal_all(self) -> None:
        """Make files of all segments, as at the end of a run."""
        stems = list(dict.fromkeys(file.stem for file in self.journal.files("open")))
        for at in range(0, len(stems), _SEALED_AT_ONCE):
            self._seal([self._job(stem, (), NO_CHANGES) for stem in stems[at : at + _SEALED_AT_ONCE]])

    def update(self, changes: Changes) -> None:
        """Let changed messages take the places of their older versions, which go to the history."""
        by_key = self.journal.ids_by_key(changes.rows)
        rows = {key: row for key, row in changes.rows.items() if by_key.get(key, 0) in self.written}
        ids, changes = IdSet(by_key[key] for key in rows), changes._replace(rows=rows)
        stems: dict[str, list[StoreFile]] = {}
        for file in self._files_with(ids):
            stems.setdefault(file.stem, []).append(file)
        for stem, files in stems.items():
            self.seal(stem, [file for file in files if file.state == "sealed"], changes)

    def _files_with(self, ids: IdSet) -> list[StoreFile]:
        files = self.journal.files("open", "sealed") if ids else ()
        return [
            file for file in files
            if self.kind(file.stem).has_ids and self.journal.ids_in([file]) & ids
        ]  # fmt: skip

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

    def _job(self, stem: str, replaces: Sequence[StoreFile], changes: Changes) -> _Job:
        segment = self._segments.remove(stem)
        own_format = self.kind(stem).format
        inputs = [file for file in self.journal.files_of(stem) if file.state == "open"]
        target = inputs[0] if inputs else None
        inputs = [*replaces, *inputs]
        is_own = segment and target and segment.file.number == target.number
        digest = segment.hash.digest() if segment and is_own else None
        return _Job(target, inputs, stem, own_format, changes, digest)

    def _seal(self, jobs: list[_Job]) -> None:
        """Note the intent; write or rename; sync; note what is sealed and dropped; unlink the latter."""
        jobs = [job for job in jobs if job.inputs or job.changes.rows]
        with self.journal.transaction():
            jobs = [job._replace(target=self._note_intent(job)) for job in jobs]
        try:
            new_files = [self._write_file(job) for job in jobs]
            for folder in dict.fromkeys(each.path.parent for each in new_files):
                sync_folder(self.disk, folder)  # a segment that keeps its old name, too, is a leftover
            added = _Added()
            with self.journal.transaction():
                dropped = [file for each in new_files for file in self._note_sealed(each, added)]
                self._note_added(added)
        except Exception:
            self._segments.abandon([HISTORY])
            self.end_seals()
            raise
        self._segments.note_committed(added)
        self._unlink(dropped)

    def _unlink(self, dropped: list[StoreFile]) -> None:
        paths = [path_of(self.folder, file) for file in dropped]
        for path in paths:
            self.disk.remove(path)
        for folder in dict.fromkeys(path.parent for path in paths if path.parent.exists()):
            sync_folder(self.disk, folder)
        if numbers := [file.number for file in dropped if file.state == "dropped"]:
            with self.journal.transaction():
                for number in numbers:
                    self.journal.forget_file(number)

    def _note_intent(self, job: _Job) -> StoreFile:
        target = job.target
        if target is None:
            name = f"{self._new_stem(job.stem)}{job.format.suffix}"
            target = StoreFile(0, name, job.stem, "sealing", 0)
        target = self.journal.note_file(target._replace(state="sealing"))
        for file in job.inputs:
            if file.number != target.number:
                self.journal.note_file(file._replace(successor=target.number))
        return target

    def _write_file(self, job: _Job) -> _SealedFile:
        """Write a file, and give it its name; neither is noted yet."""
        target, own_format = job.target, job.format
        assert target is not None
        path, new = path_inside(self.folder, target.name), new_path(self.folder, target.name)
        make_folder(self.disk, path.parent)
        older = list[tuple[int, Row]]()
        segment = segment_path(self.folder, target.name)
        if job.is_rename and segment.stat().st_size == target.size:
            self.disk.replace(segment, path)
            return _SealedFile(job, path, job.digest or file_sha256(path), older)
        self._check_inputs(job)
        self.disk.remove(new)
        digest = own_format.write(self.disk, new, self._pieces(job, older))
        self.disk.replace(new, path)
        return _SealedFile(job, path, digest, older)

    def _note_sealed(self, new_file: _SealedFile, added: _Added) -> list[StoreFile]:
        """Note a file that is on the disk, and drop what it replaces; return what is to be unlinked."""
        job, target = new_file.job, new_file.job.target
        assert target is not None
        before = {file.number: file for file in (target, *job.inputs)}
        self.journal.merge_blocks(before.values(), target.number, times(list(job.changes.rows.values())))
        size = new_file.path.stat().st_size
        self.journal.note_file(
            target._replace(state="sealed", size=size, sha256=new_file.sha256, successor=None)
        )
        dropped = []
        for file in job.inputs:
            if file.number != target.number:
                dropped.append(file._replace(state="dropped", successor=None))
                self.journal.note_file(dropped[-1])
            elif segment_path(self.folder, file.name).exists():
                dropped.append(file)  # what it was made of
        by_source: dict[int, list[Row]] = {}
        for source, row in new_file.older:
            by_source.setdefault(source, []).append(row)
        for source, rows in by_source.items():
            self._add(added, NewRows(HISTORY, source, rows))
        if job.changes.rows:
            job.changes.note([row.id for _, row in new_file.older])
        return dropped

    def end_seals(self) -> None:
        """End the seals that were begun and not noted as done, or forget them: what they replace is there."""
        journal, folder = self.journal, self.folder
        for file in journal.files("sealed"):
            if is_unnamed_snapshot(folder, file):
                self.snapshots.place(file.name)
        for target in journal.files("sealing"):
            path, segment = path_inside(folder, target.name), segment_path(folder, target.name)
            others = [file for file in journal.files_of(target.stem) if file.successor == target.number]
            is_renamed = target.size and not others and not segment.exists() and path.is_file()
            if is_renamed and path.stat().st_size == target.size:
                sync_folder(self.disk, path.parent)
                target = target._replace(state="sealed", sha256=file_sha256(path))
            elif path.exists() and all(
                file.name in self._remote_names or path_of(folder, file).exists()
                for file in (*others, *([target] if target.size else []))
            ):
                self.disk.remove(path)  # what it was made of is there
                sync_folder(self.disk, path.parent)  # before the journal forgets its name
            with journal.transaction():
                if target.size:
                    journal.note_file(target._replace(state="sealed" if target.sha256 else "open"))
                else:
                    journal.forget_file(target.number)
                journal.clear_successors(target.number)
        with journal.transaction():
            journal.clear_successors()

    # ── what a file is made of ──

    def _check_inputs(self, job: _Job) -> None:
        """Raise `ChatRestError` where a file is not as it was sealed: rewritten it would look sound."""
        for file in job.inputs:
            path = path_of(self.folder, file)
            if file.sha256 is None or (file.name in self._remote_names and not path.exists()):
                continue  # one that is fetched is checked then
            if file_sha256(path) != file.sha256:
                raise ChatRestError(
                    f"{path} is not as it was written: move it out of the folder, keep it, and export again: "
                    "its messages are read again"
                )

    @contextmanager
    def _local_copy(self, file: StoreFile) -> Iterator[Path]:
        """Have a file in the folder: one that is only in the object store is removed again after it."""
        path = path_of(self.folder, file)
        if file.name not in self._remote_names or file.sha256 is None or path.exists():
            yield path
            return
        assert self._fetch is not None
        self._fetch(file.name, path, file.sha256.hex())
        try:
            yield path
        finally:
            self.disk.remove(path)

    def _pieces(self, job: _Job, older: list[tuple[int, Row]]) -> Iterator[SourceLines]:
        """Yield the records of the inputs as they are to be; `older` gets those that have changed."""
        changes = job.changes.rows
        for file in job.inputs:
            for piece in self.records(file):
                yield _changed(piece, changes, older) if changes else piece

    def records(self, file: StoreFile) -> Iterator[SourceLines]:
        """Yield the records of a file with their sources, as far as it shows them."""
        own_format = self.format_of(file.name, file.stem)
        if file.state == "sealed":
            with self._local_copy(file) as path:
                yield from own_format.read(path, file.size)
            return
        path = path_of(self.folder, file)
        raws = chain.from_iterable(
            line_batches(path, f"segment.ndjson{own_format.packing.suffix}", file.size)
        )
        for block in self.journal.blocks(file.number):
            label = self._labels(block.source)
            for at in range(0, block.rows, _ROWS):
                part = list(islice(raws, min(_ROWS, block.rows - at)))
                yield piece_of(part, block.source, label)

    def rows_by_id(self, keys: Collection[str]) -> dict[str, Row]:
        """Return the messages of these ids; costs the reading of the files that hold them."""
        files = self._files_with(IdSet(self.journal.ids_by_key(keys).values()))
        raws = (raw for file in files for piece in self.records(file) for raw in piece.raws)
        return {row.id: row for row in map(row_of, raws) if row.id in keys}

    def format_of(self, name: str, stem: str) -> Format:
        """Return the format of a file: a partition may have files of another one, of an earlier plan."""
        own = self.kind(stem).format
        return own if name.endswith(own.suffix) else format_of(name) or own


def block_of(source: int, rows: list[Row], ids: IdSet) -> StoreBlock:
    """Return the journal's record of rows with these ids; from UNKNOWN where any has no time."""
    since, until, is_dated = times(rows)
    return StoreBlock(source, len(rows), since if is_dated else UNKNOWN, until, ids)


def _changed(piece: SourceLines, changes: Mapping[str, Row], older: list[tuple[int, Row]]) -> SourceLines:
    """Return a piece with changed rows in their places; `older` gets those that they were."""
    raws = piece.raws
    for at, row in enumerate(map(row_of, raws)):
        if (newer := changes.get(row.id)) is not None and newer.raw != row.raw:
            older.append((piece.source, row))
            raws[at] = newer.raw
    return piece_of(raws, piece.source, piece.label)
