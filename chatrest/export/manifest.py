"""The manifest: what an export says of itself, so that anybody can check it.

`manifest.json` is written anew, in one moment, when a run begins and when it ends. It calls an export
complete only where every source was walked to the frozen end, and nothing that two sources share is missing.
A part that grew has a hash a block, in order: blocks lie one after the other from the file's beginning.
"""

import hashlib
from pathlib import Path
from typing import Any, Final, final

import msgspec
from msgspec import Raw, Struct, structs

from ..errors import ChatRestError
from .archive import MANIFEST, Archive
from .disk import Disk, named, sync_folder
from .journal import Block, DataFile, SourceState
from .report import Report

NAME: Final = MANIFEST
_MAKER: Final = "chatrest export"


@final
class PartEntry(Struct, frozen=True, omit_defaults=True):
    """A file."""

    name: str
    role: str
    """`part`: the messages; `history`: older versions of them."""
    bytes: int
    messages: int
    first_id: str | None
    last_id: str | None
    sha256: str
    """Of the file where it has no blocks; else of the blocks' hashes, one after the other, as bytes."""
    blocks: list[tuple[int, int, str]] = []
    """(bytes, messages, SHA-256 of the bytes) of each."""


@final
class TableEntry(Struct, frozen=True):
    """A table beside the messages, such as `users`: a snapshot that each run replaces."""

    table: str
    file: str
    """Its path in the folder, with `/`, such as `users/users.ndjson`."""
    bytes: int
    rows: int
    sha256: str
    """Of the file."""
    read_at: int
    """When it was read from the service, in epoch seconds."""


@final
class SourceEntry(Struct, frozen=True, omit_defaults=True):
    """A source."""

    source: list[str]
    """Its kind and its names."""
    state: str
    messages: int
    """Those that it wrote: what another source of the plan wrote is counted there."""
    covered: list[tuple[str, str]]
    """The intervals of ids that were read, both ends included."""
    error: str | None = None


@final
class Manifest(Struct, kw_only=True):
    """All of it."""

    made_by: str = _MAKER
    version: int = 1
    complete: bool
    reasons: list[str]
    """Why it is not complete."""
    app_id: str
    plan: Raw
    fingerprint: str
    started: int
    """When the newest run began, in epoch seconds."""
    finished: int | None
    until: str | None
    """The newest id when it began: the export holds nothing behind it."""
    messages: int
    vanished: list[str]
    """Ids that are in the export, and that the service does not show any more."""
    lost: list[str]
    """Ids that were in it, in a file that is lost, and that the service does not show any more."""
    sources: list[SourceEntry]
    parts: list[PartEntry]
    tables: list[TableEntry] = []
    """Those that were asked for, each as it was last read as a whole."""
    checksum: str = ""
    """SHA-256 of this file, with an empty text here."""


def read(path: Path) -> Manifest:
    """The manifest; `ChatRestError` where it is none, or damaged, OSError where it is not there."""
    data = path.read_bytes()
    try:
        found = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ChatRestError(f"{path} is damaged: {error}") from None
    if found.made_by != _MAKER or found.version != 1:
        raise ChatRestError(f"{path} is no manifest of an export, or of another version")
    if _encoded(found) != data:
        raise ChatRestError(f"{path} is damaged: its checksum is not that of its content")
    return found


def tables_of(folder: Path) -> list[TableEntry]:
    """Return the tables that the folder's manifest vouches for; none without a manifest that can be read."""
    try:
        return read(folder / NAME).tables
    except (ChatRestError, OSError):
        return []


def write(archive: Archive, report: Report, tables: list[TableEntry] | None = None) -> None:
    """Tells of a run that came to its end; without `tables` the manifest keeps those that it has."""
    reasons = [*report.reasons, *(f"{failure.source}: {failure.error}" for failure in report.failed)]
    manifest = _of(archive, report.started, reasons)
    manifest.complete = report.complete
    manifest.finished = report.finished
    manifest.until = None if report.until is None else str(report.until)
    manifest.sources = list(_sources(archive))
    parts = [part for part in archive.journal.parts() if part.size]
    manifest.parts = [entry_of(part, archive.journal.blocks(part.number)) for part in parts]
    manifest.messages = report.messages
    if tables is not None:
        manifest.tables = tables
    _put(archive, manifest)


def unfinished(archive: Archive, started: int, reason: str) -> None:
    """Says that the export is not whole."""
    _put(archive, _of(archive, started, [reason]))


def _of(archive: Archive, started: int, reasons: list[str]) -> Manifest:
    return Manifest(
        complete=False,
        reasons=reasons,
        app_id=archive.journal["app"] or "",
        plan=Raw(archive.plan.encoded()),
        fingerprint=archive.plan.fingerprint,
        started=started,
        finished=None,
        until=None,
        messages=0,
        vanished=list(map(str, archive.journal.vanished())),
        lost=list(map(str, archive.journal.vanished(lost=True))),
        sources=[],
        parts=[],
        tables=tables_of(archive.folder),
    )


def _sources(archive: Archive) -> Any:
    counts = archive.sink.counts()
    for known in archive.journal.sources():
        yield _source(archive, known, counts.get(known.number, 0))


def _source(archive: Archive, known: SourceState, messages: int) -> SourceEntry:
    spans = archive.journal.spans(known.number)
    covered = [(str(span.first), str(span.last)) for span in spans]
    return SourceEntry([known.source.kind, *known.source.names], known.state, messages, covered, known.error)


def entry_of(part: DataFile, blocks: list[Block]) -> PartEntry:
    """What a manifest says of a file, of the journal's words."""
    ids = [edge for block in blocks for edge in (block.first, block.last) if edge]
    digest, kept = part.digest, list[tuple[int, int, str]]()
    if digest is None:
        digest = hashlib.sha256(b"".join(block.digest for block in blocks)).digest()
        kept = [(block.size, block.rows, block.digest.hex()) for block in blocks]
    return PartEntry(
        name=part.name,
        role=part.role,
        bytes=part.size,
        messages=sum(block.rows for block in blocks),
        first_id=str(min(ids)) if ids else None,
        last_id=str(max(ids)) if ids else None,
        sha256=digest.hex(),
        blocks=kept,
    )


def _encoded(manifest: Manifest) -> bytes:
    bare = _formatted(structs.replace(manifest, checksum=""))
    return _formatted(structs.replace(manifest, checksum=hashlib.sha256(bare).hexdigest()))


def _formatted(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def _put(archive: Archive, manifest: Manifest) -> None:
    put(archive.disk, archive.folder / NAME, _encoded(manifest))


def put(disk: Disk, path: Path, data: bytes) -> None:
    """Writes a small file anew: it is the old one, or the new one, at any instant."""
    new = path.with_name(path.name + ".new")
    with named(new), new.open("wb") as file:
        file.write(data)
        file.flush()
        disk.sync(file.fileno())
    disk.replace(new, path)
    sync_folder(disk, path.parent)
