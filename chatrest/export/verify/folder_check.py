"""The other files of a folder: what differs from the journal, and what is no part of the export."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ..._texts import plural
from ...errors import ChatRestError
from ..folder.folder_state import FolderState
from ..folder.journal import NAME as JOURNAL
from ..folder.run_log import NAME as RUNS
from ..plan.file_names import DAMAGED, HISTORY, MESSAGES, SPOOL, STEM, is_of_system
from ..read.folder_view import FolderView
from ..store.inspection import Difference, findings as differences
from ..store.store_journal import StoreFile
from .result import Finding, Remedy

_DATA_FILE: Final = re.compile(r"\.(?:ndjson|jsonl|parquet)(?:\.gz|\.zst)?\Z")
_HARMLESS: Final = "a run that was killed has left it; it is no part of the export, and harmless"
_UNKNOWN: Final = "it is no part of this export"


def folder_findings(folder: Path, state: FolderState, noted: Iterable[StoreFile]) -> Iterator[Finding]:
    """Yield what differs between folder and journal; without a journal, the `noted` files are its files."""
    known = list(noted if state.journal is None else state.journal.files())
    names = {RUNS, *(file.name for file in known)}
    try:
        differing = list(differences(folder, known, (STEM, HISTORY), remote_names=names))
    except ChatRestError:
        return  # a name leads out of the folder: the check of the files has shown that
    for difference in differing:
        names.add(difference.name)
        yield from _of_difference(difference, is_finished=state.is_finished)
    for path in sorted([*folder.iterdir(), *(folder / MESSAGES).rglob("*")]):
        name = path.relative_to(folder).as_posix()
        if name in names or name.startswith(JOURNAL) or not path.is_file() or not path.stat().st_size:
            continue
        if path.suffix == ".new":
            yield Finding("unknown", name, _HARMLESS)
        elif is_of_system(name):
            yield Finding("unknown", name, "the system has left it; it is no part of the export")
        elif path.parent != folder or _DATA_FILE.search(name):
            yield Finding("unknown", name, _UNKNOWN, Remedy.MOVE)
    if count := sum(path.is_file() for path in (folder / DAMAGED).rglob("*")):
        yield Finding("unknown", DAMAGED, f"{plural(count, 'file')} set aside here, no part of the export")


def _of_difference(difference: Difference, *, is_finished: bool) -> Iterator[Finding]:
    """Yield a finding, unless the check of the files has shown the difference already."""
    name = difference.name
    is_of_kill = name.startswith(f"{SPOOL}/") and not is_finished
    match difference.kind:
        case "longer":
            yield Finding("size", name, f"{difference.detail}: the next run takes over the records in them")
        case "unfinished":
            text = "it was being made of others: until that ends, readers may see them twice"
            yield Finding("incomplete", name, text, Remedy.RUN)
        case "leftover" if difference.file is not None and not is_of_kill:
            text = "it was replaced, and is still there: readers see its messages twice"
            yield Finding("duplicate", name, text, Remedy.RUN)
        case "unknown" if not is_of_kill:
            text = f"{_UNKNOWN}: a run takes over what is new in it, and sets aside what is not"
            yield Finding("unknown", name, text, Remedy.RUN)
        case "leftover" | "unknown":
            yield Finding("unknown", name, _HARMLESS)


def store_findings(view: FolderView) -> Iterator[Finding]:
    """Yield the objects of a store that are no part of the export."""
    for name, is_leftover in view.unknown():
        text = "the manifest of the store does not have it"
        if is_leftover:
            text += ": a publication is under way, or was killed; the next one removes it"
        yield Finding("unknown", name, text, None if is_leftover else Remedy.MOVE)
