"""Verify an export: read everything in its folder again, without network and credentials.

```
manifest.json ─┐
               ├→ the files there ought to be → each file: size, hashes, records, ids, each message once
journal ───────┘                              → files that are no part of the export
                                              → manifest and journal agree, and all that was seen is there
```

- The manifest has to hold by itself: an export without a journal can be complete.
- The journal must belong to it (`generation`), have the rows that it has the hash of (`journal_facts`), and
  agree with it. It has the ids of each block, and those that each source has shown: the proof is that no id
  that was seen is missing.
- While a run is under way, or where one was killed, the journal is the authority on the files.

Memory: the manifest, a block of a file, and bitmaps of the ids.
"""

from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TypeAlias, final

from ...errors import ChatRestError, RequestInvalidError
from ..dataset.table_check import check_tables
from ..file_names import MESSAGES
from ..folder_view import FolderView, open_view
from ..journal.reader import JournalReader
from ..journal.schema import NAME as JOURNAL, InUseError, UnreadableError
from ..manifest import NAME as MANIFEST, FileEntry, Manifest, file_entries, parse
from ..message_ids import number
from ..opening import DATA_FILE, check_links, relation_of
from ..run_log import NAME as RUNS
from .file_check import FileCheck
from .journal_check import JournalCheck
from .manifest_check import contradictions
from .read_ids import ReadIds
from .remedies import BlockIndex, Remedies
from .verify_result import Problem, VerifyResult

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the bytes that were checked, and how many there are."""


def verify(out: str | PathLike[str], *, progress: Progress | None = None) -> VerifyResult:
    """Check the export in the folder or object store `out`: every file, checksum and record, and that no
    message is missing or stored twice.

    Reads all files and changes none; needs neither network nor credentials. `progress` is called with the
    number of bytes that were read so far, and of all bytes. Returns a result: `ok` is True where every check
    held and the export is complete, and `problems` says what is wrong, where, and what can safely be done.

    The files of an object store (`s3://bucket/prefix`) are downloaded one after the other, and removed when
    they are checked.

    Raises `RequestInvalidError` where the folder is not an export, is one of version 1, or where its format
    needs an extra that is not installed, and `ObjectStoreError` where a store fails.
    """
    with open_view(out) as view:
        return _verify(view, progress or (lambda *_: None))


def _verify(view: FolderView, progress: Progress) -> VerifyResult:
    folder = view.folder
    if not any((folder / name).is_file() for name in (MANIFEST, JOURNAL)):
        raise RequestInvalidError(
            f"folder '{folder}' is not an export: it has no {MANIFEST} and no {JOURNAL}"
        )
    with ExitStack() as stack:
        check = _Check(view)
        check.open(stack)
        check.run(progress)
        return check.result


@final
class _Check:
    """The check of one folder."""

    def __init__(self, view: FolderView) -> None:
        self.result = VerifyResult()
        self._view = view
        self._ids = ReadIds()
        self._content: bytes | None = None
        self._manifest: Manifest | None = None
        self._journal: JournalReader | None = None
        self._is_finished = False
        """The manifest is that of a finished run, and no run has changed anything since."""
        self._remedies = Remedies(view.name, can_continue=False)

    @property
    def _folder(self) -> Path:
        return self._view.folder

    # ── opening ──

    def open(self, stack: ExitStack) -> None:
        """Read the manifest, and open the journal, as far as that can be done."""
        fault = self._read_manifest()
        can_continue = False
        try:
            self._journal = self._open_journal(stack)
            can_continue = self._journal is not None and self._belongs(self._journal)
        except InUseError:
            can_continue = True
            text = "an export is being written here, and so it was not read; verify again when that is done"
            self.result.note(Problem("journal", JOURNAL, text))
        except (UnreadableError, OSError) as error:
            self._drop_journal(error)
        self._remedies = Remedies(self._view.name, can_continue=can_continue)
        if fault:
            self.result.add(Problem("manifest", MANIFEST, fault, self._remedies.manifest))

    def _read_manifest(self) -> str:
        """Read the manifest; returns its fault, an empty text where there is none."""
        path = self._folder / MANIFEST
        try:
            self._content = path.read_bytes()
            self._manifest = parse(self._content, path)
        except FileNotFoundError:
            return "it is not there"
        except RequestInvalidError:  # of another version
            raise
        except OSError as error:
            return f"it cannot be read ({error.strerror or error})"
        except ChatRestError as error:
            return f"it {str(error).removeprefix(f'{path} ')}"
        self._is_finished = self._manifest.finished is not None
        return ""

    def _open_journal(self, stack: ExitStack) -> JournalReader | None:
        path = self._folder / JOURNAL
        if not path.is_file():
            text = "it is not there: the export cannot be continued without it, but may be complete"
            self.result.note(Problem("journal", JOURNAL, text))
            return None
        try:
            journal = stack.enter_context(JournalReader.open(path))
            journal.check_integrity()
        except RequestInvalidError as error:
            if isinstance(error, InUseError) or self._manifest is None:
                raise
            raise UnreadableError(str(error)) from None
        return journal

    def _belongs(self, journal: JournalReader) -> bool:
        """Compare the generations; returns False where a run would refuse the journal."""
        manifest = self._manifest
        if manifest is None:
            return True
        relation = relation_of(journal, manifest)
        if relation == "other":
            self._drop_journal(f"it is of another time than {MANIFEST}, or of another export")
            return False
        has_same_facts = journal.facts() == manifest.journal_facts
        if relation == "begun" and self._is_finished and not has_same_facts:
            self._is_finished = False
            text = "a run has begun since it was written, and did not end"
            remedies = Remedies(self._view.name, can_continue=True)
            self.result.add(Problem("incomplete", MANIFEST, text, remedies.run))
        return has_same_facts or not self._is_finished

    def _drop_journal(self, fault: object) -> None:
        self._journal = None
        text = str(fault).removeprefix(f"{self._folder / JOURNAL}").removeprefix(":").strip()
        remedy = Remedies(self._view.name, can_continue=False).restore
        self.result.add(Problem("journal", JOURNAL, text, remedy))

    # ── checking ──

    def run(self, progress: Progress) -> None:
        """Do all checks."""
        self._check_links()
        self._check_files(progress)
        manifest = self._manifest
        if manifest is not None:
            self._add_reasons(manifest)
            for problem in check_tables(self._folder, manifest, self._remedies.run, self._view.file):
                self.result.add(problem)
        if manifest is not None and self._is_finished:
            for problem in contradictions(manifest, self._remedies):
                self.result.add(problem)
            self._check_unknown(manifest)
            self._compare(manifest)
        if self._content is not None and (self._folder / MANIFEST).read_bytes() != self._content:
            text = "an export has begun here since this check began: its problems may be none"
            self.result.add(Problem("incomplete", MANIFEST, text, "verify again when that is done"))
        self._conclude()

    def _conclude(self) -> None:
        result, numbers, manifest = self.result, self._ids.numbers, self._manifest
        result.ok = manifest is not None and manifest.complete and not result.count
        if numbers:
            result.first, result.last = numbers.first, numbers.last
        if result.ok and manifest is not None:
            result.until = number(manifest.until or "")

    def _check_links(self) -> None:
        try:
            check_links(self._folder)
        except RequestInvalidError as error:
            self.result.add(Problem("unsafe", self._folder.name, str(error), self._remedies.foreign))

    def _add_reasons(self, manifest: Manifest) -> None:
        if manifest.complete and manifest.finished is None:
            text = "it is complete, and was never finished"
            self.result.add(Problem("manifest", MANIFEST, text, self._remedies.restore))
        for reason in manifest.reasons or ([] if manifest.complete else ["it has no reason"]):
            text = f"the export is not complete: {reason}"
            self.result.add(Problem("incomplete", MANIFEST, text, self._remedies.run))

    def _check_files(self, progress: Progress) -> None:
        entries = self._entries()
        total, done = sum(max(0, entry.bytes) for entry in entries), 0

        def step(more: int) -> None:
            nonlocal done
            done += more
            progress(done, total)

        blocks = BlockIndex(self._journal)
        check = FileCheck(self._folder, self._ids, blocks, self._remedies, self.result, step)
        self._view.expect(entry.name for entry in entries)
        for entry in entries:
            with self._view.file(entry.name):
                check.check(entry, may_be_longer=not self._is_finished)

    def _entries(self) -> list[FileEntry]:
        """Return the files that there ought to be."""
        if self._journal is not None and not self._is_finished:
            try:
                return list(file_entries(self._journal))
            except (UnreadableError, OSError) as error:
                self._drop_journal(error)
        return self._manifest.files if self._manifest is not None else []

    def _check_unknown(self, manifest: Manifest) -> None:
        """Look for files that look like an export's, and are not in the manifest."""
        known = {RUNS, *(entry.name for entry in manifest.files)}
        for path in sorted([*self._folder.iterdir(), *(self._folder / MESSAGES).rglob("*")]):
            name = path.relative_to(self._folder).as_posix()
            if name in known or name.startswith(JOURNAL) or not path.is_file() or not path.stat().st_size:
                continue
            if path.suffix == ".new":
                text = "a run that was killed has left it; it is no part of the export, and harmless"
                self.result.note(Problem("unknown", name, text))
            elif name.rpartition("-")[0] in known:
                text = "a program that writes to the database is using it, or was killed"
                self.result.add(Problem("unknown", name, text, self._remedies.database_log))
            elif path.parent != self._folder or DATA_FILE.search(name):
                text = f"it is no part of this export: {MANIFEST} does not have it"
                self.result.add(Problem("unknown", name, text, self._remedies.unknown_file))

        for name, is_leftover in self._view.unknown():
            text = "the manifest of the store does not have it"
            if is_leftover:
                text += ": a publication is under way, or was killed; the next one removes it"
                self.result.note(Problem("unknown", name, text))
            else:
                self.result.add(Problem("unknown", name, text, self._remedies.unknown_file))

    def _compare(self, manifest: Manifest) -> None:
        if self._journal is None:
            return
        try:
            JournalCheck(self._journal, manifest, self._remedies, self.result).check(self._ids)
        except (UnreadableError, OSError) as error:
            self._drop_journal(error)
