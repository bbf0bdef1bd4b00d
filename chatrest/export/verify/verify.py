"""Verify an export: read everything in its folder again, without network and credentials.

```
manifest.json ─┐
               ├→ the files there ought to be → each file: size, hash, records, ids, each message once
journal ───────┘                              → where journal and disk differ (`store/inspection.py`)
                                              → files that are no part of the export
                                              → the manifest holds by itself
                                              → all that was seen is there
```

- The manifest has to hold by itself: an export without a journal can be complete.
- The journal must be the manifest's (`opening.mismatch`). It has the ids of each file, and those that each
  source has shown: the proof is that no id that was seen is missing in the files, as they were read here.
- Where a run was killed, the journal is the authority on the files; its segments are some of them.

A problem is a claim of the export that does not hold. A note is information about an export that may be
correct all the same. No remedy may lose a message, whatever the cause is: nothing is deleted or cut.

Memory: the manifest, some thousand records, and bitmaps of the ids.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from os import PathLike
from typing import Final, Literal, TypeAlias, TypeVar, final

from msgspec import Struct

from ...core.paging.intervals import LAST
from ...errors import ChatRestError, RequestInvalidError
from ..dataset.tables import check_tables
from ..file_names import DAMAGED, HISTORY, MESSAGES, SPOOL, STEM
from ..folder_view import FolderView, open_view
from ..id_set import IdSet
from ..journal import NAME as JOURNAL
from ..manifest import NAME as MANIFEST, FileEntry, Manifest, find_undamaged, is_table
from ..message_ids import number
from ..opening import DATA_FILE, FolderState, check_links, read_folder
from ..run_log import NAME as RUNS
from ..store.inspection import DATABASE, FindingKind, findings, path_of
from ..store.journal import StoreFile
from .claims import contradictions, unproven, unread
from .files import ExpectedFile, FileCheck, key_number, place_of, shortened

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the bytes that were checked, and how many there are."""
Kind: TypeAlias = Literal[
    "manifest", "incomplete", "missing", "size", "damaged", "content", "duplicate", "unknown", "coverage",
    "journal", "unsafe",
]  # fmt: skip
_Known: TypeAlias = tuple[StoreFile, FileEntry | None]
T = TypeVar("T")
MOST_PROBLEMS: Final = 1_000
"""Problems that are listed; more are counted, as an export of millions of files may be damaged in all."""


@final
class Problem(Struct, frozen=True):
    """A problem of an export, or a note about it."""

    kind: Kind
    place: str
    """The file, below the export's folder, or the source."""
    text: str
    """A sentence that describes it."""
    remedy: str = ""
    """A way to mend it without losing anything; empty if nothing needs to be done."""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" + (f"; {self.remedy}" if self.remedy else "")


@final
class VerifyResult(Struct, kw_only=True):
    """The result of `verify`."""

    ok: bool = False
    """True if every check held, and the manifest says that the export is complete."""
    problems: list[Problem] = []
    """Up to 1,000 problems."""
    more: int = 0
    """The number of problems beyond those in the list."""
    notes: list[Problem] = []
    """Information that is not a problem."""
    until: int | None = None
    """The message id up to which the export is complete; None if it is not, or where the id is not known.
    """
    messages: int = 0
    """Messages that were read, each counted once."""
    files: int = 0
    """Files that were read: those with messages, and the history."""
    bytes: int = 0
    """The size of these files."""
    hashes: int = 0
    """Checksums that were compared and are equal."""
    first: int | None = None
    """The lowest message id that was read."""
    last: int | None = None
    """The highest message id that was read."""

    @property
    def count(self) -> int:
        return len(self.problems) + self.more

    def add(self, kind: Kind, place: str, text: str, remedy: str = "") -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(kind, place, text, remedy))
        else:
            self.more += 1

    def note(self, kind: Kind, place: str, text: str) -> None:
        self.notes.append(Problem(kind, place, text))


# ── remedies ──

