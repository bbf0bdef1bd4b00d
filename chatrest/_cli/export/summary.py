"""The lines of the summary of an export, and of its estimate."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from ..._texts import duration, name_list, plural, size
from ..streams import one_line

if TYPE_CHECKING:
    from ...export import AttachmentCounts, Progress, Report
    from ...export.run.dry_run import Estimate

_KEPT_SHOWN: Final = 5
"""Of the sources that are kept: there may be thousands, in every run."""


class Totals(NamedTuple):
    """The files of an export."""

    format: str
    files: int
    bytes: int


# ── the summary ──


def summary_lines(
    report: "Report", progress: "Progress", out: str, totals: Totals, seconds: float,
    *, is_claimed: bool = False,
) -> Iterator[str]:  # fmt: skip
    """The summary of a run that took `seconds`, one fact per line."""
    yield from _export_lines(report, out, totals, is_claimed=is_claimed)
    yield _fact("messages", f"{report.messages:,}, {report.written:,} of them new")
    if report.missing:
        reason = "from a missing file, and no longer on the service"
        yield _fact("missing", f"{report.missing:,} {reason}: see manifest.json")
    if report.changed or report.deleted:
        yield _fact("changed", f"{report.changed:,}; their older versions are kept in the history")
        yield _fact(
            "deleted", f"{report.deleted:,}, by their authors or no longer returned; they stay in the export"
        )
    failed = f", {len(report.failed):,} of them failed" if report.failed else ""
    yield _fact("sources", f"{report.sources:,}{failed}")
    if report.only:
        yield _fact("unread", unread_words(report))
    if report.kept:
        yield _fact(
            "kept", f"{name_list(report.kept, _KEPT_SHOWN)}; no longer asked for, not read by this run"
        )
    if report.deleted_users:
        yield _fact("users", f"deleted: {name_list(report.deleted_users)}; their messages stay in the export")
    if report.tables:
        yield _fact("tables", ", ".join(f"{rows:,} {table}" for table, rows in report.tables.items()))
    if report.attachments is not None:
        yield _fact("attached", attachments_line(report.attachments))
    if totals.files:
        yield _fact("files", f"{totals.files:,}, {size(totals.bytes)}")
    repeated = f", {progress.repeated:,} repeated" if progress.repeated else ""
    yield _fact("requests", f"{report.requests:,}, {progress.limited:,} answered 429{repeated}")
    rate = f", {report.written / max(seconds, 1e-3):,.0f} messages/s" if report.written else ""
    yield _fact("time", f"{duration(seconds)}{rate}")


def _export_lines(report: "Report", out: str, totals: Totals, *, is_claimed: bool) -> Iterator[str]:
    yield _fact(
        "export", ", ".join(filter(None, (place_of(report, out), totals.format, state_words(report))))
    )
    if report.part:
        yield _fact("part", f"only {report.part} was read: `status {out}` shows all parts")
    if is_claimed:
        yield _fact(
            "parts", "messages and files are of all parts, the rest of those that this process has read"
        )


def place_of(report: "Report", out: str) -> str:
    """Return the folder or address that a report is about: of a run of one part, that of the part."""
    return f"{out.rstrip('/')}/{report.part}" if report.part else out


def state_words(report: "Report") -> str:
    """Return how much of the export's plan is there after a run."""
    if report.only and not report.failed and not report.reasons:
        return "a part of the plan"
    if not report.complete:
        return "NOT COMPLETE"
    return "complete as far as the app's own list shows" if report.by_app_list else "complete"


def unread_words(report: "Report") -> str:
    """Return what a run with --only has not read."""
    others = plural(report.not_read, "other source") if report.not_read else "the others"
    return f"{others} of the plan: only {name_list(report.only, _KEPT_SHOWN)}"


def attachments_line(counts: "AttachmentCounts") -> str:
    """The attachments of an export by what has become of their files; those of no count are left out."""
    others = {
        "no longer on their server": counts.gone,
        "too large": counts.too_large,
        "at an address that is not allowed": counts.refused,
        "failed": counts.failed,
        "left to the next run": counts.pending,
    }
    parts = [f"{count:,} {words}" for words, count in others.items() if count]
    return ", ".join([f"{counts.stored:,}, {counts.fetched:,} of them new ({size(counts.bytes)})", *parts])


def failure_lines(report: "Report", most: int, out: str) -> Iterator[str]:
    """The failed sources of an export, at most so many."""
    for failure in report.failed[:most]:
        yield f"{failure.source}: {failure.error}"
    if (more := len(report.failed) - most) > 0:
        yield f"and {more:,} more failed sources: see {out.rstrip('/')}/manifest.json"


# ── an estimate ──


def estimate_lines(estimate: "Estimate", out: str, workers: int) -> Iterator[str]:
    """The work of a run with this plan, at least, one fact per line."""
    least = "at least " if estimate.whole < estimate.sources else ""
    yield _fact("export", f"{out}, {estimate.plan.format}; nothing was written")
    complete = f", of which {estimate.whole:,} are up to date" if estimate.whole else ""
    yield _fact("sources", f"{estimate.sources:,}{complete}")
    for failure in estimate.refused:
        yield _fact("refused", f"{failure.source}: {failure.error}")
    newest = "" if estimate.newest is None else f"; the app's newest id is {estimate.newest:,}"
    yield _fact("messages", f"{least}{estimate.messages:,} new{newest}")
    yield _fact("requests", f"{least}{estimate.requests:,}")
    limit = "no rate limit was reported"
    if estimate.rate is not None:
        limit = f"the rate limit is about {estimate.rate:,.0f} requests a minute"
    yield _fact("time", f"{least}{duration(estimate.seconds)}, with {plural(workers, 'worker')}; {limit}")
    left = plural(estimate.sources - estimate.whole, "list")
    yield _fact("basis", f"{plural(estimate.asked, 'request')}; a page of {estimate.sampled:,} of {left}")


def _fact(name: str, text: str) -> str:
    return f"{name:<9} {one_line(text)}"
