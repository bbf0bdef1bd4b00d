"""Opening a store: what journal and disk differ in is repaired, as far as that is safe.

There is one way in for what the journal does not know: it is read, its new rows are committed as a page of no
source, and the file is set aside. So a lost journal is rebuilt from the files, an older one continues beside
newer files, and a kill at any point leaves what can be done again. A table is set aside without being read:
the next run requests its list again. Nothing is cut. What is unlinked was replaced, or is of `spool/`, and
all that it holds is committed by then.

A row of the history is left out if it is still the version of a message that waits to be changed: the change
writes it again. So files of messages are taken before those of the history.
"""

import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from ..._core.replies.rows import Row, row_of
from ...errors import ChatRestError
from ..plan.file_names import DAMAGED, SPOOL
from ..plan.message_ids import key_of
from .disk import free_aside, set_aside, sync_folder
from .export_store import ExportStore, NewRows
from .formats import NewFile, format_of, is_record, readable_records
from .segments import SEGMENT, name_of
from .store_journal import StoreFile
from .stored_files import Difference, FindingKind, path_of

_ORDER: Final[tuple[FindingKind, ...]] = (
    "unfinished", "missing", "damaged", "unknown", "longer", "leftover",
)  # fmt: skip
"""What is not there is forgotten before anything is adopted; what is unlinked comes last."""
_ENDING: Final = re.compile(
    r"(?:-[0-9]{5,}-[0-9a-f]{8,}|-[0-9]+)?\.(?:ndjson|jsonl|parquet)(?:\.gz|\.zst)?\Z"
)


def repair(store: ExportStore, pending: Callable[[], Collection[str]] = tuple) -> Iterator[Difference]:
    """Repair what is safe, and yield it. Killed at any point it is as before, or done.

    `pending` gives the ids of messages on the disk whose changes are noted, and not applied yet.
    """
    findings = store.inspect()
    for kind in _ORDER:
        same_kind = [finding for finding in findings if finding.kind == kind]
        if not same_kind:
            continue
        if kind == "unfinished":
            store.sealer.end_seals()
        elif kind in ("unknown", "longer"):
            pending_ids = frozenset(pending())
            adopt = _adopt_file if kind == "unknown" else _adopt_end
            for finding in sorted(same_kind, key=lambda each: _is_history(store, each)):
                adopt(store, finding, pending_ids)
        else:
            for finding in same_kind:
                _remove_file(store, finding)
        if kind == "longer":  # when all ends are safe: a partition may have several segments
            for stem in dict.fromkeys(finding.file.stem for finding in same_kind if finding.file):
                store.seal(stem)
        store.load_ids()
        findings = store.inspect()
        yield from same_kind


def salvage(store: ExportStore) -> int:
    """Write records of files that were set aside, whose ids are missing still; return how many.

    Called when the service was asked for them again: a damaged file may have wrong bytes in a record.
    """
    count = 0
    for path in sorted((store.folder / DAMAGED).rglob("*.damaged-*")):
        former = path.relative_to(store.folder / DAMAGED).as_posix().rpartition(".damaged-")[0]
        name = name_of(Path(former)) if former.startswith(f"{SPOOL}/") else former
        stem = stem_of(store, name)
        if stem is None or store.files.kind(stem).identity != "id":
            continue
        for rows in _rows(path, name, [], is_lines=former.endswith(SEGMENT)):
            missing, ids = store.missing(), store.journal.ids_by_key(map(key_of, rows))
            rows_of_missing = [row for row in rows if ids.get(key_of(row), 0) in missing]
            count += store.commit([NewRows(stem, 0, rows_of_missing)])
    return count


def stem_of(store: ExportStore, name: str) -> str | None:
    """Return the partition of a file by its name; None if it is of no kind of the store."""
    stem, count = _ENDING.subn("", name)
    return (
        stem if count and (stem in store.files.kinds or stem.partition("/")[0] in store.files.kinds) else None
    )