_RUN: Final = "run `chatrest export {folder}` again"
_JOURNAL: Final = (
    f"{_RUN}; where it refuses {JOURNAL}, restore that from a backup, or move it out of the folder, keep it, "
    "and run again: a new one is made from the files"
)
_MANIFEST: Final = f"{_RUN}: it writes a new one from {JOURNAL}"
_LOST: Final = (
    f"keep the folder as it is; restore {JOURNAL} or {MANIFEST} from a backup, or export into another folder"
)
"""For a folder with neither of them: a run refuses to touch it."""
_FILE: Final = (
    "restore {place} from a backup, as what was deleted in the service is in it alone; or move it out of the "
    f"folder, if it is there, and keep it, and {_RUN}: what was in it is read again"
)
_HISTORY: Final = (
    "restore {place} from a backup, as older versions cannot be read again; or move it out of the folder, "
    f"keep what is left, and {_RUN}: later versions go into a new file"
)
_ADOPT: Final = f"{_RUN}: it takes over what is new in it, and sets aside what is not"
_FOREIGN: Final = (
    "do not run an export in this folder: it could overwrite files elsewhere; export into another one"
)
"""For a name or link that leads out of the folder: no export makes one."""
_NOT_OURS: Final = "move it out of the folder, and keep it if you do not know what it is"
_LOG: Final = "close the program that uses the database, and export again; do not remove the file by hand"
_WAIT: Final = "verify again when that is done"

_HARMLESS: Final = "a run that was killed has left it; it is no part of the export, and harmless"
_FINDINGS: Final[dict[FindingKind, tuple[Kind, str]]] = {
    "unfinished": ("incomplete", "it was being made of others: until that ends, readers may see them twice"),
    "leftover": ("duplicate", "it was replaced, and is still there: readers see its messages twice"),
    "longer": ("size", "{detail}: the next run takes over the records in them"),
    "unknown": ("unknown", f"it is no part of this export: {MANIFEST} does not have it"),
}
"""The differences of journal and disk but for those that reading the files shows, as problems."""


def _keys(file: StoreFile, keys: Iterable[str]) -> Iterator[str]:
    """Yield the ids of records as the records alone give them: a version's hash without its run."""
    return (key.rpartition("#")[2] if file.stem == HISTORY else key for key in keys)


