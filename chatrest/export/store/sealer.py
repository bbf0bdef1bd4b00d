"""Seals: segments become files, and files that replace others. Snapshots are replaced completely.

The intent is noted first. Then the file is written, or the segment renamed, and synced; then it is noted with
what it replaces, and that is unlinked. Killed in between, a seal is ended or forgotten by the next opening.

A snapshot, such as a table of users, has a name that stays. The journal's commit is the moment of change:
what is in `spool/` with the hash that the journal has then is the snapshot, until it has its name.

| between … and … | on the disk | the next opening |
|---|---|---|
| it is written to `spool/` and synced · the journal commits | the older one | removes the new one |
| the journal commits · it gets its name | the older one, and the new one in `spool/` | gives it its name |
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ..._core.replies.rows import Row, row_of
from ..formats.stored_records import SourceLines, piece_of
from ..plan.file_names import HISTORY, path_inside
from ..plan.id_set import IdSet
from ..plan.message_ids import times
from .disk import Disk, make_folder, sync_folder
from .formats import Format, file_sha256
from .segments import AddedBlocks, Segments, new_path, segment_path
from .store_journal import StoreBlock, StoreFile, StoreJournal
from .stored_files import StoredFiles, is_unnamed_snapshot, path_of


class Changes(NamedTuple):
    """Newer versions of rows, by their ids; `note` gets those that took their place, in a transaction."""

    rows: Mapping[str, Row]
    note: Callable[[list[str]], object] = lambda _: None


NO_CHANGES: Final = Changes({})


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


class Sealer:
    def __init__(self, files: StoredFiles, segments: Segments, snapshots: Snapshots) -> None:
        self._files, self._segments, self._snapshots = files, segments, snapshots
        self._folder, self._disk, self._journal = files.folder, files.disk, files.journal

    def seal(
        self, stems: Iterable[str], replaces: Sequence[StoreFile] = (), changes: Changes = NO_CHANGES
    ) -> None:
        """Make a file of the segments of each partition, and of the sealed files that it replaces."""
        jobs = [self._job(stem, replaces, changes) for stem in stems]
        jobs = [job for job in jobs if job.inputs or job.changes.rows]
        with self._journal.transaction():
            jobs = [job._replace(target=self._note_intent(job)) for job in jobs]
        try:
            new_files = [self._write_file(job) for job in jobs]
            for folder in dict.fromkeys(each.path.parent for each in new_files):
                sync_folder(self._disk, folder)  # a segment that keeps its old name, too, is a leftover
            added = AddedBlocks()
            with self._journal.transaction():
                dropped = [file for each in new_files for file in self._note_sealed(each, added)]
                self._segments.note_added(added)
        except Exception:
            self._segments.abandon([HISTORY])
            self.end_seals()
            raise
        self._segments.note_committed(added)
        self._unlink(dropped)

    def end_seals(self) -> None:
        """End the seals that were begun and not noted as done, or forget them: what they replace is there."""
        journal, folder = self._journal, self._folder
        for file in journal.files("sealed"):
            if is_unnamed_snapshot(folder, file):
                self._snapshots.place(file.name)
        for target in journal.files("sealing"):
            path, segment = path_inside(folder, target.name), segment_path(folder, target.name)
            others = [file for file in journal.files_of(target.stem) if file.successor == target.number]
            is_renamed = target.size and not others and not segment.exists() and path.is_file()
            if is_renamed and path.stat().st_size == target.size:
                sync_folder(self._disk, path.parent)
                target = target._replace(state="sealed", sha256=file_sha256(path))
            elif path.exists() and all(
                file.name in self._files.remote_names or path_of(folder, file).exists()
                for file in (*others, *([target] if target.size else []))
            ):
                self._disk.remove(path)  # what it was made of is there
                sync_folder(self._disk, path.parent)  # before the journal forgets its name
            with journal.transaction():
                if target.size:
                    journal.note_file(target._replace(state="sealed" if target.sha256 else "open"))
                else:
                    journal.forget_file(target.number)
                journal.clear_successors(target.number)
        with journal.transaction():
            journal.clear_successors()

    def _job(self, stem: str, replaces: Sequence[StoreFile], changes: Changes) -> _Job:
        segment = self._segments.remove(stem)
        own_format = self._files.kind(stem).format
        inputs = [file for file in self._journal.files_of(stem) if file.state == "open"]
        target = inputs[0] if inputs else None
        inputs = [*replaces, *inputs]
        is_own = segment and target and segment.file.number == target.number
        digest = segment.hash.digest() if segment and is_own else None
        return _Job(target, inputs, stem, own_format, changes, digest)

    def _note_intent(self, job: _Job) -> StoreFile:
        target = job.target
        if target is None:
            name = self._segments.new_name(job.stem, job.format.suffix)
            target = StoreFile(0, name, job.stem, "sealing", 0)
        target = self._journal.note_file(target._replace(state="sealing"))
        for file in job.inputs:
            if file.number != target.number:
                self._journal.note_file(file._replace(successor=target.number))
        return target

    def _write_file(self, job: _Job) -> _SealedFile:
        """Write a file, and give it its name; neither is noted yet."""
        target, own_format = job.target, job.format
        assert target is not None
        path, new = path_inside(self._folder, target.name), new_path(self._folder, target.name)
        make_folder(self._disk, path.parent)
        older = list[tuple[int, Row]]()
        segment = segment_path(self._folder, target.name)
        if job.is_rename and segment.stat().st_size == target.size:
            self._disk.replace(segment, path)
            return _SealedFile(job, path, job.digest or file_sha256(path), older)
        for file in job.inputs:
            self._files.check_unchanged(file)
        self._disk.remove(new)
        digest = own_format.write(self._disk, new, self._pieces(job, older))
        self._disk.replace(new, path)
        return _SealedFile(job, path, digest, older)

    def _pieces(self, job: _Job, older: list[tuple[int, Row]]) -> Iterator[SourceLines]:
        """Yield the records of the inputs as they are to be; `older` gets those that have changed."""
        changes = job.changes.rows
        for file in job.inputs:
            for piece in self._files.records(file):
                yield _changed(piece, changes, older) if changes else piece

    def _note_sealed(self, new_file: _SealedFile, added: AddedBlocks) -> list[StoreFile]:
        """Note a file that is on the disk, and drop what it replaces; return what is to be unlinked."""
        job, target = new_file.job, new_file.job.target
        assert target is not None
        before = {file.number: file for file in (target, *job.inputs)}
        self._journal.merge_blocks(before.values(), target.number, times(list(job.changes.rows.values())))
        size = new_file.path.stat().st_size
        self._journal.note_file(
            target._replace(state="sealed", size=size, sha256=new_file.sha256, successor=None)
        )
        dropped = []
        for file in job.inputs:
            if file.number != target.number:
                dropped.append(file._replace(state="dropped", successor=None))
                self._journal.note_file(dropped[-1])
            elif segment_path(self._folder, file.name).exists():
                dropped.append(file)  # what it was made of
        by_source: dict[int, list[Row]] = {}
        for source, row in new_file.older:
            by_source.setdefault(source, []).append(row)
        for source, rows in by_source.items():
            self._segments.append(HISTORY, self._files.kind(HISTORY).format, source, rows, IdSet(), added)
        if job.changes.rows:
            job.changes.note([row.id for _, row in new_file.older])
        return dropped

    def _unlink(self, dropped: list[StoreFile]) -> None:
        paths = [path_of(self._folder, file) for file in dropped]
        for path in paths:
            self._disk.remove(path)
        for folder in dict.fromkeys(path.parent for path in paths if path.parent.exists()):
            sync_folder(self._disk, folder)
        if numbers := [file.number for file in dropped if file.state == "dropped"]:
            with self._journal.transaction():
                for number in numbers:
                    self._journal.forget_file(number)


def _changed(piece: SourceLines, changes: Mapping[str, Row], older: list[tuple[int, Row]]) -> SourceLines:
    """Return a piece with changed rows in their places; `older` gets those that they were."""
    raws = piece.raws
    for at, row in enumerate(map(row_of, raws)):
        if (newer := changes.get(row.id)) is not None and newer.raw != row.raw:
            older.append((piece.source, row))
            raws[at] = newer.raw
    return piece_of(raws, piece.source, piece.label)
