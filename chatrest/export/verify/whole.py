"""`verify` of what is at a path or address: each export by itself, and what only all parts together can show.

| of the parts of an export                               | is                                             |
|---------------------------------------------------------|------------------------------------------------|
| the proof of each                                       | `verify.py`, as of one export                  |
| no message is in two of them                            | by the ids that were read                      |
| one that `parts.json` names, and no run has begun       | not complete                                   |

Many apps are proven one by one: their messages have nothing in common.

Memory: bitmaps of the ids of all parts of an app, which is an eighth of a byte for each where they are dense,
as they are together; ids that are no numbers as texts.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from os import PathLike
from typing import final

from ..._texts import plural
from ..plan.id_set import IdSet
from ..read.exports import ExportAddress, addresses_of, run_place
from .result import Problem, Remedy, VerifyResult, shortened
from .verify import Progress, Verified, verify_export


def verify(out: str | PathLike[str], *, progress: Progress | None = None) -> VerifyResult:
    """Check the export in the folder or object store `out`: every file, checksum and record, and that no
    message is missing or stored twice.

    Reads all files and changes none; needs neither network nor credentials. `progress` is called with the
    number of bytes that were read so far, and of all bytes. Returns a result: `ok` is True if every check
    held and the export is complete, and `problems` says what is wrong, where, and what can safely be done.

    Of a folder of exports each is checked, and of the parts of one that no message is in two of them. It is
    `ok` where all are: a part that no run has begun yet is a problem. `progress` learns the bytes of each
    export when its check begins.

    The files of an object store (`s3://bucket/prefix`) are downloaded, a few ahead, and removed when they are
    checked.

    Raises `RequestInvalidError` where the folder is not an export, is of another version, or where its format
    needs an extra that is not installed, and `ObjectStoreError` where a store fails.
    """
    addresses, results = addresses_of(out), list[VerifyResult]()
    whole, bytes_before = VerifyResult(exports=len(addresses)), 0
    for _, exports in groupby(addresses, attrgetter("app")):
        parts = _Parts()
        for each in exports:

            def step(done: int, total: int) -> None:
                if progress is not None:
                    progress(bytes_before + done, bytes_before + total)  # noqa: B023

            result = parts.check(each, step)
            bytes_before += result.bytes
            whole.take(each.name, result)
            results.append(result)
    whole.ok = all(each.ok for each in results) and not whole.count
    if whole.ok:
        whole.plan = "; ".join(dict.fromkeys(each.plan for each in results))
        ends = [each.until for each in results if each.until is not None]
        if not addresses[0].app and len(ends) == len(results):
            whole.until = min(ends)
    return whole


@final
class _Parts:
    """The parts of one export."""

    def __init__(self) -> None:
        self._ids, self._keys = IdSet(), set[str]()
        """The ids of the parts that were checked."""

    def check(self, address: ExportAddress, progress: Progress) -> VerifyResult:
        with address.open() as view:
            if address.name and not view.is_begun:
                result = VerifyResult()
                words = Remedy.RUN.words(run_place(view), address.name)
                result.add(Problem("incomplete", "", "no run has begun it", words, Remedy.RUN))
                return result
            verified = verify_export(view, progress)
        result = verified.result
        if twice := [*self._twice(verified)]:
            text = f"{plural(len(twice), 'message')} that another part has as well: {shortened(twice)}"
            result.add(Problem("duplicate", "", text))
            result.ok = False
        self._ids.update(verified.ids)
        self._keys.update(verified.keys)
        return result

    def _twice(self, verified: Verified) -> Iterator[str]:
        yield from map(str, self._ids & verified.ids)
        yield from sorted(self._keys.intersection(verified.keys))