def _digest(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b"none"


def verify(out: str | PathLike[str], *, progress: Progress | None = None) -> VerifyResult:
    """Check the export in the folder or object store `out`: every file, checksum and record, and that no
    message is missing or stored twice.

    Reads all files and changes none; needs neither network nor credentials. `progress` is called with the
    number of bytes that were read so far, and of all bytes. Returns a result: `ok` is True if every check
    held and the export is complete, and `problems` says what is wrong, where, and what can safely be done.

    The files of an object store (`s3://bucket/prefix`) are downloaded, a few ahead, and removed when they are
    checked.

    Raises `RequestInvalidError` where the folder is not an export, is one of version 1, or where its format
    needs an extra that is not installed, and `ObjectStoreError` where a store fails.
    """
    with open_view(out) as view, ExitStack() as stack:
        return _Check(view, read_folder(view.folder, stack)).run(progress or (lambda *_: None))


@final
class _Check:
    """The check of one folder."""

    def __init__(self, view: FolderView, state: FolderState) -> None:
        self._result = VerifyResult()
        self._view = view
        self._folder = view.folder
        self._state = state
        self._unread = IdSet()
        """The keys that the journal has for files that could not be read: those are problems already."""
        self._adopted = IdSet()
        """The ids of files that were taken over: no list need have shown them."""

    def _add(self, kind: Kind, place: str, text: str, remedy: str) -> None:
        remedy = remedy.replace("{folder}", self._view.name).replace("{place}", place)
        self._result.add(kind, place, text, remedy)

    def run(self, progress: Progress) -> VerifyResult:
        state, manifest = self._state, self._state.manifest
        self._check_state()
        try:
            check_links(self._folder)
        except RequestInvalidError as error:
            self._add("unsafe", self._folder.name, str(error), _FOREIGN)
        expected = self._expected()
        files = self._check_files(expected, progress)
        self._check_folder([file for file, _ in expected])
        if manifest is not None:
            self._check_manifest(manifest)
            if state.is_finished:
                self._check_proof(manifest, files)
            now = find_undamaged(self._folder)
            if now is None or now.checksum != manifest.checksum:
                text = "an export has begun here since this check began: its problems may be none"
                self._add("incomplete", MANIFEST, text, _WAIT)
        return self._concluded(files)

    def _check_state(self) -> None:
        """Say what can be used of journal and manifest."""
        state, result = self._state, self._result
        if state.is_in_use:
            text = f"an export is being written here, and so it was not read; {_WAIT}"
            result.note("journal", JOURNAL, text)
        elif state.journal_fault:
            self._drop_journal(state.journal_fault)
        elif state.journal is None:
            text = "it is not there: the export may be complete, and the next run makes a new one"
            result.note("journal", JOURNAL, text)
        if state.manifest is None:
            is_known = state.is_in_use or state.journal is not None
            self._add("manifest", MANIFEST, state.manifest_fault, _MANIFEST if is_known else _LOST)
        elif state.manifest.finished is not None and not state.is_finished:
            text = "a run has begun since it was written, and did not end"
            self._add("incomplete", MANIFEST, text, _RUN)

    def _drop_journal(self, fault: object) -> None:
        self._state.journal = None
        self._add("journal", JOURNAL, str(fault), _LOST if self._state.manifest is None else _JOURNAL)

    # ── files ──

    def _check_files(self, expected: list[_Known], progress: Progress) -> FileCheck:
        total, done = sum(max(0, file.size) for file, _ in expected), 0

        def step(more: int) -> None:
            nonlocal done
            done += more
            progress(done, total)

        check = FileCheck(self._folder, step)
        self._view.expect(place_of(file) for file, _ in expected)
        for known in expected:
            file = self._or_without_journal(partial(self._described, *known))
            with self._view.file(file.place):
                faults = list(check.faults(file))
            for kind, text in faults:
                place = MANIFEST if kind == "unsafe" else file.place
                remedy = _FOREIGN if kind == "unsafe" else _HISTORY if file.is_history else _FILE
                self._add(kind, place, text, remedy)
            if file.keys is not None and not file.is_history and check.is_unread:
                self._unread.update(file.keys)
        return check

    def _or_without_journal(self, work: Callable[[], T]) -> T:
        """Return a result that the journal is asked for, or without it where it is damaged."""
        try:
            return work()
        except (ChatRestError, OSError) as error:
            self._drop_journal(error)
            return work()

    def _expected(self) -> list[_Known]:
        """Return the files of a finished run's manifest, or else what the journal has."""
        return self._or_without_journal(lambda: list(self._known()))

    def _known(self) -> Iterator[_Known]:
        state, journal = self._state, self._state.journal
        if journal is not None:
            journal.untold()  # no part of the proof; what is damaged there would end the next run
        if journal is not None and not state.is_finished:
            for file in journal.files("open", "sealing", "sealed"):
                if file.state == "sealing" and not path_of(self._folder, file).exists():
                    file = file._replace(state="sealed", sha256=None)  # it was renamed, and not noted
                if file.size and not is_table(file.stem):  # else it was only being made, or is a table
                    yield file, None
            return
        for entry in [] if state.manifest is None else state.manifest.files:
            known = None if journal is None else journal.file(entry.name)
            is_open = state.is_in_use and entry.name.endswith(DATABASE)
            yield StoreFile(
                0 if known is None else known.number, entry.name, HISTORY if entry.role == HISTORY else STEM,
                "sealed", entry.bytes, None if is_open else _digest(entry.sha256),
            ), entry  # fmt: skip

    def _described(self, file: StoreFile, entry: FileEntry | None) -> ExpectedFile:
        """Return a file with what the journal and its entry in the manifest say of it."""
        journal, sources, keys = self._state.journal, list[str](), None
        messages = 0 if entry is None else entry.messages
        if journal is not None and file.number:
            blocks = journal.blocks(file.number)
            self._adopted.update(IdSet.union(block.ids for block in blocks if not block.source))
            others = IdSet(map(key_number, _keys(file, journal.others_in(file.number))))
            keys = IdSet.union([others, *(block.ids for block in blocks)])
            messages = messages or sum(block.rows for block in blocks)
            sources = [str(each) for each in journal.sources_of(block.source for block in blocks).values()]
        words = f"{messages:,} messages{f' of {shortened(sources)}' if sources else ''} are in it"
        if entry is not None and entry.first_id:
            words += f", ids {entry.first_id} to {entry.last_id}"
        return ExpectedFile(file, messages, words, keys)

    # ── what is beside them ──

    def _check_folder(self, known: list[StoreFile]) -> None:
        """Find where the folder is not as journal or manifest say, and files that are no part."""
        state = self._state
        if state.is_in_use or (state.journal is None and not state.is_finished):
            return  # no one can say what belongs to it
        if state.journal is not None:
            known = [file for file in state.journal.files() if not is_table(file.stem)]
        names = {RUNS, *(file.name for file in known)}
        try:
            differing = list(findings(self._folder, known, (STEM, HISTORY), elsewhere=names))
        except ChatRestError:
            return  # a name leads out of the folder: that was found
        for found in differing:
            if (row := _FINDINGS.get(found.kind)) is None:
                continue  # what reading the files shows
            names.add(found.name)
            kind, text = row[0], row[1].replace("{detail}", found.detail)
            is_leftover = found.kind == "leftover" and found.file is None
            if found.kind == "longer":
                self._result.note(kind, found.name, text)
            elif is_leftover or (found.name.startswith(f"{SPOOL}/") and not state.is_finished):
                self._result.note("unknown", found.name, _HARMLESS)
            else:
                self._add(kind, found.name, text, _ADOPT if kind == "unknown" else _RUN)
        self._check_others(names)

    def _check_others(self, known: set[str]) -> None:
        for path in sorted([*self._folder.iterdir(), *(self._folder / MESSAGES).rglob("*")]):
            name = path.relative_to(self._folder).as_posix()
            if name in known or name.startswith(JOURNAL) or not path.is_file() or not path.stat().st_size:
                continue
            if path.suffix == ".new":
                self._result.note("unknown", name, _HARMLESS)
            elif name.rpartition("-")[0] in known:
                text = "a program that writes to the database is using it, or was killed"
                self._add("unknown", name, text, _LOG)
            elif path.parent != self._folder or DATA_FILE.search(name):
                self._add("unknown", name, _FINDINGS["unknown"][1], _NOT_OURS)
        if count := sum(path.is_file() for path in (self._folder / DAMAGED).rglob("*")):
            text = f"{count:,} files were set aside here: they are no part of the export"
            self._result.note("unknown", DAMAGED, text)
        for name, is_leftover in self._view.unknown():
            text = "the manifest of the store does not have it"
            if is_leftover:
                text += ": a publication is under way, or was killed; the next one removes it"
                self._result.note("unknown", name, text)
            else:
                self._add("unknown", name, text, _NOT_OURS)

    # ── claims ──

    def _check_manifest(self, manifest: Manifest) -> None:
        for reason in manifest.reasons or ([] if manifest.complete else ["it has no reason"]):
            self._add("incomplete", MANIFEST, f"the export is not complete: {reason}", _RUN)
        for kind, place, text in check_tables(self._folder, manifest, self._view.file, self._state.journal):
            self._add(kind, place, text, _RUN)
        if manifest.missing:
            text = (
                f"{len(manifest.missing):,} messages that were seen once are not in the export, and the "
                f"service does not show them any more: {shortened(manifest.missing)}"
            )
            self._result.note("missing", MANIFEST, text)
        if not self._state.is_finished and not manifest.complete:
            return
        for text in contradictions(manifest):
            self._add("manifest", MANIFEST, text, _MANIFEST if self._state.journal else _LOST)
        for source, text in unread(manifest):
            self._add("coverage", source, text, _RUN)

    def _check_proof(self, manifest: Manifest, files: FileCheck) -> None:
        """Compare the ids that were seen with those there."""
        if (journal := self._state.journal) is None:
            return
        try:
            for source, ids in unproven(journal, manifest, files.keys | self._unread, self._adopted):
                if source is None:
                    text = f"no source has shown {shortened(ids)}, which are in the files"
                    self._add("content", JOURNAL, text, _JOURNAL)
                else:
                    text = f"{len(ids):,} messages that it has shown are not in the export: {shortened(ids)}"
                    self._add("coverage", source, text, _RUN)
        except (ChatRestError, OSError) as error:
            self._drop_journal(error)

    def _concluded(self, files: FileCheck) -> VerifyResult:
        result, manifest = self._result, self._state.manifest
        result.files, result.bytes, result.hashes = files.files, files.bytes, files.hashes
        result.messages = len(files.keys)
        result.ok = manifest is not None and manifest.complete and not result.count
        if numbers := files.keys.between(1, LAST):
            result.first, result.last = numbers.first, numbers.last
        if result.ok and manifest is not None:
            result.until = number(manifest.until or "")
        return result
