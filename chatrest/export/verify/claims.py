"""Check the claims of a manifest: by themselves, and against the rows of the journal. No file is read."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import structs

from ...core.paging.intervals import Interval, gaps
from ..id_set import IdSet
from ..journal import Journal
from ..manifest import NAME as MANIFEST, Manifest, SourceEntry, journal_claims
from ..message_ids import number
from ..plan import Plan
from .files import key_number

_SHOWN: Final = 80
"""Characters of a value that are shown."""


# ── by themselves ──


def contradictions(manifest: Manifest) -> Iterator[str]:
    """Yield what in a manifest contradicts its other claims."""
    stored = sum(entry.messages for entry in manifest.files if entry.role == "part")
    wrote = sum(source.messages for source in manifest.sources)
    if stored != manifest.messages:
        yield f"its files have {stored:,} messages, and it says {manifest.messages:,}"
    if wrote > manifest.messages:  # messages of files that were adopted may be of no source
        yield f"its sources have {wrote:,} messages, and it says {manifest.messages:,}"
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


# ── against the journal ──


def differences(journal: Journal, manifest: Manifest) -> Iterator[str]:
    """Yield in words what the manifest of a finished run has otherwise than its journal."""
    claims = journal_claims(journal)
    ours, theirs = _values(claims), _values({name: getattr(manifest, name) for name in claims})
    for name in {**ours, **theirs}:
        if name not in theirs:
            yield f"it has {name}, which is not in {MANIFEST}"
        elif name not in ours:
            yield f"it does not have {name}, which is in {MANIFEST}"
        else:
            for field, value in ours[name].items():
                if value != (other := theirs[name][field]):
                    yield f"{field} is {_shown(value)} in the journal, and {_shown(other)} in {MANIFEST}"


def _values(claims: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the values that are compared, in words, by the file or source that they are of."""
    values = dict[str, dict[str, Any]]()
    for name, value in claims.items():
        if name not in ("files", "sources"):
            values[f"a {name}"] = {f"its {name}": value}
        for entry in value if name in ("files", "sources") else ():
            own = " ".join(entry.source) if isinstance(entry, SourceEntry) else entry.name
            values[own] = {f"of {own}, {field}": each for field, each in structs.asdict(entry).items()}
    return values


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


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
