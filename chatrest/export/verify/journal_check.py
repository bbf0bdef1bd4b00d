"""The manifest and the journal of one export: do they agree, and was nothing lost between two sources?"""

from typing import final

from ..journal import NAME as JOURNAL
from ..manifest import Manifest, PartEntry, SourceEntry
from .file_check import shortened
from .id_index import IdIndex
from .journal_reader import JournalReader
from .manifest_check import differences
from .verify_result import Problem, VerifyResult

_UNSURE = {"missing", "size", "damaged", "content"}
_KEPT = 100


@final
class JournalCheck:
    """Of a manifest that was finished. Raises `UnreadableError` where the journal is damaged."""

    def __init__(self, manifest: Manifest, witness: JournalReader, verdict: VerifyResult, again: str) -> None:
        self._manifest = manifest
        self._witness = witness
        self._verdict = verdict
        self._again = again

    def make(self, seen: IdIndex) -> None:
        """All of it; `seen` is what was read of the parts."""
        plan = self._witness.plan()
        if plan is None or plan.fingerprint != self._manifest.fingerprint:
            self._differ("it is that of another export: its plan is not the manifest's")
            return
        self._parts()
        self._sources(counted=plan.format != "sqlite")
        self._left(seen)

    def _parts(self) -> None:
        claimed = {entry.name: entry for entry in self._manifest.parts}
        for told in self._witness.parts():
            entry = claimed.pop(told.name, None)
            if entry != told:
                self._differ(f"of {told.name}, {_part_difference(entry, told)}")
        for name in claimed:
            self._differ(f"it does not know {name}, which is in the manifest")

    def _sources(self, *, counted: bool) -> None:
        claimed = {tuple(source.source): source for source in self._manifest.sources}
        for told in self._witness.sources():
            source = claimed.pop(tuple(told.source), None)
            name = " ".join(told.source)
            if source is None:
                self._differ(f"the manifest does not know its source {name}")
            else:
                self._source(name, source, told, counted=counted)
        for names in claimed:
            self._differ(f"it does not know the source {' '.join(names)}, which is in the manifest")

    def _source(self, name: str, source: SourceEntry, told: SourceEntry, *, counted: bool) -> None:
        try:
            lacking, more = list(differences(source, told)), list(differences(told, source))
        except ValueError:
            return  # `claims` tells of intervals that are none
        for text in lacking:
            self._differ(f"{name}: {text} are not covered in it, and are in the manifest")
        for text in more:
            self._differ(f"{name}: {text} are covered in it, and not in the manifest")
        if source.state != told.state:
            self._differ(f"{name}: it is {told.state} in it, and {source.state} in the manifest")
        if counted and source.messages != told.messages:
            text = f"{told.messages:,} messages are its own, and {source.messages:,} in the manifest"
            self._differ(f"{name}: {text}")

    def _left(self, seen: IdIndex) -> None:
        if any(problem.kind in _UNSURE for problem in self._verdict.problems) or self._verdict.more:
            text = "what sources left to each other was not looked for: not all parts could be read"
            self._verdict.note(Problem("lost", JOURNAL, text))
            return
        lost: dict[int, tuple[int, list[str]]] = {}
        for source, ids in self._witness.left():
            if missing := seen.missing(ids):
                count, some = lost.get(source, (0, []))
                lost[source] = count + len(missing), (some + list(map(str, missing)))[:_KEPT]
        self._tell_lost(lost)

    def _tell_lost(self, lost: dict[int, tuple[int, list[str]]]) -> None:
        is_settled = self._witness.is_settled()
        if not is_settled and self._manifest.complete:
            self._differ("what sources left to each other is not known to be there")
        for source, (count, ids) in lost.items():
            what = f"{count:,} messages that it left to other sources are nowhere: {shortened(ids, count)}"
            if is_settled:
                what += "; they were looked for, and the service did not show them any more"
                self._verdict.note(Problem("lost", self._witness.name(source), what))
            else:
                self._verdict.add(Problem("lost", self._witness.name(source), what, self._again))

    def _differ(self, text: str) -> None:
        self._verdict.add(Problem("journal", JOURNAL, text, self._again))


def _part_difference(entry: PartEntry | None, told: PartEntry) -> str:
    if entry is None:
        return f"which has {told.messages:,} messages, the manifest does not know"
    for name in ("role", "bytes", "messages", "first_id", "last_id"):
        its, other = getattr(told, name), getattr(entry, name)
        if its != other:
            return f"{name} is {its} in it, and {other} in the manifest"
    return "hashes in it are not those of the manifest"
