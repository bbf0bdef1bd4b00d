"""Check that a manifest is consistent in itself. Pure: nothing else is read."""

from collections import Counter
from collections.abc import Iterator

from ...core.intervals import Interval, gaps, subtract
from ..manifest import NAME, Manifest, SourceEntry
from ..message_ids import number
from ..plan import Plan
from ..workspace import LAST
from .remedies import Remedies
from .verify_result import Problem


def contradictions(manifest: Manifest, remedies: Remedies) -> Iterator[Problem]:
    """Yield what contradicts the manifest's own claims, and each source that was not read to its end."""
    for text in (*_sums(manifest), *_plan(manifest), *_until(manifest)):
        yield Problem("manifest", NAME, text, remedies.restore)
    for source in manifest.sources:
        name = " ".join(source.source)
        try:
            texts = list(_unread(manifest, source))
        except ValueError as error:
            text = f"the ids that were read of {name} are no intervals: {error}"
            yield Problem("manifest", NAME, text, remedies.restore)
            continue
        for text in texts:
            yield Problem("coverage", name, text, remedies.run)


def covered(source: SourceEntry) -> list[Interval]:
    """Return the intervals of a source; ValueError where one of them is none."""
    intervals = [Interval(int(first), int(last)) for first, last in source.covered]
    for interval in intervals:
        if not 0 < interval.first <= interval.last <= LAST:
            raise ValueError(f"{interval.first} to {interval.last}")
    return intervals


def differences(source: SourceEntry, other: SourceEntry) -> Iterator[str]:
    """Yield the ids that the first of them covers, and the other does not."""
    rest = covered(source)
    for interval in covered(other):
        rest = subtract(rest, interval.first, interval.last)
    yield from (id_range(interval.first, interval.last) for interval in rest)


def id_range(first: int, last: int) -> str:
    """Return an interval of ids in words."""
    return f"id {first}" if first == last else f"ids {first} to {last}"


def _unread(manifest: Manifest, source: SourceEntry) -> Iterator[str]:
    """Yield what of a source was not read: gaps, and an end that no probe has confirmed."""
    intervals = covered(source)
    until, proven = number(manifest.until or ""), number(source.proven or "")
    if source.proven is not None and proven is None:
        raise ValueError(f"proven is {source.proven!r}")
    if manifest.complete and source.state == "failed" and source.asked:
        yield f"it was not read to its end: {source.error}"
    if source.state != "open" or not source.asked:
        return
    for gap in gaps(intervals, max((each.last for each in intervals), default=0)):
        yield f"{id_range(gap.after + 1, gap.until)} were not read"
    if until is not None and (proven or 0) < until:
        end = "its end was never confirmed" if not proven else f"its end was confirmed up to id {proven} only"
        yield f"{end}, and the export ends at id {until}"


def _sums(manifest: Manifest) -> Iterator[str]:
    files = [entry for entry in manifest.files if entry.role == "part"]
    stored = sum(entry.messages for entry in files)
    wrote = sum(source.messages for source in manifest.sources)
    if stored != manifest.messages:
        yield f"its files have {stored:,} messages, and it says {manifest.messages:,}"
    # Blocks that were cut out of a journal, and found again, may be of no source.
    if wrote > manifest.messages:
        yield f"its sources have {wrote:,} messages, and it says {manifest.messages:,}"
    for name, count in Counter(entry.name for entry in manifest.files).items():
        if count > 1:
            yield f"it names the file {name} {count} times"
    for entry in manifest.files:
        if manifest.complete and entry.role == "spool":
            yield f"a complete export has no spool, such as {entry.name}"


def _until(manifest: Manifest) -> Iterator[str]:
    if manifest.until is not None and number(manifest.until or "") is None:
        yield f"it ends at {manifest.until!r}, which is no id"


def _plan(manifest: Manifest) -> Iterator[str]:
    try:
        plan = Plan.parse(bytes(manifest.plan))
    except Exception as error:  # each field of a plan is refused in its own way
        yield f"its plan cannot be read: {error}"
        return
    if plan.fingerprint != manifest.fingerprint:
        yield "its fingerprint is not that of its plan"
    known = {tuple(source.source) for source in manifest.sources}
    for source in plan.sources:
        if manifest.complete and (source.kind, *source.names) not in known:
            yield f"its plan names {source}, which was not read"
