"""One part of an export against what is told of it: its size, its hashes, what it holds, what is there twice.

What is damaged is told as ranges of bytes, with the sources and ids that the journal knows to lie there. What
is damaged is not read any further: nothing that it holds is to be believed.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path, PurePath
from typing import BinaryIO, Final, Protocol, TypeAlias, final

from ..formats.compression import compression
from ..manifest import PartEntry
from ..plan import Compress
from . import file_readers
from .file_readers import Batch
from .id_index import IdIndex, Twice, numbered
from .verify_result import Kind, Problem, VerifyResult

Step: TypeAlias = Callable[[int], object]

_PIECE: Final = 1 << 20
_SHOWN: Final = 3
_PACKED: Final[dict[str, Compress]] = {".gz": "gzip", ".zst": "zstd"}
_WHOLE: Final = {".parquet": file_readers.parquet, ".sqlite": file_readers.database}


class Advice(Protocol):
    """Who knows more of a part than its entry."""

    def whose(self, entry: PartEntry, start: int, end: int) -> str:
        """The messages in some bytes of it."""

    def mend(self, entry: PartEntry) -> str:
        """What to do where it is damaged."""

    @property
    def again(self) -> str:
        """Where another run does it."""


@final
class FileCheck:
    """All parts, one after the other."""

    def __init__(
        self, folder: Path, seen: IdIndex, advice: Advice, verdict: VerifyResult, step: Step
    ) -> None:
        self._folder = folder
        self._seen = seen
        self._advice = advice
        self._verdict = verdict
        self._step = step
        self._begins: list[int] = []
        self._names: list[str] = []
        self._place = 0

    def part(self, entry: PartEntry, *, may_be_longer: bool = False) -> None:
        """Checks one part; what is wrong is in the verdict."""
        self._begins.append(self._place)
        self._names.append(entry.name)
        if fault := _fault_of(entry):
            self._verdict.add(Problem("manifest", entry.name, fault, self._advice.mend(entry)))
            return
        try:
            with (self._folder / entry.name).open("rb") as file:
                self._opened(entry, file, may_be_longer=may_be_longer)
        except FileNotFoundError:
            self._tell("missing", entry, f"it is not there: {self._advice.whose(entry, 0, entry.bytes)}")
        except OSError as error:
            self._tell("damaged", entry, f"it cannot be read ({error.strerror or error})")

    def _opened(self, entry: PartEntry, file: BinaryIO, *, may_be_longer: bool) -> None:
        size = Path(file.name).stat().st_size
        self._verdict.parts += 1
        self._verdict.bytes += size
        if size > entry.bytes and not may_be_longer:
            more = f"it has {size - entry.bytes:,} bytes more than the {entry.bytes:,} that were written"
            self._verdict.add(Problem("size", entry.name, more, f"{self._advice.again}: it cuts them off"))
        if entry.blocks:
            self._blocks(entry, file, size)
        else:
            self._whole(entry, file, size)

    # ── a part that grew ──

    def _blocks(self, entry: PartEntry, file: BinaryIO, size: int) -> None:
        wrong: list[tuple[int, int]] = []
        start = 0
        for length, records, digest in entry.blocks:
            data = file.read(length) if start + length <= size else b""
            if len(data) == length and hashlib.sha256(data).hexdigest() == digest:
                self._verdict.hashes += 1
                self._block(entry, start, data, records)
            elif wrong and wrong[-1][1] == start:
                wrong[-1] = wrong[-1][0], start + length
            else:
                wrong.append((start, start + length))
            start += length
            self._step(length)
        for first, end in wrong:
            self._damaged(entry, first, end, size)

    def _block(self, entry: PartEntry, start: int, data: bytes, records: int) -> None:
        if entry.role != "part":
            return
        where = _bytes(start, start + len(data))
        unpack = compression(_PACKED.get(PurePath(entry.name).suffix, "none")).unpack
        try:
            batch = file_readers.lines(unpack(data))
        except Exception as error:  # each way to compress has its own errors
            self._tell("content", entry, f"{where} do not unpack ({error})")
            return
        if batch.records != records:
            self._tell("content", entry, f"{where} hold {batch.records:,} messages, and not {records:,}")
        self._batch(entry, where, batch)

    # ── a part that was written in one go ──

    def _whole(self, entry: PartEntry, file: BinaryIO, size: int) -> None:
        found = hashlib.sha256()
        while piece := file.read(_PIECE):
            found.update(piece)
        if found.hexdigest() != entry.sha256:
            self._step(entry.bytes)
            self._damaged(entry, 0, entry.bytes, size)
            return
        self._verdict.hashes += 1
        records = self._contents(entry, self._folder / entry.name) if entry.role == "part" else entry.messages
        if records != entry.messages:
            self._tell("content", entry, f"it holds {records:,} messages, and not {entry.messages:,}")

    def _contents(self, entry: PartEntry, path: Path) -> int:
        if path.suffix not in _WHOLE:
            self._tell("content", entry, "it is no file of an export")
            return entry.messages
        total = stepped = 0
        for batch in _WHOLE[path.suffix](path):
            self._batch(entry, f"of its messages {total + 1:,} to {total + batch.records:,}", batch)
            total += batch.records
            if total <= entry.messages:
                self._step(done := entry.bytes * total // entry.messages - stepped)
                stepped += done
        return total

    # ── what it holds ──

    def _batch(self, entry: PartEntry, where: str, batch: Batch) -> None:
        if batch.fault is not None:
            self._tell("content", entry, f"{where}: {batch.fault}")
        numbers, texts = numbered(batch.ids)
        self._verdict.hold(numbers)
        twice = self._seen.add(numbers, texts, self._place)
        self._verdict.messages += len(batch.ids) - len(twice)
        if numbers and not (_edge(entry.first_id) <= min(numbers) <= max(numbers) <= _edge(entry.last_id)):
            outside = f"{where} hold the ids {min(numbers)} to {max(numbers)}"
            self._tell("content", entry, f"{outside}, and not {entry.first_id} to {entry.last_id}")
        for place, some in groupby(sorted(twice, key=_place_of), key=_place_of):
            self._twice(entry, self._names[bisect_right(self._begins, place) - 1], [each.id for each in some])
        self._place += 1

    def _twice(self, entry: PartEntry, other: str, ids: list[str]) -> None:
        what = f"message {ids[0]}" if len(ids) == 1 else f"the messages {shortened(ids)}"
        there = "in it more than once" if other == entry.name else f"in {other}, too"
        self._tell("duplicate", entry, f"{what} stand{'s' if len(ids) == 1 else ''} {there}")

    # ── what is told ──

    def _damaged(self, entry: PartEntry, start: int, end: int, size: int) -> None:
        if is_cut := size < end:
            what = (
                f"it is cut off behind {size:,} of {entry.bytes:,} bytes, {_bytes(start, end)} are not whole"
            )
        else:
            what = f"{_bytes(start, end)} are not those that were written"
        text = f"{what}: {self._advice.whose(entry, start, end)}"
        self._tell("size" if is_cut else "damaged", entry, text)

    def _tell(self, kind: Kind, entry: PartEntry, text: str) -> None:
        self._verdict.add(Problem(kind, entry.name, text, self._advice.mend(entry)))


def _fault_of(entry: PartEntry) -> str | None:
    """What is wrong with an entry by itself: only somebody who edits a manifest makes one like that."""
    name = PurePath(entry.name)
    if name.is_absolute() or ".." in name.parts or not name.parts:
        return "it is no file of the export's folder"
    sizes = [size for size, _, _ in entry.blocks]
    rows = [messages for _, messages, _ in entry.blocks]
    ids = (entry.first_id, entry.last_id)
    fits = min(sizes, default=1) > 0 and all(each is None or each.isdecimal() for each in ids)
    if entry.blocks:
        fits = fits and (sum(sizes), sum(rows)) == (entry.bytes, entry.messages)
        fits = fits and _sha256_of(digest for _, _, digest in entry.blocks) == entry.sha256
    return None if fits else "what the manifest says of it does not fit together"


def _sha256_of(digests: Iterator[str]) -> str:
    try:
        return hashlib.sha256(bytes.fromhex("".join(digests))).hexdigest()
    except ValueError:
        return ""


def shortened(ids: list[str], count: int | None = None) -> str:
    """The first few of them, and how many more there are; `count` is that of all, where these are not all."""
    more = (len(ids) if count is None else count) - _SHOWN
    return ", ".join(ids[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _bytes(start: int, end: int) -> str:
    return f"the bytes {start:,} to {end - 1:,}"


def _edge(id: str | None) -> int:
    return 0 if id is None else int(id)


def _place_of(twice: Twice) -> int:
    return twice.place
