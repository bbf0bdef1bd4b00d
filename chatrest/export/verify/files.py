"""Read the files of an export again: their bytes, their records, and the ids of these.

A record has the key that the export gave it: its id, or a hash of its bytes where it has none. Keys are
kept as sets of numbers, by file: 0.13 to 2 bytes for each id. A key that is no number of 64 bits is in
the same set as a hash above all numbers, which takes about 16 bytes.
"""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, final

import msgspec
from msgspec import Struct

from ...core.replies.rows import row_of
from ...core.replies.scanner import read_record
from ...errors import ChatRestError, ReplyUnreadableError, RequestInvalidError
from ...models.raw_json import REFUSED
from ..file_names import HISTORY
from ..id_set import IdSet
from ..message_ids import key_of, number, numbers_of
from ..opening import file_path
from ..store.journal import StoreFile
from ..store.segments import segment_path
from ..stored_records import lines, parquet_batches

Fault: TypeAlias = tuple[Literal["missing", "size", "damaged", "content", "duplicate", "unsafe"], str]
"""A kind of problem, and a sentence."""
_CHUNK: Final = 1 << 20
_ROWS: Final = 5_000
_SHOWN: Final = 40
_IDS_SHOWN: Final = 3
_ABOVE_NUMBERS: Final = 1 << 63


class ExpectedFile(NamedTuple):
    """A file that there ought to be, as the manifest or the journal says."""

    file: StoreFile
    """Without a hash where only its first bytes are known: of a segment, or of what is being written."""
    messages: int
    words: str
    """What is in it."""
    keys: IdSet | None = None
    """Those that the journal has for it."""

    @property
    def is_history(self) -> bool:
        return self.file.stem == HISTORY

    @property
    def place(self) -> str:
        return place_of(self.file)


def place_of(file: StoreFile) -> str:
    return file.name if file.state == "sealed" else segment_path(Path(), file.name).as_posix()


@final
class FileCheck:
    """The check of the files of one folder, one after the other; `step` is called with the bytes that were
    read.
    """

    def __init__(self, folder: Path, step: Callable[[int], object]) -> None:
        self._folder = folder
        self._step = step
        self._by_file: dict[str, IdSet] = {}
        self.keys = IdSet()
        """Those of all messages that were read."""
        self.hashes = self.bytes = self.files = 0
        """Checksums that are right, bytes and files that were read."""
        self.is_unread = False
        """True if the records of the last file were not read, as it has other bytes than were written."""

    def faults(self, file: ExpectedFile) -> Iterator[Fault]:
        self.is_unread = True
        try:
            file_path(self._folder, file.file.name)
        except ChatRestError as error:
            yield "unsafe", str(error)
            return
        path = self._folder / file.place
        try:
            if (fault := self._fault_of_bytes(path, file)) is not None:
                yield fault
            else:
                self.is_unread = False
                yield from self._faults_of_records(path, file)
        except FileNotFoundError:
            yield "missing", f"it is not there: {file.words}"
        except OSError as error:
            yield "damaged", f"it cannot be read ({error.strerror or error})"

    def _fault_of_bytes(self, path: Path, expected: ExpectedFile) -> Fault | None:
        file, size, digest = expected.file, path.stat().st_size, hashlib.sha256()
        left = file.size
        with path.open("rb") as opened:
            while left > 0 and (chunk := opened.read(min(left, _CHUNK))):
                digest.update(chunk)
                left -= len(chunk)
                self._step(len(chunk))
        self.files += 1
        self.bytes += size
        if size < file.size:
            return "size", f"it ends behind {size:,} of {file.size:,} bytes: {expected.words}"
        if file.sha256 is None:
            return None
        if size > file.size:
            return "size", f"it has {size - file.size:,} bytes more than the {file.size:,} that were written"
        if digest.digest() != file.sha256:
            return "damaged", f"its bytes are not those that were written: {expected.words}"
        self.hashes += 1
        return None

    def _faults_of_records(self, path: Path, file: ExpectedFile) -> Iterator[Fault]:
        here, records, is_sound = IdSet(), 0, True
        for batch in _batches(path, file):
            records += batch.records
            if batch.fault is not None:
                is_sound = False
                yield "content", f"{batch.place}: {batch.fault}"
            numbers = key_numbers(batch.keys)
            new = IdSet(numbers)
            for other, keys in self._repeated(here, new, numbers, batch.keys, file):
                is_sound = False
                subject = f"message {keys[0]} is" if len(keys) == 1 else f"the messages {shortened(keys)} are"
                yield "duplicate", f"{subject} {f'in {other}, too' if other else 'in it more than once'}"
            here.update(new)
        if not file.is_history:
            self._by_file[file.place] = here
            self.keys.update(here)
        # A database to which rows were being added has more than is known.
        if is_sound and (file.file.state != "sealed" or file.file.sha256 is not None):
            yield from _faults_of_ids(file, records, here)

    def _repeated(
        self, here: IdSet, new: IdSet, numbers: list[int], keys: list[str], file: ExpectedFile
    ) -> Iterator[tuple[str, list[str]]]:
        """Yield the keys that were read before, with the other file; no name for this one."""
        if before := IdSet() if file.is_history else new & self.keys:
            names = dict(zip(numbers, keys, strict=True))
            for other, there in self._by_file.items():
                if both := before & there:
                    yield other, [names[each] for each in both]
        if (again := new & here) or len(new) < len(keys):
            counts = Counter(numbers)
            yield (
                "",
                [
                    key
                    for key, each in dict(zip(keys, numbers, strict=True)).items()
                    if counts[each] > 1 or each in again
                ],
            )


