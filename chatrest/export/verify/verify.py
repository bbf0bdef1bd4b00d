"""Is an export right? Everything in its folder is read again; neither network nor credentials are needed.

```
manifest.json → every part: size, hashes, records, each message once → what no part is → coverage → journal
```

- The manifest is the claim, and has to hold by itself: an export without a journal can be right.
- The journal is a witness: where it is there and free, the two must agree. It says which messages lay in
  damaged bytes. Where the manifest is lost, or a run was interrupted, it tells what there ought to be.
- The journal knows the ids that a source left to another one; all of them must be on disk. One that is not
  was lost, unless the journal has it that this is settled: then it was looked for, read again from the source
  that had seen it, and the service did not show it any more (`settle`). Nobody can have it now: it is told,
  and is no fault of the export.

Memory is flat, but for the manifest: one block, and a temporary database of the ids.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias, final

from ...errors import ChatRestError, RequestInvalidError
from ..formats.recovery import NEW
from ..journal import NAME as JOURNAL
from ..manifest import NAME as MANIFEST, Manifest, PartEntry, read
from .file_check import FileCheck
from .id_index import IdIndex
from .journal_check import JournalCheck
from .journal_reader import InUseError, JournalReader, UnreadableError
from .manifest_check import contradictions
from .remedies import Remedies
from .verify_result import Problem, VerifyResult

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the bytes that were checked, and how many there are."""

_KINDS: Final = {".ndjson", ".jsonl", ".parquet", ".sqlite", ".spool"}
"""The endings of files that may be an export's; that of a way to compress may follow."""


def verify(out: str | PathLike[str], *, progress: Progress | None = None) -> VerifyResult:
    """Check the export in the folder `out`: every file, checksum and record, and that no message is missing
    or stored twice.

    Reads all files and changes none; needs neither network nor credentials. `progress` is called with the
    bytes that are read so far, and with all that there are. Returns a verdict: `ok` is True where every check
    held and the export is complete, and `problems` says what is wrong, where, and what to do.

    Raises `RequestInvalidError` where the folder is not an export, or where its format needs an extra that is
    not installed.
    """
    folder = Path(out)
    if not any((folder / name).is_file() for name in (MANIFEST, JOURNAL)):
        raise RequestInvalidError(f"folder '{folder}' is not an export: it has no {MANIFEST} and no journal")
    verdict = VerifyResult()
    with ExitStack() as stack:
        seen = stack.enter_context(closing(IdIndex()))
        check = _Check(folder, verdict, seen)
        check.ask_journal(stack)
        check.run(progress or (lambda *_: None))
    return verdict


