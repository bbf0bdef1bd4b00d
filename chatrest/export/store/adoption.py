"""Opening a store: what journal and disk differ in is repaired, as far as that is safe.

What the journal does not know is adopted where its ids are new; else its new records are written again, and
the file is set aside. Nothing is cut, and nothing is deleted but what the journal knows to be replaced. So a
lost journal is rebuilt from the files, and an older one continues beside newer files.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ...core.replies.rows import Row, row_of
from ...errors import ChatRestError
from ..disk import free_aside, set_aside, sync_folder
from ..file_names import DAMAGED, SPOOL, path_inside
from ..id_set import IdSet
from ..message_ids import PageIds, number
from .converters import format_of
from .export_store import ExportStore, NewRows, block_of
from .formats import NewFile, file_sha256, is_record, readable
from .fragments import Fragment
from .inspection import Finding, FindingKind, path_of
from .journal import StoreBlock, StoreFile
from .segments import FRAGMENT, NEW, SEGMENT, name_of

_ORDER: Final[tuple[FindingKind, ...]] = (
    "unfinished", "missing", "damaged", "unknown", "longer", "leftover",
)  # fmt: skip
"""What is not there is forgotten before anything is adopted; what is unlinked comes last."""
_ENDING: Final = re.compile(
    r"(?:-[0-9]{5,}-[0-9a-f]{8,}|-[0-9]+)?\.(?:ndjson|jsonl|parquet|sqlite)(?:\.gz|\.zst)?\Z"
)


def repair(store: ExportStore) -> Iterator[Finding]:
    """Repair what is safe, and yield it. Killed at any point it is as before, or done."""
    repairs: dict[FindingKind, Callable[[ExportStore, Finding], None]] = {
        "missing": _forget, "damaged": _set_damaged_aside, "unknown": _take_unknown, "longer": _take_end,
        "leftover": _unlink,
    }  # fmt: skip
    findings = store.inspect()
    for kind in _ORDER:
        alike = [finding for finding in findings if finding.kind == kind]
        if not alike:
            continue
        if kind == "unfinished":
            store.settle()
        else:
            for finding in alike:
                repairs[kind](store, finding)
        if kind == "longer":  # when all ends are safe: a partition may have several segments
            for stem in dict.fromkeys(finding.file.stem for finding in alike if finding.file):
                store.seal(stem)
        store.load_ids()
        findings = store.inspect()
        yield from alike
    for file in store.journal.files("sealed"):
        if file.sha256 is None:  # segments were being added to the database
            _add_again(store, file)


def salvage(store: ExportStore) -> int:
    """Write records of files that were set aside, whose ids are missing still; return how many.

    Called when the service was asked for them again: a damaged file may have wrong bytes in a record.
    """
    count = 0
    for path in sorted((store.folder / DAMAGED).rglob("*.damaged-*")):
        name = path.relative_to(store.folder / DAMAGED).as_posix().rpartition(".damaged-")[0]
        if name.startswith(f"{SPOOL}/"):
            name = name_of(Path(name))
        stem = stem_of(store, name)
        if stem is None or not store.kind(stem).has_ids:
            continue
        is_segment = path.name.partition(".damaged-")[0].endswith(SEGMENT)
        for rows in _rows(path, name, is_segment=is_segment):
            missing, others = store.missing(), {key for key, _ in store.journal.others_missing()}
            lost = [row for row in rows if (number(row.id) or 0) in missing or row.id in others]
            count += store.commit([NewRows(stem, 0, lost)])
    return count


def stem_of(store: ExportStore, name: str) -> str | None:
    """Return the partition of a file by its name; None if it is of no kind of the store."""
    stem, count = _ENDING.subn("", name)
    return stem if count and (stem in store.kinds or stem.partition("/")[0] in store.kinds) else None


def adopt_fragments(store: ExportStore) -> int:
    """Take over the fragments that no one has told of, and remove what their makers have left beside them;
    return how many rows are new. For a folder in which no other process writes for this store any more.
    """
    count = 0
    for path in sorted((store.folder / SPOOL).glob("*")):
        if path.name.endswith(FRAGMENT) and (stem := stem_of(store, name := name_of(path))) is not None:
            count += _take_fragment(store, path, name, stem)
        elif path.is_dir() and path.name.endswith(NEW):
            shutil.rmtree(path, ignore_errors=True)
    return count


# ── what the journal knows ──


def _forget(store: ExportStore, finding: Finding) -> None:
    assert finding.file is not None
    with store.journal.transaction():
        store.journal.forget_file(finding.file.number)


def _set_damaged_aside(store: ExportStore, finding: Finding) -> None:
    """Move a damaged file: its ids are missing then. A database or snapshot of another time is adopted."""
    file = finding.file
    assert file is not None
    path = path_of(store.folder, file)
    if store.kind(file.stem).is_snapshot:
        _take_snapshot(store, path, file.name, file.stem)
        return
    if not store.kind(file.stem).format.grows or _held(store, path, file.name, file.stem) is None:
        set_aside(store.disk, store.folder, path)
    _forget(store, finding)


def _take_end(store: ExportStore, finding: Finding) -> None:
    """Write the new records after the committed size of a segment again."""
    file = finding.file
    assert file is not None
    kind, path = store.kind(file.stem), path_of(store.folder, file)
    end = readable(path, kind.format.packing, file.size)
    store.commit([NewRows(file.stem, 0, [*end.rows, *end.later])])
    if not end.is_torn:
        aside = free_aside(store.disk, store.folder, path)
        with NewFile(store.disk, aside) as copy:
            copy.copy(path, path.stat().st_size)
        sync_folder(store.disk, aside.parent)


def _unlink(store: ExportStore, finding: Finding) -> None:
    path = store.folder / finding.name
    if path.is_dir():  # of a worker that was killed: it has sealed nothing in it
        shutil.rmtree(path, ignore_errors=True)
    else:
        store.disk.remove(path)
    if path.parent.exists():
        sync_folder(store.disk, path.parent)
    if finding.file is not None:
        _forget(store, finding)


# ── what it does not know ──


def _take_unknown(store: ExportStore, finding: Finding) -> None:
    path = store.folder / finding.name
    is_in_spool = finding.name.startswith(f"{SPOOL}/")
    name = name_of(path) if is_in_spool else finding.name
    if (stem := stem_of(store, name)) is None:
        return  # it is somebody else's
    if path.name.endswith(FRAGMENT):
        _take_fragment(store, path, name, stem)
    elif is_in_spool:
        _take_segment(store, path, name, stem)
    elif store.kind(stem).is_snapshot:
        _take_snapshot(store, path_inside(store.folder, name), name, stem)
    elif not _adopted(store, path_inside(store.folder, name), name, stem):
        _rescue(store, path, stem, _rows(path, name))


def _take_segment(store: ExportStore, path: Path, name: str, stem: str) -> None:
    known = format_of(name)
    assert known is not None
    content = readable(path, known.packing)
    ids = store.ids_of(stem, content.rows)
    is_once = len(ids.numbers) + len(ids.others) == len(content.rows)
    if content.rows and content.is_torn and is_once and _are_new(store, ids):
        _sync(store, path)
        with store.journal.transaction():
            file = store.journal.add_file(name, stem, "open", content.end)
            store.journal.add_blocks(file.number, [block_of(0, content.rows, ids)])
            store.journal.write_others(file.number, 0, ids.others)
        store.written.update(ids.numbers)
    elif not content.is_torn or content.rows:
        _rescue(store, path, stem, [[*content.rows, *content.later]])
    else:
        store.disk.remove(path)  # not one record was ever complete in it


def _take_snapshot(store: ExportStore, path: Path, name: str, stem: str) -> None:
    """Take a snapshot over as it is, of the time when it was written, if all of it can be read."""
    own_format, status = store.kind(stem).format, path.stat()
    if name != f"{stem}{own_format.suffix}":
        return  # it is somebody else's
    file, rows = store.journal.file(name), None
    with suppress(ChatRestError):
        rows = sum(piece.rows for piece in own_format.read(path, status.st_size))
    if rows is None:
        set_aside(store.disk, store.folder, path)
        if file is not None:
            with store.journal.transaction():
                store.journal.forget_file(file.number)
        return
    _sync(store, path)
    digest = file_sha256(path)
    with store.journal.transaction():
        file = file or store.journal.add_file(name, stem, "sealed")
        store.snapshots.note(file._replace(size=status.st_size, sha256=digest), rows, int(status.st_mtime))


def _take_fragment(store: ExportStore, path: Path, name: str, stem: str) -> int:
    """Adopt a file that no one has told of, and return how many rows are new."""
    held = _held(store, path, name, stem)
    if held is None or not held.is_once:
        return _rescue(store, path, stem, _rows(path, name))
    _sync(store, path)
    others, size = [(0, key) for key in held.ids.others], path.stat().st_size
    return store.adopt([Fragment(name, stem, size, file_sha256(path), held.blocks, others)])


def _add_again(store: ExportStore, database: StoreFile) -> None:
    """Add segments to the database again, and learn its ids: it may be newer than the journal."""
    store.seal(database.stem)
    held = _held(store, path_inside(store.folder, database.name), database.name, database.stem)
    if held is not None and held.ids.numbers != store.journal.ids_in([database]):
        with store.journal.transaction():
            _note(store, database, held)


class _FileContent(NamedTuple):
    """The content of a file."""

    ids: PageIds
    blocks: list[StoreBlock]
    is_once: bool
    """True if no id stands twice in it."""


def _held(store: ExportStore, path: Path, name: str, stem: str) -> _FileContent | None:
    """Return what a file holds; None if it cannot be read. Memory for its ids."""
    known, numbers, others = store.format_of(name, stem), IdSet(), dict[str, Row]()
    if not known.is_sound(path):
        return None
    blocks, is_once = list[StoreBlock](), True
    try:
        for piece in known.read(path, path.stat().st_size):
            rows = list(map(row_of, piece.raws))
            if not all(map(is_record, rows)):
                return None
            ids = store.ids_of(stem, rows)
            is_again = ids.numbers & numbers or ids.others.keys() & others.keys()
            is_once = is_once and not is_again and len(ids.numbers) + len(ids.others) == len(rows)
            blocks.append(block_of(0, rows, ids))
            numbers.update(ids.numbers)
            others.update(dict.fromkeys(ids.others, Row()))
    except ChatRestError:
        return None
    return _FileContent(PageIds(numbers, others), blocks, is_once)


def _adopted(store: ExportStore, path: Path, name: str, stem: str) -> bool:
    """Take a file over as it is, if it can be read and all of its ids are new."""
    held = None if store.journal.file(name) else _held(store, path, name, stem)
    is_once = held is not None and (held.is_once or store.kind(stem).by_content)
    if held is None or not is_once or not _are_new(store, held.ids):
        return False
    _sync(store, path)
    digest, size = file_sha256(path), path.stat().st_size
    with store.journal.transaction():
        file = store.journal.add_file(name, stem, "sealed", size)
        store.journal.keep_file(file := file._replace(sha256=digest))
        _note(store, file, held)
    return True


def _note(store: ExportStore, file: StoreFile, held: _FileContent) -> None:
    store.journal.replace_blocks(file.number, held.blocks)
    store.journal.write_others(file.number, 0, held.ids.others)
    store.written.update(held.ids.numbers)


def _are_new(store: ExportStore, ids: PageIds) -> bool:
    return not ids.numbers & store.written and not store.journal.others_written(ids.others)


def _rescue(store: ExportStore, path: Path, stem: str, batches: Iterable[list[Row]]) -> int:
    """Write the new records of a file again, and set it aside; return how many they are."""
    count = sum(store.commit([NewRows(stem, 0, rows)]) for rows in batches)
    set_aside(store.disk, store.folder, path)
    return count


def _rows(path: Path, name: str, *, is_segment: bool = False) -> Iterator[list[Row]]:
    """Yield the records of a file, as far as they can be read."""
    known = format_of(name)
    if known is None:
        return
    if known.is_lines or is_segment:
        content = readable(path, known.packing)
        yield [*content.rows, *content.later]
        return
    with suppress(ChatRestError):
        for piece in known.read(path, path.stat().st_size):
            yield [row for row in map(row_of, piece.raws) if is_record(row)]


# ── the disk ──


def _sync(store: ExportStore, path: Path) -> None:
    with path.open("rb") as file:
        store.disk.sync(file.fileno())
    sync_folder(store.disk, path.parent)
