"""Verify one export: read everything in its folder again, without network and credentials.

The journal is the authority: files, folder and claims are compared with it, by code that no run uses. Without
its journal an export is only hashed. Memory: the manifest, some thousand records, and bitmaps of the ids.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final, NamedTuple

from ..._storage import InUseError, UnreadableError
from ...errors import RequestInvalidError
from ..fetch.app_list import runs_by_app_list
from ..folder.folder_access import check_links
from ..folder.folder_state import FolderState, journal_fault, read_folder
from ..folder.journal import NAME as JOURNAL
from ..folder.manifest import find_undamaged
from ..plan.export_plan import Plan
from ..plan.file_names import HISTORY
from ..plan.id_set import IdSet
from ..plan.message_ids import number
from ..read.exports import run_folder
from ..read.folder_view import FolderView, noted_files
from .claims import coverage_findings, manifest_findings, state_findings
from .file_check import FileCheck, OnStep
from .folder_check import folder_findings, store_findings
from .result import Finding, Problem, Remedy, VerifyResult

_KINDS_AT_STORE: Final = ("missing", "size", "damaged", "journal", "manifest")
"""The problems of files that are mended in another way in an object store."""


class VerifiedExport(NamedTuple):
    """The result of one export, and the ids of all messages that were read: numbers, and texts."""

    result: VerifyResult
    ids: IdSet
    keys: list[str]


def verify_export(view: FolderView, on_step: OnStep) -> VerifiedExport:
    """Check one export. Raises `InUseError` while a run writes, as it merges the files."""
    with ExitStack() as stack:
        state = read_folder(view.folder, stack)
        before = state.manifest
        if not state.is_in_use:
            try:
                verified = _verified(view, state, on_step)
            except PermissionError:
                raise
            except (UnreadableError, OSError) as error:
                if state.journal is None:
                    raise
                state.journal = None
                state.journal_fault, state.journal_remedy = journal_fault(view.folder, error)
                verified = _verified(view, state, on_step)
            now = find_undamaged(view.folder)
            if not verified.result.problems or (now and now.checksum) == (before and before.checksum):
                return verified
    raise InUseError(f"{view.folder}: an export is running here; verify it again after its end")


def _verified(view: FolderView, state: FolderState, on_step: OnStep) -> VerifiedExport:
    result, check = VerifyResult(), FileCheck(view, state, on_step)
    for finding in _findings(view, state, check):
        if finding.advice is None:
            result.note(finding.kind, finding.subject, finding.text)
        else:
            result.add(_problem(view, finding, finding.advice))
    result.files, result.bytes, result.hashes = check.files, check.bytes, check.hashes
    _conclude(result, state, check.read_ids)
    keys = [] if state.journal is None else list(state.journal.keys_of(check.read_ids).values())
    return VerifiedExport(result, check.read_ids.numbers, keys)


def _findings(view: FolderView, state: FolderState, check: FileCheck) -> Iterator[Finding]:
    yield from state_findings(state)
    try:
        check_links(view.folder)
    except RequestInvalidError as error:
        yield Finding("unsafe", view.folder.name, str(error), Remedy.KEEP_OUT)
    if state.journal is not None:
        state.journal.news.pending()  # no part of the proof; damage there would end the next run
    files = list(noted_files(view.folder, state))
    yield from check.findings(files)
    if state.journal is not None or state.is_finished:
        yield from folder_findings(view.folder, state, files)
    yield from store_findings(view)
    yield from manifest_findings(state, files)
    yield from coverage_findings(state, check.read_ids | check.unread_ids)


def _problem(view: FolderView, finding: Finding, advice: Remedy) -> Problem:
    kind, subject, text, _ = finding
    words = view.remedy(subject) if kind in _KINDS_AT_STORE or subject == JOURNAL else ""
    words = words or advice.words(run_folder(view), subject, view.export)
    return Problem(kind, subject, text, words, advice)


def _conclude(result: VerifyResult, state: FolderState, read_ids: IdSet) -> None:
    """Set what the result says of the whole export, when all of its problems are known."""
    manifest, result.messages = state.manifest, len(read_ids)
    if state.journal is None and manifest is not None:
        damaged = {problem.subject for problem in result.problems}
        entries = (each for each in manifest.files if each.role != HISTORY and each.name not in damaged)
        result.messages = sum(each.messages for each in entries)
    if numbers := read_ids.numbers:
        result.first, result.last = numbers.first, numbers.last
    if manifest is not None:
        result.ok = manifest.complete and not result.count
        result.until = number(manifest.until or "")
        result.plan = Plan.parse(bytes(manifest.plan)).full_words
    if result.ok and state.journal is not None:
        result.by_app_list = runs_by_app_list(state.journal) > 0
