"""The summary of an export, and its estimate: a name and a text for each fact."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from ..._texts import duration, name_list, plural, size

if TYPE_CHECKING:
    from ...export import AttachmentCounts, Progress, Report
    from ...export.run.dry_run import Estimate

_KEPT_SHOWN: Final = 5  # there may be thousands, in every run


class Totals(NamedTuple):
    plan: str
    format: str
    files: int
    bytes: int


def summary(
    report: "Report", progress: "Progress", out: str, totals: Totals, seconds: float,
    *, is_claimed: bool = False,
) -> Iterator[tuple[str, str]]:  # fmt: skip
    yield "export", ", ".join(filter(None, (place_of(report, out), totals.format, state_words(report))))
    yield "plan", totals.plan
    yield "part", f"only {report.part} was read: `status {out}` shows all parts" if report.part else ""
    claimed = "messages and files are of all parts, the rest of those that this process has read"
    yield "parts", claimed if is_claimed else ""
    yield "messages", f"{report.messages:,}, {report.written:,} of them new"
    missing = f"{report.missing:,} from a missing file, and no longer on the service: see manifest.json"
    yield "missing", missing if report.missing else ""
    if report.changed or report.deleted:
        yield "changed", f"{report.changed:,}; their older versions are kept in the history"
        reason = "by their authors or no longer returned"
        yield "deleted", f"{report.deleted:,}, {reason}; they stay in the export"
    failed = f", {len(report.failed):,} of them failed" if report.failed else ""
    yield "sources", f"{report.sources:,}{failed}"
    yield "skipped", skipped_words(report)
    names = f"{name_list(report.kept, _KEPT_SHOWN)}; no longer asked for, not read by this run"
    yield "kept", names if report.kept else ""
    users = f"deleted: {name_list(report.deleted_users)}; their messages stay in the export"
    yield "users", users if report.deleted_users else ""
    yield "tables", ", ".join(f"{rows:,} {table}" for table, rows in report.tables.items())
    yield "attached", "" if report.attachments is None else attachments_text(report.attachments)
    yield "files", f"{totals.files:,}, {size(totals.bytes)}" if totals.files else ""
    repeated = f", {progress.repeated:,} repeated" if progress.repeated else ""
    yield "requests", f"{report.requests:,}, {progress.limited:,} answered 429{repeated}"
    rate = f", {report.written / max(seconds, 1e-3):,.0f} messages/s" if report.written else ""
    yield "time", f"{duration(seconds)}{rate}"


def place_of(report: "Report", out: str) -> str:
    """Return the folder or address that a report is about: of a run of one part, that of the part."""
    return f"{out.rstrip('/')}/{report.part}" if report.part else out


def state_words(report: "Report") -> str:
    if report.only and not report.failed and not report.reasons:
        return "a part of the plan"
    if not report.complete:
        return "NOT COMPLETE"
    return "complete as far as the app's own list shows" if report.by_app_list else "complete"


def skipped_words(report: "Report") -> str:
    if not report.only:
        return ""
    skipped = plural(report.not_read, "other source") if report.not_read else "the other sources"
    return f"{skipped} of the plan: only {name_list(report.only, _KEPT_SHOWN)}"


def attachments_text(counts: "AttachmentCounts") -> str:
    counts_by_state = {
        "no longer on their server": counts.gone,
        "too large": counts.too_large,
        "at an address that is not allowed": counts.refused,
        "failed": counts.failed,
        "left to the next run": counts.pending,
    }
    parts = [f"{count:,} {words}" for words, count in counts_by_state.items() if count]
    return ", ".join([f"{counts.stored:,}, {counts.fetched:,} of them new ({size(counts.bytes)})", *parts])


def failure_lines(report: "Report", most: int, out: str) -> Iterator[str]:
    for failure in report.failed[:most]:
        yield f"{failure.source}: {failure.error}"
    if (more := len(report.failed) - most) > 0:
        yield f"and {more:,} more failed sources: see {out.rstrip('/')}/manifest.json"


def estimate_facts(estimate: "Estimate", out: str) -> Iterator[tuple[str, str]]:
    yield "export", f"{out}, {estimate.plan.format}; nothing was written"
    complete = f", of which {estimate.whole:,} are up to date" if estimate.whole else ""
    yield "sources", f"{estimate.sources:,}{complete}"
    for failure in estimate.refused:
        yield "refused", f"{failure.source}: {failure.error}"
    least = "at least " if estimate.whole < estimate.sources else ""
    newest = "" if estimate.newest is None else f"; the app's newest id is {estimate.newest:,}"
    yield "messages", f"{least}{estimate.messages:,} new{newest}"
    yield "requests", f"about {estimate.requests:,}, if no list has more than a page"
    lists = plural(estimate.sources - estimate.whole, "list")
    yield "basis", f"{plural(estimate.asked, 'request')}; a page of {estimate.sampled:,} of {lists}"
