"""The store's files: where they are, the records in them, and how they differ from the journal.

A sealed file that is in the object store alone is fetched while it is read.

| finding    | what it is                                   | what repairs it                         |
|------------|----------------------------------------------|-----------------------------------------|
| unfinished | a seal that is not noted as done             | it is ended, or forgotten               |
|            | a snapshot that has not got its name yet     | it gets it                              |
| missing    | a file of the journal is not there           | its ids are missing, and are read again |
| damaged    | it has another size than was written         | set aside; its ids are read again       |
| unknown    | a file that the journal does not know        | its new rows are written; set aside     |
|            | a table that the journal does not know       | set aside; the next run reads its list  |
| longer     | a segment has bytes that no commit knows     | new records in them are written again   |
| leftover   | a file that was replaced, or was being made  | it is unlinked                          |
| ids        | ids were seen, and are not written           | the next run reads them                 |
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from ..._core.replies.rows import Row, row_of
from ...errors import ChatRestError
from ..formats.stored_records import SourceLines, line_batches, piece_of
from ..plan.file_names import HISTORY, SPOOL, is_of_system, path_inside
from ..plan.id_set import IdSet
from .disk import Disk
from .formats import Format, RowKind, file_sha256, format_of
from .segments import NEW, SEGMENT, new_path, segment_path
from .store_journal import StoreFile, StoreJournal

_ROWS: Final = 1000
"""Rows of a segment that are read at once."""
LOST: Final = "was lost or damaged, with older versions of messages, which no run can read again"
FindingKind: TypeAlias = Literal["unfinished", "leftover", "missing", "damaged", "longer", "unknown", "ids"]


class StoredFiles:
    """The files of a folder that its journal names; `kinds` and the others are those of `ExportStore`."""

    def __init__(
        self,
        folder: Path,
        disk: Disk,
        journal: StoreJournal,
        kinds: Mapping[str, RowKind],
        labels: Callable[[int], str | None],
        remote_names: Collection[str],
        fetch: Callable[[str, Path, str], object] | None,
    ) -> None:
        self.folder, self.disk, self.journal = folder, disk, journal
        self.kinds = kinds
        self.remote_names = remote_names
        self._labels = labels
        self._fetch = fetch

    def kind(self, stem: str) -> RowKind:
        """Return the kind of a partition's rows: the one of its whole name, or of the name's first part."""
        return self.kinds.get(stem) or self.kinds[stem.partition("/")[0]]

    def with_ids(self, ids: IdSet) -> list[StoreFile]:
        """Return the files that hold a message of these ids."""
        files = self.journal.files("open", "sealed") if ids else ()
        return [
            file for file in files
            if self.kind(file.stem).identity == "id" and self.journal.ids_in([file]) & ids
        ]  # fmt: skip

    def rows_by_id(self, keys: Collection[str]) -> dict[str, Row]:
        """Return the messages of these ids; costs the reading of the files that hold them."""
        files = self.with_ids(IdSet(self.journal.ids_by_key(keys).values()))
        raws = (raw for file in files for piece in self.records(file) for raw in piece.raws)
        return {row.id: row for row in map(row_of, raws) if row.id in keys}

    def records(self, file: StoreFile) -> Iterator[SourceLines]:
        """Yield the records of a file with their sources, as far as it shows them."""
        own_format = self._format_of(file)
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

    def _format_of(self, file: StoreFile) -> Format:
        """Return the format of a file: a partition may have files of another one, of an earlier plan."""
        own = self.kind(file.stem).format
        return own if file.name.endswith(own.suffix) else format_of(file.name) or own

    def check_unchanged(self, file: StoreFile) -> None:
        """Raise `ChatRestError` where a file is not as it was sealed: rewritten it would look sound."""
        path = path_of(self.folder, file)
        if file.sha256 is None or (file.name in self.remote_names and not path.exists()):
            return  # one that is fetched is checked then
        if file_sha256(path) != file.sha256:
            raise ChatRestError(
                f"{path} is not as it was written: move it out of the folder, keep it, and export again: its "
                "messages are read again"
            )

    @contextmanager
    def _local_copy(self, file: StoreFile) -> Iterator[Path]:
        """Have a file in the folder: one that is only in the object store is removed again after it."""
        path = path_of(self.folder, file)
        if file.name not in self.remote_names or file.sha256 is None or path.exists():
            yield path
            return
        assert self._fetch is not None
        self._fetch(file.name, path, file.sha256.hex())
        try:
            yield path
        finally:
            self.disk.remove(path)


class Difference(NamedTuple):
    """A difference of journal and disk; `file` is the journal's, None for a file that it does not know."""

    kind: FindingKind
    name: str
    detail: str = ""
    file: StoreFile | None = None


