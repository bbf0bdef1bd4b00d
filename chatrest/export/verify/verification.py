"""`verify` of all exports at a path or address: each by itself, and what only all parts together can show.

The journal of an export is the authority: files, folder and claims are compared with it, by code that no run
uses, without network and credentials. Without its journal an export is only hashed.

No message is in two parts. Each part that `parts.json` names was begun, was read since the users were listed
last, and has taken in what the other parts have left it. Apps are proven one by one. Of a bag, each byte is
also compared with what was sealed.

Memory: the manifest, some thousand records, and bitmaps of the ids of all parts of an app; ids that are no
numbers as texts.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import structs

from ..._cloud.transfer import file_sha256
from ..._core.requests.arguments import check
from ..._storage import InUseError, UnreadableError
from ..._texts import plural
from ...errors import ChatRestError, RequestInvalidError
from ..fetch.app_list import runs_by_app_list
from ..folder.folder_access import check_links
from ..folder.folder_state import FolderState, journal_fault, read_folder
from ..folder.journal import NAME as JOURNAL
from ..folder.manifest import find_undamaged
from ..plan.export_plan import Plan
from ..plan.file_names import HISTORY
from ..plan.id_set import IdSet
from ..plan.message_ids import number
from ..read.exports import DATA, ExportAddress, addresses_of, bag_of, part_lacks, parts_at, run_folder
from ..read.folder_view import FolderView, noted_files
from ..seal.bag import TAG_MANIFEST, faults_of
from .file_check import FileCheck, OnStep
from .folder_check import (
    coverage_findings,
    folder_findings,
    manifest_findings,
    state_findings,
    store_findings,
)
from .result import Finding, Problem, Remedy, VerifyResult, id_list

_KINDS_AT_STORE: Final = ("missing", "size", "damaged", "journal", "manifest")
"""The problems of files that are mended in another way in an object store."""


class VerifiedExport(NamedTuple):
    """The result of one export, and the ids of all messages that were read: numbers, and texts."""

    result: VerifyResult
    ids: IdSet
    keys: list[str]


def verify(
    out: str | PathLike[str], *, root: str | None = None, progress: OnStep | None = None
) -> VerifyResult:
    """Check the export in the folder or object store `out`: every file, checksum and record, and that no
    message is missing or stored twice.

    Reads all files and changes none; needs neither network nor credentials. `progress` is called with the
    number of bytes that were read so far, and of all bytes. In the result `ok` is True if every check held
    and the export is complete; each of `problems` has its file or source, what is wrong with it, and what can
    safely be done. Memory is needed for sets of ids, and for each id that is a text.

    In a folder of exports each one is checked, and also that no message is in two parts. A bag that `seal`
    has made is compared byte by byte with what was sealed; give `root`, the root hash that you noted then, to
    be sure that it is the same bag. Files of an object store are downloaded, a few ahead.

    Raises `RequestInvalidError` while a run writes here, and if the folder is not an export, is of another
    version, or needs an extra that is not installed; `ObjectStoreError` if a store fails.
    """
    step = progress or (lambda *_: None)
    if (bag := _bag_to_compare(out, root)) is None:
        return _verify_all(out, step)
    try:
        result = _verify_all(out, step)
    except (ChatRestError, OSError) as error:
        result = VerifyResult()
        result.add(Problem("manifest", DATA, f"the export cannot be read: {error}"))
    return _with_seal(result, bag, root, step)


def _verify_all(out: str | PathLike[str], on_step: OnStep) -> VerifyResult:
    addresses, results = addresses_of(out), list[VerifyResult]()
    total, bytes_before = VerifyResult(exports=len(addresses)), 0

    def step(done: int, size: int) -> None:
        on_step(bytes_before + done, bytes_before + size)

    for _, app_addresses in groupby(addresses, attrgetter("app")):
        ids, keys = IdSet(), set[str]()
        for address in app_addresses:
            results.append(result := _verify_part(address, step, ids, keys))
            bytes_before += result.bytes
            total.add_result(address.name, result)
    total.ok = all(each.ok for each in results) and not total.count
    parts = parts_at(addresses)
    plans = dict.fromkeys(each.plan for each in results if each.plan)
    total.plan = "; ".join(plans) if parts is None else parts.plan.full_words
    ends = [each.until for each in results if each.until is not None]
    if not addresses[0].app and len(ends) == len(results):
        total.until = min(ends)
    return total


def _bag_to_compare(out: str | PathLike[str], root: str | None) -> Path | None:
    """Return the bag in `out`; None for an export. Raises `RequestInvalidError` for a wrong root hash."""
    bag = bag_of(out)
    if root is not None:
        is_hash = re.fullmatch("[0-9a-f]{64}", root, re.IGNORECASE)
        check(bool(is_hash), "root", root, "the root hash that seal has printed, 64 hexadecimal digits")
        if bag is None:
            addresses_of(out)  # which refuses a bag in an object store
            raise RequestInvalidError(f"root: {out} is not a bag: expected one made by `chatrest seal`")
    return bag


def _with_seal(result: VerifyResult, bag: Path, root: str | None, on_step: OnStep) -> VerifyResult:
    """Return the result of the export in a bag, with what differs from what was sealed."""
    result.problems = [structs.replace(each, remedy="", advice=Remedy.NOTHING) for each in result.problems]
    done, total = 0, sum(each.stat().st_size for each in bag.rglob("*") if each.is_file())

    def step(size: int) -> None:
        nonlocal done
        done += size
        on_step(done, total)

    faults = list(faults_of(bag, None if root is None else root.lower(), step))
    for subject, text in faults:
        result.add(Problem("seal", subject, text))
    if not faults:
        result.root = file_sha256(bag / TAG_MANIFEST)
    result.ok &= not faults
    return result


def _verify_part(address: ExportAddress, on_step: OnStep, ids: IdSet, keys: set[str]) -> VerifyResult:
    """Check one part; `ids` and `keys` are those of the parts checked so far, and get those of this one."""
    with address.open() as view:
        words = Remedy.RUN.words(run_folder(view), address.name)
        if address.name and not view.is_begun:
            result = VerifyResult()
            result.add(Problem("incomplete", "", "no run has begun it", words, Remedy.RUN))
            return result
        result, own_ids, own_keys = verify_export(view, on_step)
    if shared := [*map(str, ids & own_ids), *sorted(keys.intersection(own_keys))]:
        text = f"{plural(len(shared), 'message')} that another part has as well: {id_list(shared)}"
        result.add(Problem("duplicate", "", text))
    for text in part_lacks(address):
        result.add(Problem("incomplete", "", text, words, Remedy.RUN))
    ids.update(own_ids)
    keys.update(own_keys)
    return result


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
