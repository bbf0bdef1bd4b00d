"""Read the files of an export for their check: their records' keys, and the first fault among them.

A record has the key that the export gave it: its id, or a hash of its bytes where it has none. Keys are
kept as sets of numbers, by file: 0.13 to 2 bytes for each id. A key that is no number of 64 bits stands in
the same set as a hash above all numbers, which takes about 16 bytes.
"""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final, NamedTuple, final

import msgspec
from msgspec import Struct

from ...core.paging.intervals import LAST
from ...core.replies.rows import row_of
from ...core.replies.scanner import read_record
from ...errors import ChatRestError, ReplyUnreadableError, RequestInvalidError
from ...models.raw_json import REFUSED
from ..id_set import IdSet
from ..message_ids import key_of, number
from ..stored_records import parquet_batches

_SHOWN: Final = 40
_ROWS: Final = 5_000
_NUMBERS: Final = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(gt=0, lt=LAST)]])
_ABOVE_NUMBERS: Final = 1 << 63


def key_number(key: str) -> int:
    """Return the number that stands for a key: the id itself, or a hash from 2**63 on."""
    if (numbered := number(key)) is not None:
        return numbered
    digest = hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") | _ABOVE_NUMBERS


def key_numbers(keys: list[str]) -> list[int]:
    """Return the numbers of keys, in their order."""
    if "".join(keys).isdecimal():  # with nothing but digits, JSON is the quickest way to numbers
        try:
            return _NUMBERS.decode(f"[{','.join(keys)}]")
        except msgspec.DecodeError:  # empty, a 0 in front, digits of another script, or too many
            pass
    return list(map(key_number, keys))


@final
class ReadIds:
    """The keys of all files that were read so far, as sets of their numbers."""

    def __init__(self) -> None:
        self.all = IdSet()
        self._by_file: dict[str, IdSet] = {}

    @property
    def numbers(self) -> IdSet:
        """The ids that are numbers."""
        return self.all.between(1, LAST)

    def of_file(self, file: str) -> IdSet:
        """Return the keys that were read from a file."""
        return self._by_file.setdefault(file, IdSet())

    def add(self, file: str, keys: list[str]) -> list[tuple[str, list[str]]]:
        """Add keys of a file; return those that were there before, by the file, or that are here twice."""
        numbers = key_numbers(keys)
        here = IdSet(numbers)
        repeated = []
        if before := here & self.all:
            names = dict(zip(numbers, keys, strict=True))
            for other, there in self._by_file.items():
                if both := before & there:
                    repeated.append((other, [names[each] for each in both]))
        if len(here) < len(keys):
            repeated.append((file, [key for key, count in Counter(keys).items() if count > 1]))
        self.all.update(here)
        self.of_file(file).update(here)
        return repeated


# ── records ──


class Batch(NamedTuple):
    """Records that were read together."""

    place: str
    """The place in the file, in words."""
    records: int
    keys: list[str]
    """The texts that tell each record from all others."""
    fault: str | None = None
    """The fault of the first record that is damaged; None where none is."""


class _LineId(Struct, gc=False):
    id: str


_LINES: Final = msgspec.json.Decoder(_LineId)


def block_batch(place: str, data: bytes, unpack: Callable[[bytes], bytes]) -> Batch:
    try:
        return _line_batch(place, unpack(data))
    except Exception as error:  # each compression has its own errors
        return Batch(place, 0, [], f"they cannot be decompressed ({error})")


def _line_batch(place: str, data: bytes) -> Batch:
    """Return the records of whole lines."""
    try:
        keys = [line.id for line in _LINES.decode_lines(data)]
        if all(keys) and len(keys) == data.count(b"\n") and data.endswith(b"\n"):
            return Batch(place, len(keys), keys)
    except REFUSED:
        pass
    keys, fault = list[str](), None
    records = data.splitlines()
    for count, line in enumerate(records, start=1):
        if (key := _record_key(line)) is not None:
            keys.append(key)
        else:
            fault = fault or f"line {count:,} is no JSON record: {line[:_SHOWN]!r}"
    if not data.endswith(b"\n"):
        fault = fault or "the last line has no end"
    return Batch(place, len(records), keys, fault)


def _record_key(raw: bytes) -> str | None:
    """Return what tells a record from all others; None where it is no JSON record.

    A record without an id has a hash of its bytes, as the export gave it.
    """
    try:
        # As it was taken from its page: records are read there that are nested too deeply to be read whole.
        members = read_record(raw)
    except ReplyUnreadableError:
        return None
    return key_of(row_of(raw, members)) if raw == raw.strip() else None


def file_batches(path: Path) -> Iterator[Batch]:
    """Yield the records of a Parquet file or a database; `RequestInvalidError` where pyarrow is missing."""
    if path.suffix not in (".parquet", ".sqlite"):
        yield Batch("it", 0, [], "it is not a file of an export")
        return
    total = 0
    try:
        for keys, raws in (_parquet if path.suffix == ".parquet" else _database)(path):
            place = f"its messages {total + 1:,} to {total + len(raws):,}"
            total += len(raws)
            yield _compared(place, keys, raws)
    except RequestInvalidError:
        raise
    except (ChatRestError, sqlite3.Error, ValueError) as error:
        yield Batch("it", 0, [], f"it cannot be read ({error})")


def _parquet(path: Path) -> Iterator[tuple[list[str], list[bytes]]]:
    for raws, [keys] in parquet_batches(path, ["id"]):
        yield keys, raws


def _database(path: Path) -> Iterator[tuple[list[str], list[bytes]]]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
        [finding] = db.execute("PRAGMA integrity_check(1)").fetchone()
        if finding != "ok":
            raise ValueError(finding)
        cursor = db.execute("SELECT CAST(id AS TEXT), CAST(raw AS BLOB) FROM messages ORDER BY rowid")
        while rows := cursor.fetchmany(_ROWS):
            yield [key for key, _ in rows], [raw or b"" for _, raw in rows]


def _compared(place: str, keys: list[str], raws: list[bytes]) -> Batch:
    """Return records whose keys are beside them, after a comparison of the two."""
    batch = _line_batch(place, b"\n".join([*raws, b""]))
    if batch.keys == keys and batch.records == len(keys):
        return batch
    for key, raw in zip(keys, raws, strict=True):
        if (other := _record_key(raw)) != key:
            return Batch(
                place, len(keys), keys, f"beside the id {key} is the record of {other or 'no message'}"
            )
    return Batch(place, len(keys), keys)
