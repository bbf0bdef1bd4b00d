"""The files of an export, read again: their bytes, their records, and the ids of these."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..._core.replies.rows import row_of
from ..._core.replies.scanner import read_record
from ..._models.raw_json import REFUSED
from ...errors import ReplyUnreadableError
from ..formats.stored_records import line_batches, parquet_batches
from ..plan.message_ids import key_of
from ..store.journal import StoreFile
from .result import Kind

_CHUNK: Final = 1 << 20
_SHOWN: Final = 40


class FileFaultError(Exception):
    def __init__(self, kind: Kind, text: str) -> None:
        super().__init__(text)
        self.kind: Kind = kind


def check_bytes(path: Path, file: StoreFile, step: Callable[[int], object]) -> None:
    """Raise `FileFaultError` where the bytes are not those that were committed."""
    size, digest, left = path.stat().st_size, hashlib.sha256(), file.size
    with path.open("rb") as opened:
        while left > 0 and (chunk := opened.read(min(left, _CHUNK))):
            digest.update(chunk)
            left -= len(chunk)
            step(len(chunk))
    if size < file.size:
        raise FileFaultError("size", f"it ends after {size:,} of {file.size:,} bytes")
    if file.sha256 is None:
        return  # a segment may have bytes that no commit knows
    if size > file.size:
        raise FileFaultError(
            "size", f"it has {size - file.size:,} bytes more than the {file.size:,} that were written"
        )
    if digest.digest() != file.sha256:
        raise FileFaultError("damaged", "its bytes are not those that were written")


def keys_in(path: Path, file: StoreFile) -> Iterator[list[str]]:
    """Yield the keys of the records in a file, some thousand at a time.

    Raises `FileFaultError` where a line is no record, `ChatRestError` or ValueError where the file cannot be
    unpacked, and `RequestInvalidError` where what its format needs is not installed.
    """
    total = 0
    batches: Iterator[tuple[list[bytes], list[Any]]] = parquet_batches(path, ["id"])
    if file.state != "sealed" or not file.name.endswith(".parquet"):
        batches = ((raws, [None]) for raws in line_batches(path, file.name, file.size))
    for raws, [beside] in batches:
        keys = list[str]()
        for at, key in enumerate(_keys(raws)):
            if key is None:
                raise FileFaultError(
                    "content", f"line {total + at + 1:,} is no JSON record: {raws[at][:_SHOWN]!r}"
                )
            if beside is not None and beside[at] != key:
                raise FileFaultError("content", f"beside the id {beside[at]} is the record of {key}")
            keys.append(key)
        total += len(keys)
        yield keys


class _LineId(Struct, gc=False):
    id: str


_LINES: Final = msgspec.json.Decoder(_LineId)


def _keys(raws: list[bytes]) -> list[str] | list[str | None]:
    """Return what identifies each record; None for what is no record."""
    try:
        ids = [line.id for line in _LINES.decode_lines(b"\n".join(raws))]
    except REFUSED:
        ids = []
    # A line that is blank would stand for two records of another line.
    if len(ids) == len(raws) and all(ids) and min(raws, default=b"{") >= b"{":
        return ids
    return list(map(_key, raws))


def _key(raw: bytes) -> str | None:
    try:
        # As it was taken from its page: records are read there that are nested too deeply to be read whole.
        members = read_record(raw)
    except ReplyUnreadableError:
        return None
    return key_of(row_of(raw, members)) if raw == raw.strip() else None
