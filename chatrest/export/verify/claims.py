"""Check the claims of a manifest, and the proof: what was seen is in the files. No file is read.

That the manifest is what the journal says needs no comparison: it has a hash of the journal's rows.
"""

from collections.abc import Iterator

from ...core.paging.intervals import Interval, gaps
from ..id_set import IdSet
from ..journal import Journal
from ..manifest import Manifest
from ..message_ids import number
from ..plan import Plan
from .files import key_number


def contradictions(manifest: Manifest) -> Iterator[str]:
    stored = sum(entry.messages for entry in manifest.files if entry.role == "part")
    if stored != manifest.messages:
        yield f"its files have {stored:,} messages, and it says {manifest.messages:,}"
    if manifest.complete and manifest.finished is None:
        yield "it is complete, and was never finished"
    if manifest.until is not None and number(manifest.until) is None:
        yield f"it ends at {manifest.until!r}, which is no id"
    try:
        plan = Plan.parse(bytes(manifest.plan))
    except Exception as error:  # each field of a plan is refused in its own way
        yield f"its plan cannot be read: {error}"
        return
    if plan.fingerprint != manifest.fingerprint:
        yield "its fingerprint is not that of its plan"
    known = {tuple(source.source) for source in manifest.sources}
    for source in plan.sources if manifest.complete else ():
        if (source.kind, *source.names) not in known:
            yield f"its plan names {source}, which was not read"


def unread(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield each source that was not read to its end, and what of it is missing: gaps, or its end."""
    until = number(manifest.until or "") or 0
    for source in manifest.sources:
        name = " ".join(source.source)
        if manifest.complete and source.state == "failed" and source.asked:
            yield name, f"it was not read to its end: {source.error}"
        if source.state != "open" or not source.asked:
            continue
        edges = [(number(first) or 0, number(last) or 0) for first, last in source.covered]
        if not all(0 < first <= last for first, last in edges):
            yield name, "the ids that were read of it are no intervals"
            continue
        for gap in gaps([Interval(*edge) for edge in edges], max((last for _, last in edges), default=0)):
            yield name, f"ids {gap.after + 1} to {gap.until} were not read"
        if (number(source.proven or "") or 0) < until:
            known = "never confirmed" if source.proven is None else f"confirmed up to id {source.proven} only"
            yield name, f"its end was {known}, and the export ends at id {until}"


def unproven(
    journal: Journal, manifest: Manifest, there: IdSet, adopted: IdSet
) -> Iterator[tuple[str | None, list[str]]]:
    """Yield (source, ids) of messages that a source has shown, and that are in no file.

    The proof of an export is that there are none. With None for the source: ids that no source has shown, but
    for those that were `adopted` with a file. `there` are the keys of all files.
    """
    sources = journal.sources()
    shown = {each.number: journal.seen(each.number) for each in sources}
    others = journal.others()
    for key, source, _ in others:
        shown.setdefault(source, IdSet()).update(IdSet([key_number(key)]))
    texts = {key_number(key): key for key, _, _ in others}
    if unseen := there - IdSet.union(shown.values()) - adopted:
        yield None, [texts.get(each, str(each)) for each in unseen]
    there = there | IdSet(map(key_number, manifest.missing))
    for each in sources:
        if lacking := shown[each.number] - there:
            there.update(lacking)
            yield str(each.source), [texts.get(key, str(key)) for key in lacking]
