"""`verify` of all exports at a path or address: each by itself, and what only all parts together can show.

No message is in two parts. Each part that `parts.json` names was begun, was read since the users were listed
last, and has taken in what the other parts have left it. Apps are proven one by one. Of a bag, each byte is
also compared with what was sealed.

Memory: bitmaps of the ids of all parts of an app; ids that are no numbers as texts.
"""

import re
from itertools import groupby
from operator import attrgetter
from os import PathLike
from pathlib import Path

from msgspec import structs

from ..._cloud.transfer import file_sha256
from ..._core.requests.arguments import check
from ..._texts import plural
from ...errors import ChatRestError, RequestInvalidError
from ..plan.id_set import IdSet
from ..read.exports import DATA, ExportAddress, addresses_of, bag_of, part_lacks, parts_at, run_folder
from ..seal.bag import TAG_MANIFEST, faults_of
from .file_check import OnStep
from .one_export import verify_export
from .result import Problem, Remedy, VerifyResult, id_list


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
