"""Verify an export: read everything in its folder again, without network and credentials.

```
manifest.json ─┐
               ├→ the files there ought to be → each file: size, hashes, records, ids, each message once
journal ───────┘                              → files that are no part of the export
                                              → the manifest holds by itself, and is what the journal says
                                              → all that was seen is there
```

- The manifest has to hold by itself: an export without a journal can be complete.
- The journal must be the manifest's (`opening.mismatch`). It has the ids of each block, and those that each
  source has shown: the proof is that no id that was seen is missing.
- While a run is under way, or where one was killed, the journal is the authority on the files.

Memory: the manifest, a block of a file, and bitmaps of the ids.
"""

from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from typing import Final, TypeAlias, final

from ...errors import ChatRestError, RequestInvalidError
from ..dataset.snapshot import check_tables
from ..file_names import MESSAGES
from ..folder_view import FolderView, open_view
from ..journal import NAME as JOURNAL
from ..manifest import NAME as MANIFEST, FileEntry, Manifest, file_entries, find_undamaged
from ..message_ids import number
from ..opening import DATA_FILE, FolderState, check_links, read_folder
from ..run_log import NAME as RUNS
from .claims import compare_ids, contradictions, differences, unread
from .file_check import BlockIndex, FileCheck
from .verify_result import DATABASE_LOG, FOREIGN, RESTORE, UNKNOWN_FILE, Remedies, VerifyResult, shortened

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the bytes that were checked, and how many there are."""
_UNREAD: Final = ("missing", "size", "damaged", "content", "unsafe")
"""Kinds of problems for which the ids of a file are not known."""


def verify(out: str | PathLike[str], *, progress: Progress | None = None) -> VerifyResult:
    """Check the export in the folder or object store `out`: every file, checksum and record, and that no
    message is missing or stored twice.

    Reads all files and changes none; needs neither network nor credentials. `progress` is called with the
    number of bytes that were read so far, and of all bytes. Returns a result: `ok` is True where every check
    held and the export is complete, and `problems` says what is wrong, where, and what can safely be done.

    The files of an object store (`s3://bucket/prefix`) are downloaded, a few ahead, and removed when they are
    checked.

    Raises `RequestInvalidError` where the folder is not an export, is one of version 1, or where its format
    needs an extra that is not installed, and `ObjectStoreError` where a store fails.
    """
    with open_view(out) as view, ExitStack() as stack:
        check = _Check(view, read_folder(view.folder, stack))
        check.run(progress or (lambda *_: None))
        return check.result


@final
class _Check:
    """The check of one folder."""

    def __init__(self, view: FolderView, state: FolderState) -> None:
        self.result = VerifyResult()
        self._view = view
        self._folder = view.folder
        self._state = state
        self._remedies = Remedies(view.name, state.is_in_use or state.journal is not None)
        if state.is_in_use:
            text = "an export is being written here, and so it was not read; verify again when that is done"
            self.result.note("journal", JOURNAL, text)
        elif state.journal_fault:
            self._drop_journal(state.journal_fault)
        elif state.journal is None:
            text = "it is not there: the export cannot be continued without it, but may be complete"
            self.result.note("journal", JOURNAL, text)
        if state.manifest is None:
            self.result.add("manifest", MANIFEST, state.manifest_fault, self._remedies.manifest)
        elif state.manifest.finished is not None and not state.is_finished:
            text = "a run has begun since it was written, and did not end"
            self.result.add("incomplete", MANIFEST, text, self._remedies.run)

    def _drop_journal(self, fault: object) -> None:
        self._state.journal = None
        self.result.add("journal", JOURNAL, str(fault), RESTORE)

    # ── checking ──

    def run(self, progress: Progress) -> None:
        """Do all checks."""
        try:
            check_links(self._folder)
        except RequestInvalidError as error:
            self.result.add("unsafe", self._folder.name, str(error), FOREIGN)
        files = self._check_files(progress)
        manifest = self._state.manifest
        if manifest is not None:
            self._check_manifest(manifest, files)
            now = find_undamaged(self._folder)
            if now is None or now.checksum != manifest.checksum:
                text = "an export has begun here since this check began: its problems may be none"
                self.result.add("incomplete", MANIFEST, text, "verify again when that is done")
        self._conclude(files)

    def _check_files(self, progress: Progress) -> FileCheck:
        entries, index = self._expected()
        total, done = sum(max(0, entry.bytes) for entry in entries), 0

        def step(more: int) -> None:
            nonlocal done
            done += more
            progress(done, total)

        check = FileCheck(self._folder, index, self._remedies, self.result, step)
        self._view.expect(entry.name for entry in entries)
        for entry in entries:
            with self._view.file(entry.name):
                check.check(entry, may_be_longer=not self._state.is_finished)
        return check

    def _expected(self) -> tuple[list[FileEntry], BlockIndex | None]:
        """Return the files that there ought to be, and the journal's blocks of them."""
        state = self._state
        entries = [] if state.manifest is None else state.manifest.files
        if state.journal is None:
            return entries, None
        try:
            index, of_journal = BlockIndex(state.journal), list(file_entries(state.journal))
        except (ChatRestError, OSError) as error:
            self._drop_journal(error)
            return entries, None
        return entries if state.is_finished else of_journal, index

    def _check_manifest(self, manifest: Manifest, files: FileCheck) -> None:
        """Check the claims of the manifest, by themselves and against the journal."""
        if manifest.complete and manifest.finished is None:
            self.result.add("manifest", MANIFEST, "it is complete, and was never finished", RESTORE)
        for reason in manifest.reasons or ([] if manifest.complete else ["it has no reason"]):
            text = f"the export is not complete: {reason}"
            self.result.add("incomplete", MANIFEST, text, self._remedies.run)
        for kind, place, text in check_tables(self._folder, manifest, self._view.file, self._state.journal):
            self.result.add(kind, place, text, self._remedies.run)
        if not self._state.is_finished:
            return
        for text in contradictions(manifest):
            self.result.add("manifest", MANIFEST, text, RESTORE)
        for source, text in unread(manifest):
            self.result.add("coverage", source, text, self._remedies.run)
        self._check_unknown(manifest)
        try:
            self._check_journal(manifest, files)
        except (ChatRestError, OSError) as error:
            self._drop_journal(error)

    def _check_unknown(self, manifest: Manifest) -> None:
        """Look for files that look like an export's, and are not in the manifest."""
        known = {RUNS, *(entry.name for entry in manifest.files)}
        for path in sorted([*self._folder.iterdir(), *(self._folder / MESSAGES).rglob("*")]):
            name = path.relative_to(self._folder).as_posix()
            if name in known or name.startswith(JOURNAL) or not path.is_file() or not path.stat().st_size:
                continue
            if path.suffix == ".new":
                text = "a run that was killed has left it; it is no part of the export, and harmless"
                self.result.note("unknown", name, text)
            elif name.rpartition("-")[0] in known:
                text = "a program that writes to the database is using it, or was killed"
                self.result.add("unknown", name, text, DATABASE_LOG)
            elif path.parent != self._folder or DATA_FILE.search(name):
                text = f"it is no part of this export: {MANIFEST} does not have it"
                self.result.add("unknown", name, text, UNKNOWN_FILE)
        for name, is_leftover in self._view.unknown():
            text = "the manifest of the store does not have it"
            if is_leftover:
                text += ": a publication is under way, or was killed; the next one removes it"
                self.result.note("unknown", name, text)
            else:
                self.result.add("unknown", name, text, UNKNOWN_FILE)

    def _check_journal(self, manifest: Manifest, files: FileCheck) -> None:
        """Compare the manifest with what the journal says, and the ids that were seen with those there."""
        if manifest.missing:
            text = (
                f"{len(manifest.missing):,} messages that were seen once are not in the export, and the "
                f"service does not show them any more: {shortened(manifest.missing)}"
            )
            self.result.note("missing", MANIFEST, text)
        journal = self._state.journal
        if journal is None:
            return
        is_sqlite = any(entry.name.endswith(".sqlite") for entry in manifest.files)
        for text in differences(journal, manifest, counts_messages=not is_sqlite):
            self.result.add("journal", JOURNAL, text, RESTORE)
        if is_sqlite and any(problem.kind in _UNREAD for problem in self.result.problems):
            text = "the ids that were seen were not compared: the database could not be read"
            self.result.note("coverage", JOURNAL, text)
            return
        written = files.ids.all if is_sqlite else None
        for source, ids in compare_ids(journal, manifest, written):
            if source is None:
                text = f"no source has shown {shortened(ids)}, which are in the files"
                self.result.add("content", JOURNAL, text, RESTORE)
            else:
                text = f"{len(ids):,} messages that it has shown are not in the export: {shortened(ids)}"
                self.result.add("coverage", source, text, self._remedies.run)

    def _conclude(self, files: FileCheck) -> None:
        result, numbers, manifest = self.result, files.ids.numbers, self._state.manifest
        result.messages = len(files.ids.all)
        result.ok = manifest is not None and manifest.complete and not result.count
        if numbers:
            result.first, result.last = numbers.first, numbers.last
        if result.ok and manifest is not None:
            result.until = number(manifest.until or "")
