"""Does what a manifest says of an export hold together? Pure: nothing but the manifest is asked."""

from collections import Counter
from collections.abc import Iterator

from ...core.intervals import Interval, gaps, subtract
from ..manifest import NAME, Manifest, SourceEntry
from ..plan import Plan
from ..workspace import LAST
from .verify_result import Problem


def contradictions(manifest: Manifest, again: str) -> Iterator[Problem]:
    """What of it is not so; `again` is the advice for what another run mends."""
    yield from _sums(manifest)
    yield from _plan(manifest)
    until = _number(manifest.until)
    if manifest.until is not None and until is None:
        yield Problem("manifest", NAME, f"it ends at {manifest.until!r}, which is no id")
    for source in manifest.sources:
        name = " ".join(source.source)
        if manifest.complete and source.state == "failed":
            yield Problem("coverage", name, f"it was not walked to its end: {source.error}", again)
        try:
            spans = covered(source)
        except ValueError as error:
            yield Problem("manifest", NAME, f"what is covered of {name} is no interval of ids: {error}")
            continue
        for text in _unread(spans, until) if source.state == "open" else ():
            yield Problem("coverage", name, f"{text} were not read", again)


def covered(source: SourceEntry) -> list[Interval]:
    """The intervals of a source; ValueError where one is none."""
    spans = [Interval(int(first), int(last)) for first, last in source.covered]
    for span in spans:
        if not 0 < span.first <= span.last <= LAST:
            raise ValueError(f"{span.first} to {span.last}")
    return spans


def differences(source: SourceEntry, other: SourceEntry) -> Iterator[str]:
    """What one of them covers, and the other does not."""
    left = covered(source)
    for span in covered(other):
        left = subtract(left, span.first, span.last)
    yield from (ids(span.first, span.last) for span in left)


def ids(first: int, last: int) -> str:
    """An interval of ids, in words."""
    return f"id {first}" if first == last else f"ids {first} to {last}"


def _unread(spans: list[Interval], until: int | None) -> Iterator[str]:
    # Where the service told no end, it is as far as each source went.
    end = max((span.last for span in spans), default=0) if until is None else until
    for hole in gaps(spans, end):
        yield ids(hole.after + 1, hole.until)


def _sums(manifest: Manifest) -> Iterator[Problem]:
    parts = [entry for entry in manifest.parts if entry.role != "history"]
    held = sum(entry.messages for entry in parts)
    wrote = sum(source.messages for source in manifest.sources)
    if held != manifest.messages:
        text = f"the parts have {held:,} messages, and it says {manifest.messages:,}"
        yield Problem("manifest", NAME, text)
    # Frames that were cut out of a journal, and told of again, may be of no source.
    if wrote > manifest.messages:
        text = f"the sources have {wrote:,} messages, and the export {manifest.messages:,}"
        yield Problem("manifest", NAME, text)
    for name, count in Counter(entry.name for entry in manifest.parts).items():
        if count > 1:
            yield Problem("manifest", NAME, f"it names the part {name} {count} times")
    for entry in parts:
        if manifest.complete and entry.role != "part":
            yield Problem("manifest", entry.name, f"a complete export has no part of the kind {entry.role}")


def _plan(manifest: Manifest) -> Iterator[Problem]:
    try:
        plan = Plan.parse(bytes(manifest.plan))
    except Exception as error:  # each field of a plan is refused in its own way
        yield Problem("manifest", NAME, f"its plan cannot be read: {error}")
        return
    if plan.fingerprint != manifest.fingerprint:
        yield Problem("manifest", NAME, "its fingerprint is not that of its plan")
    known = {tuple(source.source) for source in manifest.sources}
    for source in plan.sources:
        if manifest.complete and (source.kind, *source.names) not in known:
            yield Problem("coverage", str(source), "the plan names it, and it was not read")


def _number(until: str | None) -> int | None:
    return int(until) if until is not None and until.isdecimal() else None
