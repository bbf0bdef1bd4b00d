"""The claims of an export's manifest and journal, and what else is in its folder.

The manifest says that the export is complete, and which files it has. The journal says which ids each list
has shown, and how far it was read: each id is in a file, or known to be gone, and each list of the plan was
read to the end.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ..._texts import plural
from ...errors import ChatRestError
from ..folder.folder_state import FolderState
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.manifest import NAME as MANIFEST, Manifest, is_table
from ..folder.run_log import NAME as RUNS
from ..plan.export_plan import Plan
from ..plan.file_names import DAMAGED, HISTORY, MESSAGES, SPOOL, STEM, is_of_system
from ..plan.id_set import IdSet
from ..plan.message_ids import gaps, number
from ..plan.report import NextRun
from ..read.folder_view import FolderView
from ..store.store_journal import StoreFile
from ..store.stored_files import LOST, Difference, findings as differences
from .result import Finding, Remedy, id_list

_DATA_FILE: Final = re.compile(r"\.(?:ndjson|jsonl|parquet)(?:\.gz|\.zst)?\Z")
_HARMLESS: Final = "a run that was killed has left it; it is no part of the export, and harmless"
_UNKNOWN: Final = "it is no part of this export"


def state_findings(state: FolderState) -> Iterator[Finding]:
    """Yield why the journal or the manifest cannot be used."""
    advice = Remedy.NEW_FOLDER if state.manifest is None and state.journal is None else Remedy.RUN
    if state.journal_fault:
        can_rebuild = state.journal_remedy and state.manifest is not None
        yield Finding("journal", JOURNAL, state.journal_fault, Remedy.REBUILD if can_rebuild else advice)
    elif state.journal is None:
        text = f"it is not there: bytes were compared with {MANIFEST}, and nothing else is proven"
        yield Finding("incomplete", JOURNAL, text, advice)
    if state.manifest is None:
        yield Finding("manifest", MANIFEST, state.manifest_fault, advice)


def manifest_findings(state: FolderState, files: Iterable[StoreFile]) -> Iterator[Finding]:
    """Yield why the manifest does not call the export complete, and whether its files are the journal's."""
    if (manifest := state.manifest) is None:
        return
    if manifest.missing:
        text = (
            f"{plural(len(manifest.missing), 'message')} seen once, not in the export, and no longer "
            f"returned by the service: {id_list(manifest.missing)}"
        )
        yield Finding("missing", MANIFEST, text)
    if not manifest.complete:
        advice = Remedy.RUN
        if manifest.next_run is NextRun.FAILS:  # without a failed source the reason says what can be done
            sources = () if state.journal is None else state.journal.iter_sources()
            has_failed = any(each.state == "failed" and each.asked for each in sources)
            advice = Remedy.CHANGE_PLAN if has_failed else Remedy.NOTHING
        other = "it has no reason" if state.is_finished else "it is being written, or was interrupted"
        for reason in manifest.reasons or [other]:
            yield Finding("incomplete", MANIFEST, f"the export is not complete: {reason}", advice)
    elif not state.is_finished:
        text = "a run has begun since it was written, and did not end"
        yield Finding("incomplete", MANIFEST, text, Remedy.RUN)
    if state.is_finished and state.journal is not None:
        named = {(entry.name, entry.bytes, entry.sha256) for entry in manifest.files}
        sealed = (
            (file.name, file.size, (file.sha256 or b"").hex())
            for file in files
            if file.state == "sealed" and not is_table(file.stem)
        )
        if named != set(sealed):
            yield Finding("manifest", MANIFEST, f"its files are not those of {JOURNAL}", Remedy.RUN)


def coverage_findings(state: FolderState, present_ids: IdSet) -> Iterator[Finding]:
    """Yield the messages that a list has shown, and that are not in `present_ids`, and what was not read.

    While a run has not ended, a message that one list has shown may wait for the one that writes it.
    """
    if (journal := state.journal) is None:
        return
    if state.is_finished and state.manifest is not None:
        for subject, ids in _unwritten(journal, present_ids):
            text = f"{plural(len(ids), 'message')} of its list not in the export: {id_list(ids)}"
            yield Finding("coverage", subject, text, Remedy.RUN)
        for subject, text in _unread(journal, state.manifest):
            yield Finding("coverage", subject, text, Remedy.RUN)
    for name in journal.lost_versions():
        yield Finding("missing", name, f"it {LOST}")
    sources = (each for each in journal.iter_sources() if not each.asked)
    if dropped := [str(each.source) for each in sources if each.source.is_of_plans]:
        text = f"{plural(len(dropped), 'source')} no longer in the plan, not read since: {id_list(dropped)}"
        yield Finding("coverage", MANIFEST, text)


def _unwritten(journal: Journal, present_ids: IdSet) -> Iterator[tuple[str, list[str]]]:
    """Yield each source with the messages that it has shown, and that are not in `present_ids`, each once.

    The proof of an export is that there are no such messages but those that are known to be gone.
    """
    lacking = journal.expected_ids() - present_ids
    missing = (each.id for each in journal.news.deleted() if each.missing)
    lacking.discard(IdSet(journal.ids_by_key(missing).values()))
    for source in journal.iter_sources() if lacking else ():
        if of_source := journal.seen(source.number) & lacking:
            lacking.discard(of_source)
            yield str(source.source), journal.texts(of_source)
    if lacking:
        yield JOURNAL, journal.texts(lacking)


def _unread(journal: Journal, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield each source of the plan that was not read to the end of the export, and what of it is missing."""
    until, known = number(manifest.until or "") or 0, set[str]()
    for each in journal.iter_sources():
        name = str(each.source)
        known.add(name)
        if not each.asked:
            continue
        if each.state == "failed" and manifest.complete:
            yield name, f"it was not read to its end: {each.error}"
        if each.state != "open":
            continue
        spans = journal.intervals(each.number)
        for gap in gaps(spans, max((span.last for span in spans), default=0)):
            yield name, f"ids {gap.after + 1} to {gap.until} were not read"
        if each.proven < until:
            end = f"confirmed up to id {each.proven} only" if each.proven else "never confirmed"
            yield name, f"its end was {end}, and the export ends at id {until}"
    for source in Plan.parse(journal["plan"] or "").sources if manifest.complete else ():
        if str(source) not in known:
            yield str(source), "it is in the plan, and was not read"


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
