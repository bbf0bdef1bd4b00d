"""Check the journal against the manifest of a finished run, and the ids that were read against those seen."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final, final

from ..id_set import IdSet
from ..journal.reader import JournalReader
from ..journal.records import OtherId
from ..journal.schema import NAME as JOURNAL
from ..manifest import NAME as MANIFEST, FileEntry, Manifest, SourceEntry, file_entries, source_entry
from ..message_ids import number
from ..plan import Plan
from .manifest_check import differences
from .read_ids import ReadIds, shortened
from .remedies import Remedies
from .verify_result import Kind, Problem, VerifyResult

_UNREAD: Final = ("missing", "size", "damaged", "content", "unsafe")
_COMPARED: Final = ("role", "bytes", "messages", "first_id", "last_id")


@final
class JournalCheck:
    """The check of one journal. Its methods raise `UnreadableError` where a value of it is damaged."""

    def __init__(
        self, journal: JournalReader, manifest: Manifest, remedies: Remedies, result: VerifyResult
    ) -> None:
        self._journal = journal
        self._manifest = manifest
        self._remedies = remedies
        self._result = result
        self._is_sqlite = any(entry.name.endswith(".sqlite") for entry in manifest.files)

    def check(self, ids: ReadIds) -> None:
        """Add all problems to the result; `ids` are those that were read from the files."""
        self._check_meta()
        self._check_files()
        self._check_sources()
        self._check_deleted()
        if self._is_sqlite and any(problem.kind in _UNREAD for problem in self._result.problems):
            text = "the ids that were seen were not compared: the database could not be read"
            self._result.note(Problem("coverage", JOURNAL, text))
            return
        self._check_numbers(ids)
        self._check_texts(ids)

    # ── the manifest ──

    def _check_meta(self) -> None:
        if self._journal.facts() != self._manifest.journal_facts:
            self._differ(f"its rows are not those that {MANIFEST} has the hash of")
        if self._journal["app"] != self._manifest.app_id:
            self._differ(
                f"it is of the app {self._journal['app']!r}, and {MANIFEST} is of {self._manifest.app_id!r}"
            )
        try:
            fingerprint = Plan.parse(self._journal["plan"] or "").fingerprint
        except ValueError as error:
            self._differ(f"its plan cannot be read ({error})")
            return
        if fingerprint != self._manifest.fingerprint:
            self._differ(f"its plan is not that of {MANIFEST}")

    def _check_files(self) -> None:
        entries = {entry.name: entry for entry in self._manifest.files}
        for expected in file_entries(self._journal):
            entry = entries.pop(expected.name, None)
            if entry != expected:
                self._differ(f"of {expected.name}, {_file_difference(entry, expected)}")
        for name in entries:
            self._differ(f"it does not have {name}, which is in {MANIFEST}")

    def _check_sources(self) -> None:
        counts = self._journal.rows(["part"])
        entries = {tuple(source.source): source for source in self._manifest.sources}
        for source in self._journal.sources():
            expected = source_entry(self._journal, source, counts.get(source.number, 0))
            entry = entries.pop(tuple(expected.source), None)
            for text in _source_differences(entry, expected, counted=not self._is_sqlite):
                self._differ(f"{source.source}: {text}")
        for names in entries:
            self._differ(f"it does not have the source {' '.join(names)}, which is in {MANIFEST}")

    def _check_deleted(self) -> None:
        for is_missing, ids in ((False, self._manifest.deleted), (True, self._manifest.missing)):
            if [each.id for each in self._journal.deleted(missing=is_missing)] != ids:
                self._differ(f"its {'missing' if is_missing else 'deleted'} ids are not those of {MANIFEST}")
        if self._manifest.missing:
            text = (
                f"{len(self._manifest.missing):,} messages that were seen once are not in the export, and "
                f"the service does not show them any more: {shortened(self._manifest.missing)}"
            )
            self._result.note(Problem("missing", MANIFEST, text))

    # ── the ids ──

    def _check_numbers(self, ids: ReadIds) -> None:
        """Check that each id that was seen is in a file; those of damaged blocks are reported with these."""
        seen = self._journal.all_seen()
        missing = IdSet(filter(None, map(number, self._manifest.missing)))
        lacking = seen - ids.numbers - missing
        if not self._is_sqlite:
            lacking -= self._journal.ids_in_blocks()
        for source in self._journal.sources() if lacking else ():
            if here := lacking & self._journal.seen(source.number):
                lacking -= here
                self._add_lacking(str(source.source), list(map(str, here)))
        if unseen := ids.numbers - seen:
            text = f"no source has shown {shortened(list(map(str, unseen)))}, which are in the files"
            self._add("content", JOURNAL, text, self._remedies.restore)

    def _check_texts(self, ids: ReadIds) -> None:
        names = {file.number: file.name for file in self._journal.files()}
        missing = set(self._manifest.missing)
        lacking, misplaced, count = list[str](), list[str](), 0
        for key, rows in _by_key(self._journal.other_ids()):
            count += 1
            files = [names.get(row.file) for row in rows if row.file is not None]
            is_there = ids.has_text(key) if self._is_sqlite else bool(files)  # a database has them by itself
            if not is_there and key not in missing:
                lacking.append(key)
            elif any(file is None or not ids.has_text(key, file) for file in files) and self._is_readable():
                misplaced.append(key)
        if lacking:
            self._add_lacking(JOURNAL, lacking)
        if misplaced:
            text = f"the messages {shortened(misplaced)} are not in the files that the journal has for them"
            self._add("content", JOURNAL, text, self._remedies.restore)
        if count < ids.text_count:
            text = f"the files have {ids.text_count:,} ids that are no numbers, and the journal {count:,}"
            self._add("content", JOURNAL, text, self._remedies.restore)

    def _is_readable(self) -> bool:
        return not any(problem.kind in _UNREAD for problem in self._result.problems)

    # ── problems ──

    def _add_lacking(self, place: str, ids: list[str]) -> None:
        text = f"{len(ids):,} messages that it has shown are not in the export: {shortened(ids)}"
        self._add("coverage", place, text, self._remedies.run)

    def _differ(self, text: str) -> None:
        self._add("journal", JOURNAL, text, self._remedies.restore)

    def _add(self, kind: Kind, place: str, text: str, remedy: str) -> None:
        self._result.add(Problem(kind, place, text, remedy))


def _by_key(rows: Iterator[OtherId]) -> Iterator[tuple[str, list[OtherId]]]:
    for key, group in groupby(rows, key=lambda row: row.key):
        yield key, list(group)


def _source_differences(entry: SourceEntry | None, expected: SourceEntry, *, counted: bool) -> Iterator[str]:
    if entry is None:
        yield f"it is not in {MANIFEST}"
        return
    try:
        yield from (f"{ids} are covered in {MANIFEST} only" for ids in differences(entry, expected))
        yield from (f"{ids} are not covered in {MANIFEST}" for ids in differences(expected, entry))
    except ValueError:  # no intervals: reported by the check of the manifest
        pass
    names = (
        ("state", "error", "asked", "proven", "messages")
        if counted
        else ("state", "error", "asked", "proven")
    )
    for name in names:
        in_journal, in_manifest = getattr(expected, name), getattr(entry, name)
        if in_journal != in_manifest:
            yield f"{name} is {in_journal} in the journal, and {in_manifest} in {MANIFEST}"


def _file_difference(entry: FileEntry | None, expected: FileEntry) -> str:
    if entry is None:
        return f"which has {expected.messages:,} messages, {MANIFEST} has nothing"
    for name in _COMPARED:
        in_journal, in_manifest = getattr(expected, name), getattr(entry, name)
        if in_journal != in_manifest:
            return f"{name} is {in_journal} in the journal, and {in_manifest} in {MANIFEST}"
    return f"the hashes are not those of {MANIFEST}"