def _faults_of_ids(file: ExpectedFile, records: int, here: IdSet) -> Iterator[Fault]:
    """Compare the ids of an undamaged file with the journal's, and with what the manifest says."""
    if records != file.messages:
        yield "content", f"it holds {records:,} messages, and not {file.messages:,}"
    for keys, side in (
        () if file.keys is None else ((file.keys - here, "journal"), (here - file.keys, "file"))
    ):
        if keys:
            # A key that is no number is not known by its hash.
            texts = [str(each) if each < _ABOVE_NUMBERS else "an id that is no number" for each in keys]
            yield "content", f"the ids of journal and file differ: {shortened(texts)} only in the {side}"


# ── keys ──


def key_number(key: str) -> int:
    """Return the number that stands for a key: the id itself, or a hash from 2**63 on."""
    if (numbered := number(key)) is not None:
        return numbered
    digest = hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") | _ABOVE_NUMBERS


def key_numbers(keys: list[str]) -> list[int]:
    return numbers_of(keys) or list(map(key_number, keys))


def shortened(ids: list[str]) -> str:
    more = len(ids) - _IDS_SHOWN
    return ", ".join(ids[:_IDS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


# ── records ──


class _Batch(NamedTuple):
    """Records that were read together."""

    place: str
    records: int
    keys: list[str]
    """The texts that tell each record from all others."""
    fault: str | None = None
    """The fault of the first record that is damaged; None if none is."""


class _LineId(Struct, gc=False):
    id: str


_LINES: Final = msgspec.json.Decoder(_LineId)


def _batches(path: Path, file: ExpectedFile) -> Iterator[_Batch]:
    """Yield the records of a file; `RequestInvalidError` where what its format needs is not installed."""
    total = 0
    try:
        for keys, raws in _read(path, file):
            batch = _checked(f"its records {total + 1:,} to {total + len(raws):,}", total, keys, raws)
            if file.is_history:
                keys = [hashlib.sha256(raw).hexdigest() for raw in raws]
                batch = batch._replace(keys=keys)
            yield batch
            total += len(raws)
    except RequestInvalidError:
        raise
    except (ChatRestError, sqlite3.Error, ValueError) as error:
        yield _Batch("it", 0, [], f"it cannot be read ({error})")


def _read(path: Path, file: ExpectedFile) -> Iterator[tuple[list[str] | None, list[bytes]]]:
    """Yield the records of a file, and the keys that are beside them."""
    name, is_sealed = file.file.name, file.file.state == "sealed"
    if is_sealed and name.endswith(".parquet"):
        for raws, [keys] in parquet_batches(path, ["id"]):
            yield keys, raws
    elif is_sealed and name.endswith(".sqlite"):
        yield from _database(path)
    else:
        for raws in lines(path, name, file.file.size):
            yield None, raws


def _database(path: Path) -> Iterator[tuple[list[str], list[bytes]]]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
        [finding] = db.execute("PRAGMA integrity_check(1)").fetchone()
        if finding != "ok":
            raise ValueError(finding)
        cursor = db.execute("SELECT CAST(id AS TEXT), CAST(raw AS BLOB) FROM messages ORDER BY rowid")
        while rows := cursor.fetchmany(_ROWS):
            yield [key for key, _ in rows], [raw or b"" for _, raw in rows]


def _checked(place: str, before: int, keys: list[str] | None, raws: list[bytes]) -> _Batch:
    """Return records with the keys that they say, which must be those beside them."""
    try:
        own = [line.id for line in _LINES.decode_lines(b"\n".join(raws))]
    except REFUSED:
        own = []
    # A line that is blank would stand for two records of another line.
    if len(own) == len(raws) and all(own) and keys in (None, own) and min(raws, default=b"{") >= b"{":
        return _Batch(place, len(raws), own)
    own, fault = list[str](), None
    for at, raw in enumerate(raws):
        if (key := _record_key(raw)) is None:
            fault = fault or f"line {before + at + 1:,} is no JSON record: {raw[:_SHOWN]!r}"
        elif keys is not None and key != keys[at]:
            fault = fault or f"beside the id {keys[at]} is the record of {key}"
        else:
            own.append(key)
    return _Batch(place, len(raws), own, fault)


def _record_key(raw: bytes) -> str | None:
    """Return what tells a record from all others; None if it is no JSON record."""
    try:
        # As it was taken from its page: records are read there that are nested too deeply to be read whole.
        members = read_record(raw)
    except ReplyUnreadableError:
        return None
    return key_of(row_of(raw, members)) if raw == raw.strip() else None
