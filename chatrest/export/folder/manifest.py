"""The manifest: the export's own description of itself, so that anybody can check it.

`manifest.json` is replaced atomically when a run begins to change the export, and when it ends. It calls an
export complete only where every source was read to the frozen end and no message that was seen is missing.

It names files, and says what is complete; what is known of each source is the journal's.

- `generation` is also in the journal's meta: a journal of another time or another export has another one.
- `journal_facts` is a hash of all rows of the journal: an edited row, or a flipped bit in one, is found.
- The manifest of a run under way, or of one that was killed, has `finished: null` and keeps the entries of
  the last finished one: these files stay vouched for.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw, Struct, structs

from ...errors import ChatRestError, RequestInvalidError
from ..plan.export_plan import Plan
from ..plan.file_names import HISTORY, STEM
from ..plan.message_ids import LAST
from ..plan.report import NextRun, Report
from ..store.disk import Disk, error_path, sync_folder
from .journal import GENERATION, Journal

NAME: Final = "manifest.json"
VERSION: Final = 1
_MAKER: Final = "chatrest export"
_CHECKSUM: Final = re.compile(rb'"checksum": "([0-9a-f]{64})"\n}\n\Z')
_NO_CHECKSUM: Final = b'"checksum": ""\n}\n'


class FileEntry(Struct, frozen=True, omit_defaults=True):
    name: str
    role: str
    """`part`: messages; `history`: older versions of messages."""
    bytes: int
    messages: int
    first_id: str | None
    last_id: str | None
    sha256: str


class TableEntry(Struct, frozen=True):
    """A table beside the messages, such as `users`: a snapshot that each run replaces."""

    table: str
    file: str
    bytes: int
    rows: int
    sha256: str
    read_at: int


class Manifest(Struct, kw_only=True):
    made_by: str = _MAKER
    version: int = VERSION
    generation: str
    journal_facts: str = ""
    """SHA-256 of the journal's rows when the run ended; empty while a run is under way."""
    complete: bool = False
    reasons: list[str] = []
    """The reasons why it is not complete."""
    next_run: NextRun = NextRun.CONTINUES
    app_id: str
    plan: Raw
    started: int
    finished: int | None = None
    """The end of the newest run; None while it is under way, or where it was killed."""
    until: str | None = None
    """The newest id when the run began: the export has no later ones."""
    messages: int = 0
    deleted: list[str] = []
    """Ids that are in the export, and that the service does not show any more."""
    missing: list[str] = []
    """Ids that a source has shown, that are not in the export, and that the service does not show now."""
    files: list[FileEntry] = []
    tables: list[TableEntry] = []
    checksum: str = ""


class _Header(Struct):
    made_by: str = ""
    version: int = 0


def read(path: Path) -> Manifest:
    """Return the manifest at `path`.

    Raises `ChatRestError` where it is damaged or no manifest, `RequestInvalidError` where it is of another
    version, OSError where it cannot be read.
    """
    return parse(path.read_bytes(), path)


def parse(data: bytes, path: Path) -> Manifest:
    """Return the manifest with the content `data`; `path` is for the errors, which are those of `read`."""
    checksum = _CHECKSUM.search(data)
    try:
        header = msgspec.json.decode(data, type=_Header)
        if header.made_by != _MAKER:
            raise ChatRestError(f"{path} is not a manifest of an export")
        blank = data[: checksum.start()] + _NO_CHECKSUM if checksum is not None else b""
        if checksum is None or hashlib.sha256(blank).hexdigest().encode() != checksum[1]:
            raise ChatRestError(f"{path} is damaged: its checksum does not match its content")
        if header.version != VERSION:
            raise RequestInvalidError(
                f"{path} is of version {header.version}: this library reads version {VERSION}"
            )
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ChatRestError(f"{path} is damaged: {error}") from None


def find(folder: Path) -> Manifest | None:
    """Return the manifest of `folder`, or None if there is none; raises what `read` raises."""
    try:
        return read(folder / NAME)
    except FileNotFoundError:
        return None


