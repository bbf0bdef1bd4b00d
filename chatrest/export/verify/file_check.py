"""Check one file of an export against its entry: its size, its hashes, its records and their ids.

Damage is described as ranges of bytes, with the sources and ids that the journal has for them. The content of
damaged bytes is not read.
"""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePath
from typing import BinaryIO, Final, TypeAlias, final

from ...errors import ChatRestError
from ..formats.compression import compression
from ..id_set import IdSet
from ..manifest import NAME as MANIFEST, FileEntry
from ..message_ids import number
from ..opening import file_path
from ..plan import Compress
from . import file_readers
from .file_readers import Batch
from .read_ids import ReadIds, shortened
from .remedies import BlockIndex, Remedies
from .verify_result import Kind, Problem, VerifyResult

Step: TypeAlias = Callable[[int], object]

_CHUNK: Final = 1 << 20
_COMPRESSED: Final[dict[str, Compress]] = {".gz": "gzip", ".zst": "zstd"}
_WHOLE: Final = {".parquet": file_readers.parquet, ".sqlite": file_readers.database}


@final
class FileCheck:
    """The check of the files of one folder, one after the other."""

    def __init__(
        self,
        folder: Path,
        ids: ReadIds,
        blocks: BlockIndex,
        remedies: Remedies,
        result: VerifyResult,
        step: Step,
    ) -> None:
        """`step` is called with the number of bytes that were read."""
        self._folder = folder
        self._ids = ids
        self._blocks = blocks
        self._remedies = remedies
        self._result = result
        self._step = step

    def check(self, entry: FileEntry, *, may_be_longer: bool = False) -> None:
        """Check one file and add its problems to the result.

        `may_be_longer`: a run is under way, or was killed, and what is behind the entry's end is not its own.
        """
        if fault := entry_fault(entry):
            self._result.add(Problem("manifest", entry.name, fault, self._remedies.restore))
            return
        try:
            path = file_path(self._folder, entry.name)
        except ChatRestError as error:
            self._result.add(Problem("unsafe", MANIFEST, str(error), self._remedies.foreign))
            return
        try:
            with path.open("rb") as file:
                self._check_open(entry, file, may_be_longer=may_be_longer)
        except FileNotFoundError:
            text = f"it is not there: {self._blocks.messages_in(entry, 0, entry.bytes)}"
            self._result.add(Problem("missing", entry.name, text, self._remedies.missing_file(entry)))
        except OSError as error:
            self._add("damaged", entry, f"it cannot be read ({error.strerror or error})")

    def _check_open(self, entry: FileEntry, file: BinaryIO, *, may_be_longer: bool) -> None:
        size = Path(file.name).stat().st_size
        self._result.files += 1
        self._result.bytes += size
        if size > entry.bytes and not may_be_longer:
            text = f"it has {size - entry.bytes:,} bytes more than the {entry.bytes:,} that were written"
            self._result.add(Problem("size", entry.name, text, self._remedies.longer_file(entry)))
        if entry.blocks:
            self._check_blocks(entry, file, size)
        else:
            self._check_whole(entry, file, size)
        self._check_edges(entry)

    # ── a file that grew ──

    def _check_blocks(self, entry: FileEntry, file: BinaryIO, size: int) -> None:
        damaged: list[tuple[int, int]] = []
        start = 0
        for length, messages, digest in entry.blocks:
            data = file.read(length) if start + length <= size else b""
            if len(data) == length and hashlib.sha256(data).hexdigest() == digest:
                self._result.hashes += 1
                self._check_block(entry, start, data, messages)
            elif damaged and damaged[-1][1] == start:
                damaged[-1] = damaged[-1][0], start + length
            else:
                damaged.append((start, start + length))
            start += length
            self._step(length)
        for first, end in damaged:
            self._add_damage(entry, first, end, size)

    def _check_block(self, entry: FileEntry, start: int, data: bytes, messages: int) -> None:
        if entry.role != "part":
            return
        where = _byte_range(start, start + len(data))
        unpack = compression(_COMPRESSED.get(PurePath(entry.name).suffix, "none")).unpack
        try:
            batch = file_readers.lines(unpack(data))
        except Exception as error:  # each compression has its own errors
            self._add("content", entry, f"{where} cannot be decompressed ({error})")
            return
        if batch.records != messages:
            self._add("content", entry, f"{where} hold {batch.records:,} messages, and not {messages:,}")
        ids = self._add_batch(entry, where, batch)
        self._compare_ids(entry, where, ids, self._blocks.ids_at(entry, start))

    # ── a file that was written at once ──

    def _check_whole(self, entry: FileEntry, file: BinaryIO, size: int) -> None:
        digest = hashlib.sha256()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        if digest.hexdigest() != entry.sha256:
            self._step(entry.bytes)
            self._add_damage(entry, 0, entry.bytes, size)
            return
        self._result.hashes += 1
        messages = entry.messages
        if entry.role == "part":
            messages = self._read_whole(entry, self._folder / entry.name)
            self._compare_ids(entry, "its rows", self._ids.of_file(entry.name), self._blocks.ids_of(entry))
        if messages != entry.messages:
            self._add("content", entry, f"it holds {messages:,} messages, and not {entry.messages:,}")

    def _read_whole(self, entry: FileEntry, path: Path) -> int:
        if path.suffix not in _WHOLE:
            self._add("content", entry, "it is not a file of an export")
            return entry.messages
        total = stepped = 0
        for batch in _WHOLE[path.suffix](path):
            self._add_batch(entry, f"its messages {total + 1:,} to {total + batch.records:,}", batch)
            total += batch.records
            if 0 < total <= entry.messages:
                self._step(done := entry.bytes * total // entry.messages - stepped)
                stepped += done
        return total

    # ── the records ──

    def _add_batch(self, entry: FileEntry, where: str, batch: Batch) -> IdSet:
        if batch.fault is not None:
            self._add("content", entry, f"{where}: {batch.fault}")
        numbers, repetitions = self._ids.add(entry.name, batch.ids)
        self._result.messages += len(batch.ids) - sum(len(each.ids) for each in repetitions)
        for repetition in repetitions:
            self._add_repetition(entry, repetition.file, repetition.ids)
        return numbers

    def _compare_ids(self, entry: FileEntry, where: str, ids: IdSet, expected: IdSet | None) -> None:
        if expected is None or ids == expected:
            return
        lacking, more = list(map(str, expected - ids)), list(map(str, ids - expected))
        texts = [f"{shortened(lacking)} of the journal's are not there"] if lacking else []
        texts += [f"{shortened(more)} are not the journal's"] if more else []
        self._add("content", entry, f"the ids of {where} are not those that were written: {', '.join(texts)}")

    def _check_edges(self, entry: FileEntry) -> None:
        ids = self._ids.of_file(entry.name)
        if ids and not _edge(entry.first_id) <= ids.first <= ids.last <= _edge(entry.last_id):
            text = f"it holds the ids {ids.first} to {ids.last}, and not {entry.first_id} to {entry.last_id}"
            self._add("content", entry, text)

    def _add_repetition(self, entry: FileEntry, other: str, ids: list[str]) -> None:
        subject = f"message {ids[0]} is" if len(ids) == 1 else f"the messages {shortened(ids)} are"
        there = "in it more than once" if other == entry.name else f"in {other}, too"
        self._add("duplicate", entry, f"{subject} {there}")

    # ── problems ──

    def _add_damage(self, entry: FileEntry, start: int, end: int, size: int) -> None:
        where = _byte_range(start, end)
        messages = self._blocks.messages_in(entry, start, end)
        if size < end:
            text = f"it ends behind {size:,} of {entry.bytes:,} bytes, {where} are not whole: {messages}"
            self._add("size", entry, text)
        else:
            self._add("damaged", entry, f"{where} are not those that were written: {messages}")

    def _add(self, kind: Kind, entry: FileEntry, text: str) -> None:
        self._result.add(Problem(kind, entry.name, text, self._remedies.file(entry)))


def entry_fault(entry: FileEntry) -> str | None:
    """Return the fault of an entry by itself, which only an editor of the manifest or journal can cause."""
    sizes = [size for size, _, _ in entry.blocks]
    ids = (entry.first_id, entry.last_id)
    is_consistent = min(sizes, default=1) > 0 and all(
        each is None or number(each) is not None for each in ids
    )
    if entry.blocks:
        totals = sum(sizes), sum(messages for _, messages, _ in entry.blocks)
        is_consistent = is_consistent and totals == (entry.bytes, entry.messages)
        digest = _joint_sha256(digest for _, _, digest in entry.blocks)
        is_consistent = is_consistent and digest == entry.sha256
    return None if is_consistent else "its sizes, ids and hashes in the manifest contradict each other"


def _joint_sha256(digests: Iterable[str]) -> str:
    try:
        return hashlib.sha256(bytes.fromhex("".join(digests))).hexdigest()
    except ValueError:
        return ""


def _byte_range(start: int, end: int) -> str:
    return f"the bytes {start:,} to {end - 1:,}"


def _edge(id: str | None) -> int:
    return number(id or "") or 0