def _remove_file(store: ExportStore, finding: Difference) -> None:
    """Forget a file that is not there, set a damaged one aside, or unlink what was replaced."""
    path = store.folder / finding.name
    if finding.kind == "damaged" and finding.file is not None:
        set_aside(store.disk, store.folder, path_of(store.folder, finding.file))
    elif finding.kind == "leftover":
        store.disk.remove(path)
        if path.parent.exists():
            sync_folder(store.disk, path.parent)
    if finding.file is not None:
        with store.journal.transaction():
            store.journal.forget_file(finding.file.number)


def _adopt_end(store: ExportStore, finding: Difference, pending_ids: Collection[str]) -> None:
    """Commit the new rows after a segment's committed size; copy it to `damaged` if more is there."""
    file = finding.file
    assert file is not None
    kind, path = store.files.kind(file.stem), path_of(store.folder, file)
    end = readable_records(path, kind.format.packing, file.size)
    _commit(store, file.stem, [*end.rows, *end.later], pending_ids, file)
    if not end.is_torn:
        aside = free_aside(store.disk, store.folder, path)
        with NewFile(store.disk, aside) as copy, path.open("rb") as segment:
            shutil.copyfileobj(segment, copy)
        sync_folder(store.disk, aside.parent)


def _adopt_file(store: ExportStore, finding: Difference, pending_ids: Collection[str]) -> None:
    """Commit the new rows of a file, and set it aside or remove it."""
    path, name = store.folder / finding.name, _name(finding)
    if (stem := stem_of(store, name)) is None:
        return  # a file of another program
    if (kind := store.files.kind(stem)).identity == "none":  # the next run reads it again
        if name == f"{stem}{kind.format.suffix}":
            set_aside(store.disk, store.folder, path)
        return
    faults = list[str]()
    for rows in _rows(path, name, faults, is_lines=path.name.endswith(SEGMENT)):
        _commit(store, stem, rows, pending_ids)
    if finding.name.startswith(f"{SPOOL}/") and not faults:  # each record of it is committed
        store.disk.remove(path)
        sync_folder(store.disk, path.parent)
    else:
        set_aside(store.disk, store.folder, path)


def _commit(
    store: ExportStore,
    stem: str,
    rows: list[Row],
    pending_ids: Collection[str],
    file: StoreFile | None = None,
) -> None:
    """Commit the rows that are new; `file` is the one whose end they are."""
    if store.files.kind(stem).identity == "content":
        stored = store.files.rows_by_id({row.id for row in rows}.intersection(pending_ids))
        rows = [row for row in rows if row.id not in stored or stored[row.id].raw != row.raw]
        rows = list(_new_versions(store, stem, rows, file)) if rows else rows
    if rows:
        store.commit([NewRows(stem, 0, rows)])


def _name(finding: Difference) -> str:
    """Return the name of the file that was found, or that the segment would have become."""
    path = Path(finding.name)
    return name_of(path) if path.parts[0] == SPOOL else finding.name


def _is_history(store: ExportStore, finding: Difference) -> bool:
    stem = stem_of(store, _name(finding))
    return stem is not None and store.files.kind(stem).identity == "content"


def _new_versions(store: ExportStore, stem: str, rows: list[Row], ignored: StoreFile | None) -> Iterator[Row]:
    """Yield versions that the store's other files have less often: one may stand twice in the history."""
    known: Counter[bytes] = Counter()
    for file in store.journal.files_of(stem):
        if file.state in ("open", "sealed") and file != ignored:
            for piece in store.files.records(file):
                known.update(sha256(raw).digest() for raw in piece.raws)
    for row in rows:
        digest = sha256(row.raw).digest()
        if known[digest] > 0:
            known[digest] -= 1
        else:
            yield row


def _rows(path: Path, name: str, faults: list[str], *, is_lines: bool = False) -> Iterator[list[Row]]:
    """Yield the records of a file, as far as they can be read; `faults` says where there is more in it."""
    known = format_of(name)
    if known is None:
        return
    if known.is_lines or is_lines:
        content = readable_records(path, known.packing)
        yield [*content.rows, *content.later]
        is_cut = not is_lines and content.end < path.stat().st_size  # only a segment may end anywhere
        if is_cut or not content.is_torn:
            faults.append("some of its lines are no records")
        return
    try:
        for piece in known.read(path, path.stat().st_size):
            yield [row for row in map(row_of, piece.raws) if is_record(row)]
    except ChatRestError as error:
        faults.append(str(error))
