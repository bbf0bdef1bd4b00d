"""Takes over what another process has read: its files become files of the export as they are.

Whoever reads elsewhere for an export (a worker of a cluster) leaves an attempt: files in the folder `spool`,
and what the journal has to know of them. Nothing of it counts before it is committed (`Archive.commit`):

| a file of an attempt                     | what is done                                                    |
|------------------------------------------|-----------------------------------------------------------------|
| none of its ids is in the export         | it becomes a data file, by two renames                          |
| some of its ids are in the export        | the rows that are not are read, and written as those of a page  |
| all of its ids are in the export         | it is removed                                                   |

So an attempt may be adopted twice, or overlap with others. A file first gets the name of a new content
(`spool/NUMBER.new`), which is unknown, and swept, until the journal's commit; then it is put in place as
`formats.data_files` tells. A crash between any two steps loses the attempt as a whole, or nothing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, final

from msgspec import Struct

from ..core.paging.intervals import Interval
from ..core.replies.rows import Row, row_of
from ..errors import ChatRestError
from .archive import Archive, CommitStats, FetchedPage
from .disk import sync_folder
from .file_names import SPOOL, STEM, partition_folder, path_inside
from .formats.block_files import LARGEST, rows_of
from .formats.compression import compression
from .formats.data_files import commit_in_place, free_name
from .id_set import IdSet
from .journal import Block, DataFile, FileState
from .message_ids import PageIds, ids_of
from .ownership import Source

_NONE = PageIds(IdSet(), {})


class AttemptLostError(ChatRestError):
    """A file of an attempt is not there, or not all of it: what was read is to be read again."""


class AttemptBlock(NamedTuple):
    """A block of an attempt's file, as in `journal.Block`."""

    start: int
    size: int
    source: int
    rows: int
    first: int
    last: int
    since: int
    until: int
    digest: bytes
    ids: bytes
    other: int


@final
class AttemptFile(Struct, frozen=True, array_like=True):
    """A file of an attempt: data of one partition."""

    name: str
    """In the folder `spool`."""
    suffix: str
    partition_key: str
    size: int
    digest: bytes | None
    """SHA-256 of a file that is written in one go."""
    blocks: list[AttemptBlock]
    other_ids: list[tuple[int, str]] = []
    """The source and the key of each id in it that is no number."""


@final
class AttemptSource(Struct, frozen=True, array_like=True):
    """The pages that were read of one source."""

    number: int
    """In the journal of the export."""
    intervals: list[Interval] = []
    seen: bytes = b""
    """The ids that its list has shown, as `IdSet.to_bytes` gives them; empty for none."""
    other_ids: list[str] = []
    """The keys of those that are no numbers."""
    proven: int = 0
    """The frozen end for which the end of its list was proven; 0 where it was not."""
    by_time: bool = False
    """True where its list goes by time."""


@final
class ShardAttempt(Struct, frozen=True, array_like=True):
    """The pages that another process has read."""

    files: list[AttemptFile] = []
    sources: list[AttemptSource] = []


def adopt(archive: Archive, attempt: ShardAttempt) -> CommitStats:
    """Take over an attempt, all of it or nothing; return how many messages it has added.

    Costs a few calls of the file system a file, and the reading of files that are partly known. Raises
    `AttemptLostError` where a file is missing whose messages are, and OSError as `Archive.commit` does.
    """
    return AttemptAdoption(archive, attempt).commit()


