"""The files of an export, read again: their bytes, their records, and the ids of these.

Each file has the bytes that were written, each line is a record, its ids are the journal's, and each message
is there once.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from ..._cloud.store_errors import ObjectStoreError
from ..._core.replies.rows import row_of
from ..._core.replies.scanner import read_record
from ..._models.raw_json import REFUSED
from ..._storage import UnreadableError
from ..._texts import plural
from ...errors import ChatRestError, ReplyUnreadableError, RequestInvalidError
from ..folder.folder_access import data_file_path
from ..folder.folder_state import FolderState
from ..folder.journal import Journal
from ..folder.manifest import NAME as MANIFEST, is_table
from ..folder.tables import ATTACHMENTS, attachment_rows, check_attachment, table_stem
from ..formats.stored_records import line_batches, parquet_batches
from ..plan.file_names import HISTORY
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of, plain_numbers
from ..read.folder_view import FolderView
from ..store.segments import segment_path
from ..store.store_journal import StoreFile
from ..store.stored_files import actual_path
from .result import Finding, Kind, Remedy, id_list

OnStep: TypeAlias = Callable[[int, int], object]
"""Called with the bytes that were checked, and how many there are."""
_CHUNK: Final = 1 << 20
_SHOWN: Final = 40
_ATTACHMENT_ADVICE: Final = {
    "missing": Remedy.RUN, "damaged": Remedy.FETCH, "unsafe": Remedy.KEEP_OUT,
}  # fmt: skip


class FileCheck:
    """The check of the files that the journal names, or without a journal those of the manifest."""

    def __init__(self, view: FolderView, state: FolderState, on_step: OnStep) -> None:
        self.files = self.bytes = self.hashes = 0
        """As in a `VerifyResult`."""
        self.read_ids = IdSet()
        """The ids of all messages that were read."""
        self.unread_ids = IdSet()
        """The ids that the journal has for files that cannot be read: these are problems already."""
        self._view = view
        self._folder = view.folder
        self._journal = state.journal
        self._on_step = on_step
        self._done = self._total = 0

    def findings(self, files: list[StoreFile]) -> Iterator[Finding]:
        self._total = sum(max(0, file.size) for file in files)
        self._view.expect(map(_name_now, files))
        for file in files:
            with self._view.file(_name_now(file)):
                try:
                    data_file_path(self._folder, file.name)
                except ChatRestError as error:
                    yield Finding("unsafe", MANIFEST, str(error), Remedy.KEEP_OUT)
                else:
                    yield from self._findings_in(file)

    def _findings_in(self, file: StoreFile) -> Iterator[Finding]:
        try:
            path = actual_path(self._folder, file)
            check_bytes(path, file, self._step)
            self.files += 1
            self.bytes += path.stat().st_size
            self.hashes += file.sha256 is not None
            if file.stem == table_stem(ATTACHMENTS):
                yield from self._attachment_findings(path)
            if self._journal is not None:
                yield from self._record_findings(path, file, self._journal)
            return
        except (RequestInvalidError, ObjectStoreError, UnreadableError, PermissionError):
            raise
        except FileFaultError as error:
            fault = error
        except (ChatRestError, ValueError) as error:
            fault = FileFaultError("content", f"it cannot be read ({error})")
        except FileNotFoundError:
            fault = FileFaultError("missing", "it is not there")
        except OSError as error:
            fault = FileFaultError("damaged", f"it cannot be read ({error.strerror or error})")
        text = f"{fault}{_content_words(file, self._journal)}"
        yield Finding(fault.kind, _name_now(file), text, _advice(file, fault.kind))
        if _has_ids(file) and self._journal is not None:
            self.unread_ids.update(self._journal.ids_in([file]))

    def _step(self, count: int) -> None:
        self._done += count
        self._on_step(self._done, self._total)

    def _record_findings(self, path: Path, file: StoreFile, journal: Journal) -> Iterator[Finding]:
        """Check that each line is a record, and compare the ids of messages with the journal's."""
        ids_in_file, repeated, unknown = IdSet(), IdSet(), list[str]()
        for keys in keys_in(path, file):
            if not _has_ids(file):
                continue
            if (numbers := plain_numbers(keys)) is None:
                known = journal.ids_by_key(keys)
                unknown += (key for key in keys if key not in known)
                numbers = [known[key] for key in keys if key in known]
            new = IdSet(numbers)
            repeated.update((new & ids_in_file) | (new & self.read_ids))
            if len(new) < len(numbers):
                repeated.update(IdSet(each for each, count in Counter(numbers).items() if count > 1))
            ids_in_file.update(new)
        if not _has_ids(file):
            return
        self.read_ids.update(ids_in_file)
        if repeated:
            text = f"messages that are stored twice: {id_list(journal.texts(repeated))}"
            yield Finding("duplicate", _name_now(file), text, Remedy.REBUILD)
        noted = IdSet.union(block.ids for block in journal.iter_blocks(file.number))
        only_in_file = [*journal.texts(ids_in_file - noted), *unknown]
        sides = ((journal.texts(noted - ids_in_file), "journal"), (only_in_file, "file"))
        if words := [f"{id_list(ids)} only in the {holder}" for ids, holder in sides if ids]:
            text = f"the ids of journal and file differ: {'; '.join(words)}"
            yield Finding("content", _name_now(file), text, Remedy.REBUILD)

    def _attachment_findings(self, table: Path) -> Iterator[Finding]:
        for row in attachment_rows(table):
            name = f"{ATTACHMENTS}/{row.file}"
            with self._view.file(name):
                if fault := check_attachment(self._folder, row):
                    text = "it is not there as its row says"
                    yield Finding(fault, name, text, _ATTACHMENT_ADVICE[fault])