def path_of(folder: Path, file: StoreFile) -> Path:
    """Return where a file is now: in its place, or as a segment."""
    if file.state in ("sealed", "dropped") and not is_dropped_segment(file):
        return path_inside(folder, file.name)
    return segment_path(folder, file.name)


def actual_path(folder: Path, file: StoreFile) -> Path:
    """Return where the bytes of a file are, also where a run was killed between a rename and the journal's
    note of it, or before a snapshot got its name.
    """
    if is_unnamed_snapshot(folder, file):
        return new_path(folder, file.name)
    path = path_of(folder, file)
    return path_inside(folder, file.name) if file.state == "sealing" and not path.exists() else path


def files_now(folder: Path, journal: StoreJournal, kind: str) -> Iterator[tuple[StoreFile, Path, str]]:
    """Yield the files with committed rows of a kind, as `messages`, each with its place now, and a name that
    says how what is there is packed: a segment has lines.
    """
    for file in journal.files("open", "sealing", "sealed"):
        if file.size and file.stem.partition("/")[0] == kind:
            path_inside(folder, file.name)
            path = actual_path(folder, file)
            yield file, path, file.name.removesuffix(".parquet") if path.suffix == SEGMENT else file.name


def is_dropped_segment(file: StoreFile) -> bool:
    """Return True if a file that was dropped never was in its place."""
    return file.state == "dropped" and file.sha256 is None


def is_unnamed_snapshot(folder: Path, file: StoreFile) -> bool:
    """Return True if a snapshot that was committed has not got its name yet."""
    new = new_path(folder, file.name)
    has_size = file.state == "sealed" and new.is_file() and new.stat().st_size == file.size
    return has_size and file_sha256(new) == file.sha256


def findings(
    folder: Path, known: Iterable[StoreFile], stems: Collection[str], remote_names: Collection[str] = ()
) -> Iterator[Difference]:
    """Yield the differences: of a file its size counts, and its bytes are not read. Nothing is changed.

    `known` are the files of the journal; `stems` the names of the store's kinds: the first parts of names of
    files, as `messages`, and all but the suffix of a snapshot's, as `users/users`. `remote_names` are the
    names of files that are in an object store.
    """
    files = {file.name: file for file in known}
    new = {new_path(folder, file.name): file for file in files.values()}
    spooled = sorted((folder / SPOOL).glob("*"))
    unnamed = {path: new[path] for path in spooled if path in new and is_unnamed_snapshot(folder, new[path])}
    for file in files.values():
        if file.state == "sealing" or file in unnamed.values():
            yield Difference("unfinished", file.name, file=file)
        elif (finding := _difference_of(folder, file, remote_names)) is not None:
            yield finding
    yield from _unlisted_files(folder, files, stems, [path for path in spooled if path not in unnamed])


def _difference_of(folder: Path, file: StoreFile, remote_names: Collection[str]) -> Difference | None:
    path = path_of(folder, file)
    if file.state == "dropped":
        return Difference("leftover", str(path.relative_to(folder)), "it was replaced", file)
    if not path.is_file():
        return None if file.name in remote_names else Difference("missing", file.name, file=file)
    if (size := path.stat().st_size) == file.size:
        return None
    if file.state == "open" and size > file.size:
        return Difference("longer", file.name, f"{size - file.size:,} bytes that no commit knows", file)
    return Difference("damaged", file.name, f"{size:,} bytes, and not {file.size:,}", file)


def _unlisted_files(
    folder: Path, files: dict[str, StoreFile], stems: Collection[str], spooled: list[Path]
) -> Iterator[Difference]:
    segments = {
        segment_path(folder, file.name)
        for file in files.values()
        if file.state in ("open", "sealing") or is_dropped_segment(file)
    }
    being_made = {new_path(folder, file.name) for file in files.values()}
    known = {segment_path(folder, name) for name in files}
    for path in spooled:
        if path.name.endswith(NEW):
            yield Difference(
                "leftover", f"{SPOOL}/{path.name}", "it was being made" if path in being_made else ""
            )
        elif path.name.endswith(SEGMENT) and path not in segments:
            kind: FindingKind = "leftover" if path in known else "unknown"
            yield Difference(kind, f"{SPOOL}/{path.name}")
    for stem in stems:
        own_names = f"{stem}.*" if "/" in stem else f"{stem}*"
        for path in sorted([*folder.glob(own_names), *(folder / stem).rglob("*")]):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and name not in files and not is_of_system(name) and _has_own_format(name):
                yield Difference("unknown", name)


def _has_own_format(name: str) -> bool:
    try:
        return format_of(name) is not None
    except ChatRestError:  # what its format needs is not installed: it is one all the same
        return True


def lost_versions(differing: Iterable[Difference]) -> list[str]:
    """Return the files of older versions that are not there, or not as they were written."""
    lost = (each for each in differing if each.kind in ("missing", "damaged"))
    return [each.name for each in lost if each.file is not None and each.file.stem == HISTORY]