def find_undamaged(folder: Path) -> Manifest | None:
    """Return the manifest of `folder`; None also if it is damaged, and so vouches for nothing.

    Raises `RequestInvalidError` where it is of another version.
    """
    try:
        return find(folder)
    except RequestInvalidError:
        raise
    except ChatRestError:
        return None


def file_entries(journal: Journal) -> Iterator[FileEntry]:
    files = {file.number: file for file in journal.files("sealed") if not is_table(file.stem)}
    for number, blocks in journal.blocks_by_file():
        if (file := files.get(number)) is None:
            continue
        messages, first, last = 0, LAST, 0
        for block in blocks:  # one for each of perhaps a million sources
            messages += block.rows
            if numbers := block.ids.numbers:
                first, last = min(first, numbers.first), max(last, numbers.last)
        yield FileEntry(
            name=file.name,
            role="history" if file.stem == HISTORY else "part",
            bytes=file.size,
            messages=messages,
            first_id=str(first) if last else None,
            last_id=str(last) if last else None,
            sha256="" if file.sha256 is None else file.sha256.hex(),
        )


def table_entries(journal: Journal) -> Iterator[TableEntry]:
    for file in journal.files("sealed"):
        if is_table(file.stem):
            blocks = journal.blocks(file.number)
            yield TableEntry(
                table=file.stem.partition("/")[0],
                file=file.name,
                bytes=file.size,
                rows=sum(block.rows for block in blocks),
                sha256="" if file.sha256 is None else file.sha256.hex(),
                read_at=max((block.until for block in blocks), default=0),
            )


def is_table(stem: str) -> bool:
    return stem.partition("/")[0] not in (STEM, HISTORY)


def write_finished(folder: Path, disk: Disk, journal: Journal, plan: Plan, report: Report) -> None:
    """Write the manifest of a run that came to its end. Nothing may change the journal after that."""
    deleted = journal.news.deleted()
    manifest = structs.replace(
        _begun(journal, plan, report.started),
        reasons=report.all_reasons,
        next_run=report.next_run,
        complete=report.complete,
        finished=report.finished,
        until=None if report.until is None else str(report.until),
        messages=report.messages,
        deleted=[each.id for each in deleted if not each.missing],
        missing=[each.id for each in deleted if each.missing],
        journal_facts=journal.rows_sha256(),
        files=list(file_entries(journal)),
    )
    put(disk, folder / NAME, encode(manifest))


def write_unfinished(
    folder: Path, disk: Disk, journal: Journal, plan: Plan, started: int, *reasons: str
) -> None:
    """Write that a run has begun and not ended, or has failed for `reasons`; the last entries are kept."""
    manifest = _begun(journal, plan, started)
    manifest.reasons = [*reasons]
    if (last := find_undamaged(folder)) is not None:
        for name in ("until", "messages", "deleted", "missing", "files"):
            setattr(manifest, name, getattr(last, name))
    put(disk, folder / NAME, encode(manifest))


def _begun(journal: Journal, plan: Plan, started: int) -> Manifest:
    return Manifest(
        generation=journal[GENERATION] or "",
        app_id=journal["app"] or "",
        plan=Raw(plan.encoded()),
        started=started,
        tables=list(table_entries(journal)),
    )


def encode(manifest: Manifest) -> bytes:
    data = msgspec.json.encode(structs.replace(manifest, checksum=""))
    blank = msgspec.json.format(data, indent=1) + b"\n"
    checksum = hashlib.sha256(blank).hexdigest().encode()
    return blank.removesuffix(_NO_CHECKSUM) + b'"checksum": "%b"\n}\n' % checksum


def put(disk: Disk, path: Path, data: bytes) -> None:
    """Replace a file: it is the old one or the new one."""
    new = path.with_name(path.name + ".new")
    with error_path(new), new.open("wb") as file:
        file.write(data)
        file.flush()
        disk.sync(file.fileno())
    disk.replace(new, path)
    sync_folder(disk, path.parent)