@final
class _Check:
    """One check of one folder."""

    def __init__(self, folder: Path, verdict: VerifyResult, seen: IdIndex) -> None:
        self._folder = folder
        self._verdict = verdict
        self._seen = seen
        self._witness: JournalReader | None = None
        self._advice = Remedies(folder, None, can_go_on=True)

    def ask_journal(self, stack: ExitStack) -> None:
        """Opens the journal, if that can be done."""
        can_go_on = (self._folder / JOURNAL).is_file()
        if not can_go_on:
            self._note_journal("it is not there: the export cannot be continued without it, but may be right")
        try:
            self._witness = stack.enter_context(JournalReader(self._folder)) if can_go_on else None
        except InUseError as error:
            self._note_journal(f"{error}, and so it was not asked; verify again when that is done")
        except UnreadableError as error:
            can_go_on = False
            self._bad_journal(error)
        self._advice = Remedies(self._folder, self._witness, can_go_on=can_go_on)

    def run(self, progress: Progress) -> None:
        """All of it."""
        before, manifest = self._claimed()
        is_finished = manifest is not None and manifest.finished is not None
        entries = manifest.parts if manifest is not None and is_finished else self._journals_parts()
        self._inspect(entries, progress, may_be_longer=not is_finished)
        if manifest is not None and is_finished:
            self._compare(manifest)
        if before is not None and (self._folder / MANIFEST).read_bytes() != before:
            text = "an export has begun here since this check began: what is said of it may be wrong"
            self._verdict.add(Problem("incomplete", MANIFEST, text, "verify again when that is done"))
        self._verdict.ok = manifest is not None and manifest.complete and not self._verdict.count
        if self._verdict.ok and manifest is not None:
            self._verdict.until = None if manifest.until is None else int(manifest.until)

    # ── the claim ──

    def _claimed(self) -> tuple[bytes | None, Manifest | None]:
        path, text = self._folder / MANIFEST, ""
        try:
            data, manifest = path.read_bytes(), read(path)
        except FileNotFoundError:
            text = "it is not there"
        except OSError as error:
            text = f"it cannot be read ({error.strerror or error})"
        except ChatRestError as error:
            text = f"it {str(error).removeprefix(f'{path} ')}"
        else:
            self._incomplete(manifest)
            return data, manifest
        self._verdict.add(Problem("manifest", MANIFEST, text, f"{self._advice.again}: it is written anew"))
        return None, None

    def _incomplete(self, manifest: Manifest) -> None:
        reasons = manifest.reasons or ([] if manifest.complete else ["no reason is told"])
        for reason in reasons:
            text = f"the export is not complete: {reason}"
            self._verdict.add(Problem("incomplete", MANIFEST, text, self._advice.again))
        if manifest.complete and manifest.finished is None:
            self._verdict.add(Problem("manifest", MANIFEST, "it is complete, and was never finished"))

    # ── what there is ──

    def _journals_parts(self) -> list[PartEntry]:
        """What there ought to be, where no manifest tells: the end of a part may be torn, then."""
        try:
            return [] if self._witness is None else list(self._witness.parts())
        except UnreadableError as error:
            self._bad_journal(error)
            return []

    def _inspect(self, entries: list[PartEntry], progress: Progress, *, may_be_longer: bool) -> None:
        total, done = sum(max(0, entry.bytes) for entry in entries), 0

        def step(more: int) -> None:
            nonlocal done
            done += more
            progress(done, total)

        inspection = FileCheck(self._folder, self._seen, self._advice, self._verdict, step)
        for entry in entries:
            inspection.part(entry, may_be_longer=may_be_longer)

    def _strangers(self, manifest: Manifest) -> None:
        """Files that look like an export's, and that no manifest knows."""
        known = {entry.name for entry in manifest.parts} | {JOURNAL}
        for path in sorted(self._folder.iterdir()):
            if path.name in known or not path.is_file() or not path.stat().st_size:
                continue
            if path.suffix == NEW:
                text = "a run that was killed has left it; it is no part of the export, and harmless"
                self._verdict.note(Problem("unknown", path.name, text))
            elif path.name.rpartition("-")[0] in known - {JOURNAL}:
                text = "a program that writes to the database is using it, or was killed"
                self._verdict.add(Problem("unknown", path.name, text, self._advice.again))
            elif set(path.suffixes) & _KINDS:
                text = "it is no part of this export: the manifest does not know it"
                self._verdict.add(Problem("unknown", path.name, text, "move it elsewhere"))

    # ── the witness ──

    def _compare(self, manifest: Manifest) -> None:
        for problem in contradictions(manifest, self._advice.again):
            self._verdict.add(problem)
        self._strangers(manifest)
        if self._witness is None:
            return
        try:
            JournalCheck(manifest, self._witness, self._verdict, self._advice.again).make(self._seen)
        except UnreadableError as error:
            self._bad_journal(error)

    def _note_journal(self, text: str) -> None:
        self._verdict.note(Problem("journal", JOURNAL, text))

    def _bad_journal(self, error: Exception) -> None:
        advice = "the export may be right, but it cannot be continued with it"
        self._witness = None
        self._verdict.add(Problem("journal", JOURNAL, str(error), advice))
