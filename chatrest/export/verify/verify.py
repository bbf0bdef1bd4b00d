"""Verify an export: read everything in its folder again, without network and credentials.

One loop over the journal, which is the authority: each file has the bytes that were written, each line is a
record, and its ids are the journal's; each message is there once; each id that a list has shown is in a file,
or known to be gone; each list of the plan was read to the end. Without its journal an export is only hashed.

A problem is a claim of the export that does not hold; a note is information about one that may be correct.
Memory: the manifest, some thousand records, and bitmaps of the ids.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeAlias

from ..._cloud.store_errors import ObjectStoreError
from ..._storage import InUseError, UnreadableError
from ..._texts import plural
from ...errors import ChatRestError, RequestInvalidError
from ..fetch.app_list import runs_by_app_list
from ..folder.folder_access import check_links, data_file_path
from ..folder.folder_state import FolderState, journal_fault, read_folder
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.manifest import NAME as MANIFEST, Manifest, find_undamaged, is_table
from ..folder.run_log import NAME as RUNS
from ..folder.tables import ATTACHMENTS, attachment_rows, check_attachment, table_stem
from ..plan.file_names import DAMAGED, HISTORY, MESSAGES, SPOOL, STEM, is_of_system
from ..plan.id_set import IdSet
from ..plan.message_ids import gaps, number, plain_numbers
from ..plan.plan import Plan
from ..plan.report import NextRun
from ..read.exports import run_folder
from ..read.folder_view import FolderView, noted_files
from ..store.inspection import LOST, Difference, actual_path, findings
from ..store.journal import StoreFile
from ..store.segments import segment_path
from .files import FileFaultError, check_bytes, keys_in
from .result import Kind, Problem, Remedy, VerifyResult, id_list

_DATA_FILE: Final = re.compile(r"\.(?:ndjson|jsonl|parquet)(?:\.gz|\.zst)?\Z")
OnStep: TypeAlias = Callable[[int, int], object]
"""Called with the bytes that were checked, and how many there are."""
_AT_STORE: Final = ("missing", "size", "damaged", "journal", "manifest")
"""The problems of files that are mended in another way in an object store."""
_FOR_ATTACHMENTS: Final = {
    "missing": Remedy.RUN, "damaged": Remedy.FETCH, "unsafe": Remedy.KEEP_OUT,
}  # fmt: skip
_HARMLESS: Final = "a run that was killed has left it; it is no part of the export, and harmless"
_UNKNOWN: Final = "it is no part of this export"


def verify_export(view: FolderView, on_step: OnStep) -> tuple[VerifyResult, IdSet, list[str]]:
    """Check one export; return the result, and the ids of all messages that were read: numbers, and texts.

    Raises `InUseError` while a run writes, as it merges the files.
    """
    with ExitStack() as stack:
        state = read_folder(view.folder, stack)
        before = state.manifest
        if not state.is_in_use:
            try:
                verified = _Check(view, state, on_step).run()
            except PermissionError:
                raise
            except (UnreadableError, OSError) as error:
                if state.journal is None:
                    raise
                state.journal = None
                state.journal_fault, state.journal_remedy = journal_fault(view.folder, error)
                verified = _Check(view, state, on_step).run()
            now = find_undamaged(view.folder)
            if not verified[0].problems or (now and now.checksum) == (before and before.checksum):
                return verified
    raise InUseError(f"{view.folder}: an export is running here; verify it again after its end")


class _Check:
    def __init__(self, view: FolderView, state: FolderState, on_step: OnStep) -> None:
        self._result = VerifyResult()
        self._view = view
        self._folder = view.folder
        self._state = state
        self._on_step = on_step
        self._done = self._total = 0
        self._read = IdSet()
        """The ids of all messages that were read."""
        self._unread = IdSet()
        """The ids that the journal has for files that cannot be read: these are problems already."""

    def run(self) -> tuple[VerifyResult, IdSet, list[str]]:
        """Check everything, and return what was found."""
        journal, manifest = self._state.journal, self._state.manifest
        self._check_state()
        try:
            check_links(self._folder)
        except RequestInvalidError as error:
            self._add("unsafe", self._folder.name, str(error), Remedy.KEEP_OUT)
        if journal is not None:
            journal.pending_news()  # no part of the proof; damage there would end the next run
        files = list(noted_files(self._folder, self._state))
        self._check_files(files)
        if journal is not None or self._state.is_finished:
            self._check_folder(files)
        for name, is_leftover in self._view.unknown():
            text = "the manifest of the store does not have it"
            if is_leftover:
                text += ": a publication is under way, or was killed; the next one removes it"
                self._result.note("unknown", name, text)
            else:
                self._add("unknown", name, text, Remedy.MOVE)
        if manifest is not None:
            self._check_manifest(manifest, files)
        if journal is not None:
            self._check_proof(journal)
        keys = [] if journal is None else list(journal.keys_of(self._read).values())
        return self._concluded(), self._read.numbers, keys

    def _add(self, kind: Kind, subject: str, text: str, advice: Remedy) -> None:
        words = self._view.remedy(subject) if kind in _AT_STORE or subject == JOURNAL else ""
        words = words or advice.words(run_folder(self._view), subject, self._view.export)
        self._result.add(Problem(kind, subject, text, words, advice))

    def _check_state(self) -> None:
        state = self._state
        if state.journal_fault:
            advice = Remedy.REBUILD if state.journal_remedy else Remedy.RUN
            advice = Remedy.NEW_FOLDER if state.manifest is None else advice
            self._add("journal", JOURNAL, state.journal_fault, advice)
        elif state.journal is None:
            text = f"it is not there: bytes were compared with {MANIFEST}, and nothing else is proven"
            advice = Remedy.NEW_FOLDER if state.manifest is None else Remedy.RUN
            self._add("incomplete", JOURNAL, text, advice)
        if state.manifest is None:
            advice = Remedy.NEW_FOLDER if state.journal is None else Remedy.RUN
            self._add("manifest", MANIFEST, state.manifest_fault, advice)

    # ── files ──

    def _check_files(self, files: list[StoreFile]) -> None:
        self._total = sum(max(0, file.size) for file in files)
        self._view.expect(map(_place, files))
        for file in files:
            with self._view.file(_place(file)):
                try:
                    data_file_path(self._folder, file.name)
                except ChatRestError as error:
                    self._add("unsafe", MANIFEST, str(error), Remedy.KEEP_OUT)
                else:
                    self._check_file(file)

    def _check_file(self, file: StoreFile) -> None:
        try:
            path = actual_path(self._folder, file)
            check_bytes(path, file, self._step)
            self._result.files += 1
            self._result.bytes += path.stat().st_size
            self._result.hashes += file.sha256 is not None
            if file.stem == table_stem(ATTACHMENTS):
                self._check_attachments(path)
            if self._state.journal is not None:
                self._check_records(path, file, self._state.journal)
            return
        except (RequestInvalidError, ObjectStoreError, UnreadableError):
            raise
        except FileFaultError as error:
            fault = error
        except (ChatRestError, ValueError) as error:
            fault = FileFaultError("content", f"it cannot be read ({error})")
        except PermissionError:
            raise
        except FileNotFoundError:
            fault = FileFaultError("missing", "it is not there")
        except OSError as error:
            fault = FileFaultError("damaged", f"it cannot be read ({error.strerror or error})")
        self._add(fault.kind, _place(file), f"{fault}{self._contents(file)}", _advice(file, fault.kind))
        if self._has_ids(file) and self._state.journal is not None:
            self._unread.update(self._state.journal.ids_in([file]))

    def _step(self, more: int) -> None:
        self._done += more
        self._on_step(self._done, self._total)

    def _check_records(self, path: Path, file: StoreFile, journal: Journal) -> None:
        """Check that each line is a record, and compare the ids of messages with the journal's."""
        ids_in_file, repeated, unknown = IdSet(), IdSet(), list[str]()
        for keys in keys_in(path, file):
            if not self._has_ids(file):
                continue
            if (numbers := plain_numbers(keys)) is None:
                known = journal.ids_by_key(keys)
                unknown += (key for key in keys if key not in known)
                numbers = [known[key] for key in keys if key in known]
            new = IdSet(numbers)
            repeated.update((new & ids_in_file) | (new & self._read))
            if len(new) < len(numbers):
                repeated.update(IdSet(each for each, count in Counter(numbers).items() if count > 1))
            ids_in_file.update(new)
        if not self._has_ids(file):
            return
        if repeated:
            text = f"messages that are stored twice: {id_list(journal.texts(repeated))}"
            self._add("duplicate", _place(file), text, Remedy.REBUILD)
        noted = IdSet.union(block.ids for block in journal.iter_blocks(file.number))
        only_in_file = [*journal.texts(ids_in_file - noted), *unknown]
        for ids, holder in ((journal.texts(noted - ids_in_file), "journal"), (only_in_file, "file")):
            if ids:
                text = f"the ids of journal and file differ: {id_list(ids)} only in the {holder}"
                self._add("content", _place(file), text, Remedy.REBUILD)
        self._read.update(ids_in_file)

    def _has_ids(self, file: StoreFile) -> bool:
        return file.stem != HISTORY and not is_table(file.stem)

    def _contents(self, file: StoreFile) -> str:
        """Return in words what a file that cannot be read has: the number of messages, sources, and ids."""
        if (journal := self._state.journal) is None or is_table(file.stem):
            return ""
        blocks = journal.blocks(file.number)
        ids = IdSet.union(block.ids for block in blocks).numbers
        sources = [str(each) for each in journal.sources_of(block.source for block in blocks).values()]
        owners = f" of {id_list(sources)}" if sources else ""
        text = f": {plural(sum(block.rows for block in blocks), 'message')}{owners}"
        return f"{text}, ids {ids.first} to {ids.last}" if ids else text

    def _check_attachments(self, table: Path) -> None:
        for row in attachment_rows(table):
            name = f"{ATTACHMENTS}/{row.file}"
            with self._view.file(name):
                if fault := check_attachment(self._folder, row):
                    self._add(fault, name, "it is not there as its row says", _FOR_ATTACHMENTS[fault])

    # ── other files ──

    def _check_folder(self, known: Iterable[StoreFile]) -> None:
        """Find differences of folder and journal, and files that are no part of the export."""
        if self._state.journal is not None:
            known = self._state.journal.files()
        known = list(known)
        names = {RUNS, *(file.name for file in known)}
        try:
            differing = list(findings(self._folder, known, (STEM, HISTORY), remote_names=names))
        except ChatRestError:
            return  # a name leads out of the folder: that was found
        for difference in differing:
            names.add(difference.name)
            self._add_difference(difference)
        for path in sorted([*self._folder.iterdir(), *(self._folder / MESSAGES).rglob("*")]):
            name = path.relative_to(self._folder).as_posix()
            if name in names or name.startswith(JOURNAL) or not path.is_file() or not path.stat().st_size:
                continue
            if path.suffix == ".new":
                self._result.note("unknown", name, _HARMLESS)
            elif is_of_system(name):
                self._result.note("unknown", name, "the system has left it; it is no part of the export")
            elif path.parent != self._folder or _DATA_FILE.search(name):
                self._add("unknown", name, _UNKNOWN, Remedy.MOVE)
        if count := sum(path.is_file() for path in (self._folder / DAMAGED).rglob("*")):
            text = f"{plural(count, 'file')} set aside here, no part of the export"
            self._result.note("unknown", DAMAGED, text)

    def _add_difference(self, difference: Difference) -> None:
        """Add a difference of journal and disk, but for those that reading the files has shown already."""
        name = difference.name
        is_of_kill = name.startswith(f"{SPOOL}/") and not self._state.is_finished
        match difference.kind:
            case "longer":
                text = f"{difference.detail}: the next run takes over the records in them"
                self._result.note("size", name, text)
            case "unfinished":
                text = "it was being made of others: until that ends, readers may see them twice"
                self._add("incomplete", name, text, Remedy.RUN)
            case "leftover" if difference.file is not None and not is_of_kill:
                text = "it was replaced, and is still there: readers see its messages twice"
                self._add("duplicate", name, text, Remedy.RUN)
            case "unknown" if not is_of_kill:
                text = f"{_UNKNOWN}: a run takes over what is new in it, and sets aside what is not"
                self._add("unknown", name, text, Remedy.RUN)
            case "leftover" | "unknown":
                self._result.note("unknown", name, _HARMLESS)

    # ── claims ──

    def _check_manifest(self, manifest: Manifest, files: list[StoreFile]) -> None:
        state = self._state
        if manifest.missing:
            text = (
                f"{plural(len(manifest.missing), 'message')} seen once, not in the export, and no longer "
                f"returned by the service: {id_list(manifest.missing)}"
            )
            self._result.note("missing", MANIFEST, text)
        if not manifest.complete:
            advice = Remedy.RUN
            if manifest.next_run is NextRun.FAILS:  # without a failed source the reason says what can be done
                sources = () if state.journal is None else state.journal.iter_sources()
                has_failed = any(each.state == "failed" and each.asked for each in sources)
                advice = Remedy.CHANGE_PLAN if has_failed else Remedy.NOTHING
            for reason in manifest.reasons or ["it has no reason"]:
                self._add("incomplete", MANIFEST, f"the export is not complete: {reason}", advice)
        elif not state.is_finished:
            text = "a run has begun since it was written, and did not end"
            self._add("incomplete", MANIFEST, text, Remedy.RUN)
        if state.is_finished and state.journal is not None:
            named = {(entry.name, entry.bytes, entry.sha256) for entry in manifest.files}
            sealed = (
                (file.name, file.size, (file.sha256 or b"").hex())
                for file in files
                if file.state == "sealed" and not is_table(file.stem)
            )
            if named != set(sealed):
                self._add("manifest", MANIFEST, f"its files are not those of {JOURNAL}", Remedy.RUN)

    def _check_proof(self, journal: Journal) -> None:
        """Compare the ids that lists have shown with those there, and how far each list was read.

        While a run has not ended, a message that one list has shown may wait for the one that writes it.
        """
        if self._state.is_finished and self._state.manifest is not None:
            for subject, ids in _unwritten(journal, self._read | self._unread):
                text = f"{plural(len(ids), 'message')} of its list not in the export: {id_list(ids)}"
                self._add("coverage", subject, text, Remedy.RUN)
            for subject, text in _unread(journal, self._state.manifest):
                self._add("coverage", subject, text, Remedy.RUN)
        for name in journal.lost_versions():
            self._result.note("missing", name, f"it {LOST}")
        sources = (each for each in journal.iter_sources() if not each.asked)
        if dropped := [str(each.source) for each in sources if each.source.is_of_plans]:
            text = (
                f"{plural(len(dropped), 'source')} no longer in the plan, not read since: {id_list(dropped)}"
            )
            self._result.note("coverage", MANIFEST, text)

    def _concluded(self) -> VerifyResult:
        result, manifest = self._result, self._state.manifest
        result.messages = len(self._read)
        if self._state.journal is None and manifest is not None:
            damaged = {problem.subject for problem in result.problems}
            parts = (each for each in manifest.files if each.role != HISTORY and each.name not in damaged)
            result.messages = sum(each.messages for each in parts)
        if numbers := self._read.numbers:
            result.first, result.last = numbers.first, numbers.last
        result.ok = manifest is not None and manifest.complete and not result.count
        if manifest is not None:
            result.until = number(manifest.until or "")
            result.plan = Plan.parse(bytes(manifest.plan)).full_words
        if result.ok and (journal := self._state.journal) is not None:
            result.by_app_list = runs_by_app_list(journal) > 0
        return result


def _place(file: StoreFile) -> str:
    return file.name if file.state == "sealed" else segment_path(Path(), file.name).as_posix()


def _advice(file: StoreFile, kind: Kind) -> Remedy:
    if file.stem == HISTORY:
        return Remedy.RESTORE
    if is_table(file.stem):
        return Remedy.RUN
    if kind == "size" and file.state != "sealing":
        return Remedy.RUN_SETS_ASIDE
    return Remedy.READ_AGAIN if kind == "missing" else Remedy.SET_ASIDE


def _unwritten(journal: Journal, present: IdSet) -> Iterator[tuple[str, list[str]]]:
    """Yield (source, ids) of messages that a list has shown, and that are not in `present`, each once.

    The proof of an export is that there are no such messages but those that are known to be gone.
    """
    lacking = journal.seen() - present
    lacking.discard(IdSet(journal.ids_by_key(each.id for each in journal.deleted() if each.missing).values()))
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
        if manifest.complete and each.state == "failed" and each.asked:
            yield name, f"it was not read to its end: {each.error}"
        if each.state != "open" or not each.asked:
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
