"""Check one file of an export against its entry: its size, its hashes, its records and their ids.

Damage is described as ranges of bytes, with the sources and ids that the journal has for them. The content of
damaged bytes is not read.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias, final

from ...core.paging.intervals import LAST
from ...errors import ChatRestError
from ..formats.compression import compression
from ..id_set import IdSet
from ..journal import Journal
from ..manifest import NAME as MANIFEST, FileEntry
from ..message_ids import number
from ..opening import file_path
from ..store.journal import StoreBlock as Block
from ..stored_records import compress_of
from .records import Batch, ReadIds, block_batch, file_batches, key_number
from .verify_result import FOREIGN, RESTORE, Kind, Remedies, VerifyResult, shortened

Step: TypeAlias = Callable[[int], object]

_CHUNK: Final = 1 << 20
_SOURCES_SHOWN: Final = 3


class FileBlocks(NamedTuple):
    """The journal's side of a file: its blocks, and the numbers of all its keys."""

    blocks: list[Block]
    keys: IdSet


@final
class BlockIndex:
    """The blocks of the journal by the names of their files; raises `UnreadableError` where it is damaged."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._numbers = {file.name: file.number for file in journal.files()}
        self._sources = {each.number: str(each.source) for each in journal.sources()}
        self._newest: tuple[int, FileBlocks] | None = None
        self._others: dict[int, IdSet] = defaultdict(IdSet)
        for row in journal.other_ids():
            if row.file is not None:
                self._others[row.file].update(IdSet([key_number(row.key)]))

    def of(self, name: str) -> FileBlocks | None:
        """Return what the journal has for a file; None for a file that it does not know."""
        if (file := self._numbers.get(name)) is None:
            return None
        if self._newest is None or self._newest[0] != file:  # many blocks of one file may be damaged
            blocks = self._journal.blocks(file)
            keys = IdSet.union(block.ids for block in blocks) | self._others.get(file, IdSet())
            self._newest = file, FileBlocks(blocks, keys)
        return self._newest[1]

    def describe(self, blocks: list[Block]) -> str:
        """Return the messages of blocks in words, by their sources."""
        by_source: dict[int, list[Block]] = defaultdict(list)
        for block in blocks:
            by_source[block.source].append(block)
        texts = [
            f"{self._sources.get(source, 'no source')} ids {min(each.first for each in group)} to "
            f"{max(each.last for each in group)}"
            for source, group in by_source.items()
        ]
        more = len(texts) - _SOURCES_SHOWN
        rest = f" and {more:,} sources more" if more > 0 else ""
        return f"{sum(each.rows for each in blocks):,} messages, {', '.join(texts[:_SOURCES_SHOWN])}{rest}"


@final
class FileCheck:
    """The check of the files of one folder, one after the other."""

    def __init__(
        self, folder: Path, index: BlockIndex | None, remedies: Remedies, result: VerifyResult, step: Step
    ) -> None:
        """`step` is called with the number of bytes that were read."""
        self.ids = ReadIds()
        self._folder = folder
        self._index = index
        self._remedies = remedies
        self._result = result
        self._step = step
        self._is_damaged = False
        """True where the file that is checked has a problem of its bytes or records."""

    def check(self, entry: FileEntry, *, may_be_longer: bool = False) -> None:
        """Check one file and add its problems to the result.

        `may_be_longer`: a run is under way, or was killed, and what is behind the entry's end is not its own.
        """
        if fault := entry_fault(entry):
            self._result.add("manifest", entry.name, fault, RESTORE)
            return
        try:
            path = file_path(self._folder, entry.name)
        except ChatRestError as error:
            self._result.add("unsafe", MANIFEST, str(error), FOREIGN)
            return
        try:
            with path.open("rb") as file:
                self._check_open(entry, file, may_be_longer=may_be_longer)
        except FileNotFoundError:
            self._add("missing", entry, f"it is not there: {self._messages_in(entry, 0, entry.bytes)}")
        except OSError as error:
            self._add("damaged", entry, f"it cannot be read ({error.strerror or error})")

    def _check_open(self, entry: FileEntry, file: BinaryIO, *, may_be_longer: bool) -> None:
        size = os.fstat(file.fileno()).st_size
        self._is_damaged = False
        self._result.files += 1
        self._result.bytes += size
        if size > entry.bytes and not may_be_longer:
            text = f"it has {size - entry.bytes:,} bytes more than the {entry.bytes:,} that were written"
            self._result.add("size", entry.name, text, self._remedies.longer_file(entry))
        records = 0
        for batch in (self._blocks if entry.blocks else self._whole)(entry, file, size):
            records += batch.records
            if batch.fault is not None:
                self._add("content", entry, f"{batch.place}: {batch.fault}")
            for other, keys in self.ids.add(entry.name, batch.keys):
                self._add_repeated(entry, other, keys)
        if not self._is_damaged and entry.role == "part":
            if records != entry.messages:
                self._add("content", entry, f"it holds {records:,} messages, and not {entry.messages:,}")
            self._compare_ids(entry)

    # ── its bytes ──

    def _blocks(self, entry: FileEntry, file: BinaryIO, size: int) -> Iterator[Batch]:
        """Yield the records of a file that grew, by its blocks; those that are damaged are reported."""
        damaged: list[tuple[int, int]] = []
        unpack = compression(compress_of(entry.name)).unpack
        end = 0
        for length, _, digest in entry.blocks:
            start, end = end, end + length
            data = file.read(length) if end <= size else b""
            if len(data) == length and hashlib.sha256(data).hexdigest() == digest:
                self._result.hashes += 1
                if entry.role == "part":
                    yield block_batch(_byte_range(start, end), data, unpack)
            elif damaged and damaged[-1][1] == start:
                damaged[-1] = damaged[-1][0], end
            else:
                damaged.append((start, end))
            self._step(length)
        for start, end in damaged:
            self._add_damage(entry, start, end, size)

    def _whole(self, entry: FileEntry, file: BinaryIO, size: int) -> Iterator[Batch]:
        """Yield the records of a file that was written at once, if it is as it was written."""
        digest = hashlib.sha256()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        if digest.hexdigest() != entry.sha256:
            self._add_damage(entry, 0, entry.bytes, size)
        else:
            self._result.hashes += 1
            if entry.role == "part":
                yield from file_batches(self._folder / entry.name)
        self._step(entry.bytes)

    # ── its ids ──

    def _compare_ids(self, entry: FileEntry) -> None:
        """Compare the ids of an undamaged file with the journal's, and with the edges in the manifest."""
        ids = self.ids.of_file(entry.name)
        known = self._index and self._index.of(entry.name)
        if known is not None and not entry.name.endswith(".sqlite"):  # whose ids are its rows
            for keys, side in ((known.keys - ids, "the journal"), (ids - known.keys, "the file")):
                if keys:
                    text = f"the ids of journal and file differ: {shortened(_texts(keys))} only in {side}"
                    self._add("content", entry, text)
        first, last = ids.first, ids.between(1, LAST).last
        if last and not _edge(entry.first_id) <= first <= last <= _edge(entry.last_id):
            text = f"it holds the ids {first} to {last}, and not {entry.first_id} to {entry.last_id}"
            self._add("content", entry, text)

    def _add_repeated(self, entry: FileEntry, other: str, keys: list[str]) -> None:
        subject = f"message {keys[0]} is" if len(keys) == 1 else f"the messages {shortened(keys)} are"
        there = "in it more than once" if other == entry.name else f"in {other}, too"
        self._result.add("duplicate", entry.name, f"{subject} {there}", self._remedies.file(entry))

    # ── problems ──

    def _add_damage(self, entry: FileEntry, start: int, end: int, size: int) -> None:
        place, messages = _byte_range(start, end), self._messages_in(entry, start, end)
        if size < end:
            text = f"it ends behind {size:,} of {entry.bytes:,} bytes, {place} are not whole: {messages}"
            self._add("size", entry, text)
        else:
            self._add("damaged", entry, f"{place} are not those that were written: {messages}")

    def _messages_in(self, entry: FileEntry, start: int, end: int) -> str:
        """Return in words the messages in some bytes of a file."""
        known = self._index and self._index.of(entry.name)
        blocks = known.blocks if known else []
        if entry.blocks:  # a file that was written at once is damaged as a whole
            blocks = [each for each in blocks if start <= each.start < end]
        if self._index is None or not blocks:
            return f"{entry.messages:,} messages are in the file, ids {entry.first_id} to {entry.last_id}"
        return self._index.describe(blocks)

    def _add(self, kind: Kind, entry: FileEntry, text: str) -> None:
        self._is_damaged = True
        self._result.add(kind, entry.name, text, self._remedies.file(entry))


def entry_fault(entry: FileEntry) -> str | None:
    """Return the fault of an entry by itself, which only an editor of the manifest or journal can cause."""
    sizes = [size for size, _, _ in entry.blocks]
    ids = (entry.first_id, entry.last_id)
    is_consistent = min(sizes, default=1) > 0 and all(each is None or number(each) for each in ids)
    if entry.blocks:
        try:
            digest = hashlib.sha256(bytes.fromhex("".join(each for _, _, each in entry.blocks))).hexdigest()
        except ValueError:
            digest = ""
        totals = sum(sizes), sum(messages for _, messages, _ in entry.blocks), digest
        is_consistent = is_consistent and totals == (entry.bytes, entry.messages, entry.sha256)
    return None if is_consistent else "its sizes, ids and hashes in the manifest contradict each other"


def _byte_range(start: int, end: int) -> str:
    return f"the bytes {start:,} to {end - 1:,}"


def _edge(id: str | None) -> int:
    return number(id or "") or 0


def _texts(keys: IdSet) -> list[str]:
    """Return keys in words: a key that is no number is not known by its hash."""
    return [str(each) if each < 1 << 63 else "an id that is no number" for each in keys]