@final
class AttemptAdoption:
    """An attempt on its way into an archive."""

    def __init__(self, archive: Archive, attempt: ShardAttempt) -> None:
        self._archive = archive
        self._workspace = archive.workspace
        self._attempt = attempt
        self._sources: dict[int, Source] = {}
        self._placed: list[DataFile] = []
        self._partial: list[AttemptFile] = []

    def commit(self) -> CommitStats:
        """Commit it; in a thread, as it waits for the disk."""
        numbers = [known.number for known in self._attempt.sources]
        numbers += [block.source for file in self._attempt.files for block in file.blocks]
        self._sources = self._archive.journal.sources_of(numbers)
        return self._archive.commit(self._pages(), self)

    # ── inside of the transaction ──

    def take_files(self, written: IdSet, pending: IdSet) -> int:
        """Make data files of the files that hold nothing of the export; return how many messages they have.

        Their ids are added to `pending`. Called first in the transaction.
        """
        count = 0
        for file in self._attempt.files:
            ids = IdSet.union(IdSet.from_bytes(block.ids) for block in file.blocks)
            new = ids - written - pending
            keys = {key for _, key in file.other_ids}
            new_keys = keys - self._archive.journal.other_ids_written(keys)
            if not new and not new_keys:
                continue
            self._check(file)
            if len(new) == len(ids) and new_keys == keys:
                self._take(file)
                pending.update(ids)
                count += sum(block.rows for block in file.blocks)
            else:
                self._partial.append(file)
        if self._placed:  # the names of their contents survive before the journal knows them
            sync_folder(self._workspace.disk, path_inside(self._workspace.folder, SPOOL))
        return count

    def _check(self, file: AttemptFile) -> None:
        path = self._path(file)
        if not path.is_file() or path.stat().st_size != file.size:
            raise AttemptLostError(f"{path} is not there, or not as it was written")

    def _take(self, file: AttemptFile) -> None:
        workspace, journal = self._workspace, self._workspace.journal
        partition = self._archive.plan.partition
        assert partition is not None
        stem = f"{partition_folder(partition, file.partition_key)}/{STEM}"
        name = free_name(workspace, stem, file.suffix)
        placed = journal.add_file(name, file.partition_key, "part")
        placed = placed._replace(size=file.size, state="replacing", digest=file.digest)
        journal.keep_file(placed)
        journal.add_blocks(_block(placed.number, block) for block in file.blocks)
        for source, key in file.other_ids:
            journal.write_others(placed.number, source, [key])
        workspace.disk.replace(self._path(file), workspace.new_path(placed))
        self._placed.append(placed)

    def _pages(self) -> Iterator[FetchedPage]:
        """Yield what was seen and covered, and then the rows of files that are partly known."""
        for known in self._attempt.sources:
            source = self._sources[known.number]
            seen = IdSet.from_bytes(known.seen) if known.seen else IdSet()
            others = dict.fromkeys(known.other_ids, Row())
            page = FetchedPage(
                number=known.number, source=source, after=0, last=0, seen=PageIds(seen, others), rows=[],
                ids=_NONE,
            )  # fmt: skip
            yield page
            for interval in known.intervals:
                yield _covering(page, interval)
            if known.proven:
                self._archive.journal.prove(known.number, known.proven)
            if known.by_time:
                self._archive.journal.set_by_time(known.number)
        for file in self._partial:
            for number, rows in self._rows(file):
                source = self._sources[number]
                yield FetchedPage(
                    number=number, source=source, after=0, last=0, seen=_NONE, rows=rows, ids=ids_of(rows)
                )

    def _rows(self, file: AttemptFile) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of a file, each with the number of the source that writes it."""
        plan, path = self._archive.plan, self._path(file)
        if plan.format == "parquet":
            from .formats.parquet_files import records  # here, for it may not be installed

            for block, raws in records(path, [_block(0, each) for each in file.blocks]):
                yield block.source, [row_of(raw) for raw in raws]
            return
        unpack = compression(plan.compress or "none").unpack
        with path.open("rb") as opened:
            for each in file.blocks:
                opened.seek(each.start)
                yield each.source, rows_of(unpack(opened.read(each.size)))

    # ── behind it ──

    def put_in_place(self) -> None:
        """Give the files that were taken their names, and remove the others."""
        if self._placed:
            commit_in_place(self._workspace, self._placed, self._state_of)
        for file in self._attempt.files:
            self._workspace.disk.remove(self._path(file))

    def _state_of(self, file: DataFile) -> FileState:
        is_whole = self._archive.plan.format == "parquet" or file.size >= LARGEST
        return "whole" if is_whole else "open"

    def _path(self, file: AttemptFile) -> Path:
        return path_inside(self._workspace.folder, f"{SPOOL}/{file.name}")


def _covering(page: FetchedPage, interval: Interval) -> FetchedPage:
    return FetchedPage(
        number=page.number, source=page.source, after=interval.first - 1, last=interval.last,
        position=interval.position, seen=_NONE, rows=[], ids=_NONE,
    )  # fmt: skip


def _block(file: int, block: AttemptBlock) -> Block:
    return Block(file, *block[:9], IdSet.from_bytes(block.ids), block.other)