def _has_ids(file: StoreFile) -> bool:
    return file.stem != HISTORY and not is_table(file.stem)


def _name_now(file: StoreFile) -> str:
    return file.name if file.state == "sealed" else segment_path(Path(), file.name).as_posix()


def _content_words(file: StoreFile, journal: Journal | None) -> str:
    """Return in words what a file that cannot be read has: the number of messages, sources, and ids."""
    if journal is None or is_table(file.stem):
        return ""
    blocks = journal.blocks(file.number)
    ids = IdSet.union(block.ids for block in blocks).numbers
    sources = [str(each) for each in journal.sources_of(block.source for block in blocks).values()]
    owners = f" of {id_list(sources)}" if sources else ""
    text = f": {plural(sum(block.rows for block in blocks), 'message')}{owners}"
    return f"{text}, ids {ids.first} to {ids.last}" if ids else text


def _advice(file: StoreFile, kind: Kind) -> Remedy:
    if file.stem == HISTORY:
        return Remedy.RESTORE
    if is_table(file.stem):
        return Remedy.RUN
    if kind == "size" and file.state != "sealing":
        return Remedy.RUN_SETS_ASIDE
    return Remedy.READ_AGAIN if kind == "missing" else Remedy.SET_ASIDE


class FileFaultError(Exception):
    def __init__(self, kind: Kind, text: str) -> None:
        super().__init__(text)
        self.kind: Kind = kind


def check_bytes(path: Path, file: StoreFile, step: Callable[[int], object]) -> None:
    """Raise `FileFaultError` where the bytes are not those that were committed."""
    size, digest, remaining = path.stat().st_size, hashlib.sha256(), file.size
    with path.open("rb") as opened:
        while remaining > 0 and (chunk := opened.read(min(remaining, _CHUNK))):
            digest.update(chunk)
            remaining -= len(chunk)
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
    for raws, [column] in batches:
        keys = list[str]()
        for index, key in enumerate(_keys(raws)):
            if key is None:
                raise FileFaultError(
                    "content", f"line {total + index + 1:,} is no JSON record: {raws[index][:_SHOWN]!r}"
                )
            if column is not None and column[index] != key:
                raise FileFaultError("content", f"beside the id {column[index]} is the record of {key}")
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
