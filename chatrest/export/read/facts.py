"""The facts of `status`: an export's manifest, its log of runs, its journal's sources, and its files' sizes.

Nothing is changed, no hash is checked, and no message is read: `verify` does that. While a run is writing,
the messages are those that it has committed; the rest is of the last run that ended.
"""

from collections import Counter
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from ..._texts import name_list, plural
from ..folder.folder_state import FolderState, read_consistently
from ..folder.manifest import NAME as MANIFEST, FileEntry
from ..folder.run_log import RunEntry, runs_in
from ..plan.export_plan import Plan
from ..plan.file_names import STEM
from ..plan.message_ids import LAST, number
from ..plan.report import ExportFailure, NextRun, report_of_parts, report_of_runs, sums
from .exports import ExportAddress, addresses_of, part_lacks, parts_at, position_of
from .folder_view import FolderView

ExportState: TypeAlias = Literal["complete", "not begun", "not complete", "running", "interrupted", "damaged"]
_WORST: Final[tuple[ExportState, ...]] = get_args(ExportState)
"""From the best to the worst: a folder of exports has the worst state of its exports."""


class SourceCounts(Struct, frozen=True):
    """The sources of an export that its plan asks for, by what has become of them."""

    total: int = 0
    complete: int = 0
    """Also users that the service no longer lists; their messages stay."""
    failed: int = 0
    left: int = 0
    """Those that the next run reads."""


class PartFacts(Struct, frozen=True):
    """The state of one of the exports of a folder."""

    export: str
    """Its path in the folder, such as `part=03`."""
    state: ExportState
    messages: int
    reasons: list[str]


class ExportFacts(Struct, frozen=True, kw_only=True):
    """The state of an export, as far as it is known without reading a message."""

    export: str
    state: ExportState
    app: str = ""
    plan: Raw = Raw(b"null")
    reasons: list[str] = []
    """Why it is not complete, or cannot be read: sentences."""
    next_run: NextRun = NextRun.CONTINUES
    """What another run with the same plan can do about that."""
    finished: int | None = None
    """The end of the newest run, in epoch seconds; None while it is under way, or where it was killed."""
    until: int | None = None
    """The app's newest id when the newest run began: the export has no later ones."""
    messages: int = 0
    first_id: str | None = None
    last_id: str | None = None
    sources: SourceCounts = SourceCounts()
    failed: list[ExportFailure] = []
    files: int = 0
    bytes: int = 0
    last_run: RunEntry | None = None
    """The newest run that has ended; of parts all runs since the users were listed."""
    parts: list[PartFacts] = []
    """Those of each export of a folder; empty for a single export."""

    @property
    def plan_value(self) -> Plan | None:
        """The plan; None if it is not known, or differs between the exports."""
        return None if bytes(self.plan) == b"null" else Plan.parse(bytes(self.plan))


def facts_of(out: str) -> ExportFacts:
    """Return the facts of the export in `out`, or the sum of those of a folder of exports.

    Raises `RequestInvalidError` for a folder that is not an export, and `ObjectStoreError`.
    """
    addresses = addresses_of(out)
    parts = parts_at(addresses)
    night = parts.nights[-1].listed if parts is not None and parts.nights else LAST
    exports = [(address.name, _facts_at(address, night)) for address in addresses]
    if not exports[0][0]:
        return replace(exports[0][1], export=out)
    total = _sum(out, exports)
    if parts is None:
        return total
    runs = {name: facts.last_run for name, facts in exports if facts.last_run is not None}
    last_run = report_of_parts(runs)
    last_run.run = position_of({name: int(run.run) for name, run in runs.items()})
    return replace(total, plan=Raw(parts.plan.encoded()), last_run=last_run if runs else None)


def _facts_at(address: ExportAddress, night: int) -> ExportFacts:
    """Return the facts of one export; its last run is all of its runs since the time `night`, if any."""
    with address.open() as view:
        if address.name and not view.is_begun:
            return ExportFacts(export=view.name, state="not begun")
        facts = read_consistently(view.folder, lambda state: _facts(view, state, night))
    if facts.state == "complete" and (lacks := part_lacks(address)):
        return replace(facts, state="not complete", reasons=lacks)
    return facts


