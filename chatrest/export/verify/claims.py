"""Check the claims of a manifest: by themselves, and against the rows of the journal. No file is read."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct, structs

from ...core.paging.intervals import Interval, gaps
from ..id_set import IdSet
from ..journal import Journal
from ..manifest import NAME as MANIFEST, Manifest, SourceEntry, journal_claims
from ..message_ids import number
from ..plan import Plan
from .records import key_number

_SHOWN: Final = 80
"""Characters of a value that are shown."""


# ── by themselves ──


def contradictions(manifest: Manifest) -> Iterator[str]:
    """Yield what in a manifest contradicts its other claims."""
    stored = sum(entry.messages for entry in manifest.files if entry.role == "part")
    wrote = sum(source.messages for source in manifest.sources)
    if stored != manifest.messages:
        yield f"its files have {stored:,} messages, and it says {manifest.messages:,}"
    # Blocks that were cut out of a journal, and found again, may be of no source.
    if wrote > manifest.messages:
        yield f"its sources have {wrote:,} messages, and it says {manifest.messages:,}"
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


def differences(journal: Journal, manifest: Manifest, *, counts_messages: bool) -> Iterator[str]:
    """Yield in words what the manifest of a finished run has otherwise than its journal.

    `counts_messages` is False where the journal does not count the messages of a source, as for a database.
    """
    claims = journal_claims(journal)
    sources: list[SourceEntry] = manifest.sources
    if not counts_messages:
        sources = [structs.replace(source, messages=0) for source in sources]
        claims["sources"] = [structs.replace(source, messages=0) for source in claims["sources"]]
    yield from _entry_differences(claims.pop("files"), manifest.files)
    yield from _entry_differences(claims.pop("sources"), sources)
    for name, value in claims.items():
        yield from _difference(f"its {name}", value, getattr(manifest, name))


def _entry_differences(expected: Sequence[Struct], entries: Sequence[Struct]) -> Iterator[str]:
    mine, others = ({_name(each): each for each in side} for side in (expected, entries))
    for name in {**mine, **others}:
        if name not in mine:
            yield f"it does not have {name}, which is in {MANIFEST}"
        elif name not in others:
            yield f"it has {name}, which is not in {MANIFEST}"
        else:
            for field in structs.fields(mine[name]):
                pair = (getattr(side[name], field.name) for side in (mine, others))
                yield from _difference(f"of {name}, {field.name}", *pair)


def _name(entry: Any) -> str:
    return " ".join(entry.source) if isinstance(entry, SourceEntry) else str(entry.name)


def _difference(what: str, value: Any, other: Any) -> Iterator[str]:
    if value != other:
        yield f"{what} is {_shown(value)} in the journal, and {_shown(other)} in {MANIFEST}"


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def compare_ids(
    journal: Journal, manifest: Manifest, written: IdSet | None
) -> Iterator[tuple[str | None, list[str]]]:
    """Yield (source, ids) of messages that a source has shown, and that are in no file.

    The proof of an export is that there are none. With None for the source: ids that no source has shown.

    `written` are the keys that were read from a database; None where the journal has the ids of all files.
    """
    sources = journal.sources()
    shown = {each.number: journal.seen(each.number) for each in sources}
    there = IdSet.union([journal.ids_in_blocks() if written is None else written])
    for row in journal.other_ids():
        key = IdSet([key_number(row.key)])
        shown.setdefault(row.source, IdSet()).update(key)
        if written is None and row.file is not None:
            there.update(key)
    if unseen := there - IdSet.union(shown.values()):
        yield None, _texts(journal, unseen)
    there.update(IdSet(map(key_number, manifest.missing)))
    for each in sources:
        if lacking := shown[each.number] - there:
            there.update(lacking)
            yield str(each.source), _texts(journal, lacking)


def _texts(journal: Journal, keys: IdSet) -> list[str]:
    """Return the texts of keys, also of those that are no numbers."""
    others = {key_number(row.key): row.key for row in journal.other_ids() if key_number(row.key) in keys}
    return [others.get(key, str(key)) for key in keys]