def _sum(out: str, exports: list[tuple[str, ExportFacts]]) -> ExportFacts:
    begun = [facts for _, facts in exports if facts.state != "not begun"]
    ids = [int(key) for facts in begun for key in (facts.first_id, facts.last_id) if key]
    runs = [replace(facts.last_run, part=name) for name, facts in exports if facts.last_run is not None]
    ends = [facts.finished for facts in begun]
    until_ids = [facts.until for facts in begun if facts.until is not None]
    apps, plans = sorted({facts.app for facts in begun}), {bytes(facts.plan) for facts in begun}
    worst = max((facts.state for _, facts in exports), key=_WORST.index)
    return ExportFacts(
        export=out,
        state="not complete" if worst == "not begun" and begun else worst,
        app=", ".join(apps),
        plan=Raw(plans.pop()) if len(plans) == 1 else Raw(b"null"),
        reasons=[f"{name}: {reason}" for name, facts in exports for reason in facts.reasons[:1]],
        finished=None if None in ends else max(filter(None, ends), default=None),
        until=min(until_ids) if len(until_ids) == len(exports) and len(apps) == 1 else None,
        first_id=str(min(ids)) if ids else None,
        last_id=str(max(ids)) if ids else None,
        sources=SourceCounts(**sums([facts.sources for facts in begun], SourceCounts.__struct_fields__)),
        failed=[
            replace(failed, source=f"{name}: {failed.source}")
            for name, facts in exports for failed in facts.failed
        ],
        last_run=max(runs, key=attrgetter("started"), default=None),
        parts=[PartFacts(name, facts.state, facts.messages, facts.reasons) for name, facts in exports],
        **sums(begun, ("messages", "files", "bytes")),
    )  # fmt: skip


def _facts(view: FolderView, state: FolderState, night: int) -> ExportFacts:
    manifest, journal = state.manifest, state.journal
    facts: dict[str, Any] = {}
    if manifest is not None:
        ids = [int(key) for file in manifest.files for key in (file.first_id, file.last_id) if key]
        facts = {
            "app": manifest.app_id,
            "plan": Raw(json.format(bytes(manifest.plan), indent=-1)),
            "next_run": manifest.next_run,
            "finished": manifest.finished,
            "until": number(manifest.until or ""),
            "messages": manifest.messages,
            "first_id": str(min(ids)) if ids else None,
            "last_id": str(max(ids)) if ids else None,
            "files": len(manifest.files),
            "bytes": sum(file.bytes for file in manifest.files),
        }
    elif journal is not None:  # of a first run that is under way, or was killed
        facts = {"app": journal["app"] or "", "plan": Raw((journal["plan"] or "null").encode())}
    if journal is not None and not state.is_finished:  # what an interrupted run has left
        stored = journal.ids_in(
            file for file in journal.files("open", "sealing", "sealed") if file.stem.endswith(STEM)
        )
        facts["messages"] = sum(journal.row_counts([STEM]).values())
        facts |= {"first_id": str(stored.first), "last_id": str(stored.last)} if stored else {}
    faults = ((MANIFEST, state.manifest_fault), ("the journal", state.journal_fault))
    reasons = [f"{name}: {fault}" for name, fault in faults if fault]
    if journal is None and not reasons:
        reasons = ["the journal: it is not there, and without it nothing is proven"]
    export_state = _state(state, (view.folder / MANIFEST).exists())
    files = manifest.files if manifest is not None and state.is_finished else ()
    if missing := sorted(file.name for file in files if _is_missing(view, file)):
        export_state = "damaged"
        count = plural(len(missing), "file")
        reasons.append(f"{count} not there, or not of their size: {name_list(missing, 5)}")
    reasons += () if manifest is None else manifest.reasons
    if runs := list(runs_in(view.folder)):
        if manifest is None and journal is not None and runs[-1].run == journal.run:
            reasons += runs[-1].reasons  # a first run that has failed before it wrote anything
        facts["last_run"] = report_of_runs([run for run in runs if run.started >= night] or runs[-1:])
    return ExportFacts(export=view.name, state=export_state, reasons=reasons, **facts | _of_sources(state))


def _state(state: FolderState, has_manifest: bool) -> ExportState:
    if state.is_in_use:
        return "running"
    if state.manifest is None and state.journal is not None and not has_manifest:
        return "interrupted" if state.journal.files() else "not begun"  # before its first manifest
    if state.manifest is None or state.journal_fault:
        return "damaged"
    if not state.is_finished:
        return "interrupted"
    return "complete" if state.manifest.complete and state.journal is not None else "not complete"


def _of_sources(state: FolderState) -> dict[str, Any]:
    manifest = state.manifest
    until = (number(manifest.until or "") or 0) if manifest is not None else 0
    is_complete = state.is_finished and manifest is not None and manifest.complete  # also of empty lists
    counts, failed = Counter[str](), list[ExportFailure]()
    for known in [] if state.journal is None else state.journal.sources():
        if not known.asked:
            continue
        if known.state == "failed":
            failed.append(ExportFailure(str(known.source), known.error or ""))
        is_read = is_complete or known.state == "deleted_user" or int(known.proven or 0) >= max(until, 1)
        counts["failed" if known.state == "failed" else "complete" if is_read else "left"] += 1
    return {"sources": SourceCounts(total=counts.total(), **counts), "failed": failed}


def _is_missing(view: FolderView, file: FileEntry) -> bool:
    """Return True if a file is gone, or has not the size that the manifest says."""
    path = Path(view.folder, file.name)
    return not view.has(file.name) or (path.is_file() and path.stat().st_size != file.bytes)
