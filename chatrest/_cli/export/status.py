"""The state of an export in words: the command `status`, the summary of a run, and its estimate."""

import shlex
from collections.abc import Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Final, NamedTuple

import click
import msgspec

from ..._texts import about, duration, name_list, plural, size
from .. import streams
from ..command_options import AS_JSON, option_table
from ..environment import invocation
from ..record_formats import local_time

if TYPE_CHECKING:
    from ...export import AttachmentCounts, Plan, Progress, Report, RunEntry
    from ...export.read.facts import ExportFacts, PartFacts
    from ...export.run.dry_run import Estimate

_KEPT_SHOWN: Final = 5  # there may be thousands, in every run
_STATES: Final = {
    "complete": "complete",
    "not begun": "NOT BEGUN: no run has written anything yet",
    "not complete": "NOT COMPLETE",
    "running": "a run is writing: the messages are those that it has committed by now",
    "interrupted": "INTERRUPTED: the last run did not come to its end",
    "damaged": "DAMAGED",
}
_AS_FAR: Final = " as far as the app's own list shows"
_SHOWN: Final = 5
_PARTS_SHOWN: Final = 100


@click.command(short_help="Show what is in an export, how far it is, and what is missing.")
@click.argument("out")
@option_table(AS_JSON)
def status(out: str, as_json: bool) -> None:
    """Show the state of the export in OUT, a folder or the address of an object store.

    \b
    Examples:
      chatrest status out
      chatrest status s3://bucket/chat --json | jq -r .state

    Shows what is in it, its plan, its last run, what is missing, and what to do next; of a folder of exports,
    by parts or by apps, one summary, and a line for each that is not complete. It reads no message, needs no
    credentials of the service, and changes nothing; a run may be writing meanwhile. The exit status is 0
    whatever the state is: it is `state` in --json.
    """
    from ...export.folder.run_log import entry_members
    from ...export.read.facts import facts_of  # imports aiohttp, which a help text does not need

    facts = facts_of(out)
    members = msgspec.structs.asdict(facts) | {"next": next_steps(facts)}
    members["last_run"] = facts.last_run and entry_members(facts.last_run)
    streams.write_result(members, streams.fact_lines(lines_of(facts)), as_json=as_json)


def lines_of(facts: "ExportFacts") -> Iterator[tuple[str, str]]:
    """Yield the facts for a person as lines: a name, "" where it is that of the line above, and a text."""
    plan = facts.plan_value
    state = _STATES[facts.state] + (_AS_FAR if facts.state == "complete" and _is_by_app_list(facts) else "")
    yield "export", ", ".join(filter(None, (facts.export, plan.format if plan else "", state)))
    if facts.parts:
        yield from _parts(facts.parts)
    elif facts.state not in ("complete", "running"):
        yield from (("", reason) for reason in facts.reasons[:_SHOWN])
    if plan:
        yield "app", facts.app
        yield "plan", _plan_text(plan)
        yield from _contents(facts)
    if facts.last_run is not None:
        yield "last run", _run_text(facts.last_run)
    for index, step in enumerate(next_steps(facts)):
        yield "" if index else "next", step


def _parts(parts: "list[PartFacts]") -> Iterator[tuple[str, str]]:
    incomplete = [each for each in parts if each.state != "complete"]
    kind = "parts" if any("part=" in each.export for each in parts) else "apps"
    yield kind, f"{len(parts):,}, {len(parts) - len(incomplete):,} of them complete"
    for each in incomplete[:_PARTS_SHOWN]:
        reason = f": {each.reasons[0]}" if each.reasons else ""
        yield "", f"{each.export}, {each.messages:,} messages, {_STATES[each.state]}{reason}"
    if (more := len(incomplete) - _PARTS_SHOWN) > 0:
        yield "", f"and {more:,} more"


def _contents(facts: "ExportFacts") -> Iterator[tuple[str, str]]:
    ids = f", ids {facts.first_id} to {facts.last_id}" if facts.first_id else ""
    is_known = facts.until and facts.state == "complete" and not _is_by_app_list(facts)
    until = f", complete up to id {facts.until}" if is_known else ""
    yield "messages", f"{facts.messages:,}{ids}{until}"
    counts = facts.sources
    parts = (
        (counts.complete, "complete"), (counts.left, "left to the next run"), (counts.failed, "failed"),
    )  # fmt: skip
    unknown = "not known" if facts.state == "damaged" else "none yet"
    yield "sources", ", ".join(f"{count:,} {words}" for count, words in parts if count) or unknown
    for each in facts.failed[:_SHOWN]:
        yield "", f"{each.source}: {each.error}"
    if (more := len(facts.failed) - _SHOWN) > 0:
        yield "", f"and {more:,} more: see manifest.json"
    yield "files", f"{facts.files:,}, {size(facts.bytes)}"


def _is_by_app_list(facts: "ExportFacts") -> bool:
    return facts.last_run is not None and facts.last_run.by_app_list


def _plan_text(plan: "Plan") -> str:
    """Return `all users; group team, since=2026-01-01, files by month (zstd)`."""
    files = "one file" if plan.partition == "none" else f"files by {plan.partition}"
    packing = "" if plan.compress == "none" else f" ({plan.compress})"
    return f"{plan.full_words}, {files}{packing}"


def _run_text(run: "RunEntry") -> str:
    changes = ((run.written, "new"), (run.changed, "changed"), (run.deleted, "deleted"))
    counts = ", ".join(f"{count:,} {words}" for count, words in changes if count) or "nothing new"
    end = "complete" if run.complete else "not complete"
    end += _AS_FAR if run.complete and run.by_app_list else ""
    began = local_time(run.started, UTC)
    text = f"{began} UTC, {about(run.seconds)}: {counts}, {plural(run.requests, 'request')}, {end}"
    return f"{text}, {run.part}" if run.part else text


def next_steps(facts: "ExportFacts") -> list[str]:
    out, command = shlex.quote(facts.export), invocation()
    if facts.state == "damaged":
        return [f"{command} verify {out}   # says what is damaged, and what can safely be done"]
    if facts.state == "not complete" and facts.next_run == "fails":
        if not facts.failed:  # another plan leaves nothing out: the reason says what can be done
            return []
        return [f"{command} export {out} --change-plan …   # other sources: the same ones would fail again"]
    if facts.state in ("interrupted", "not begun", "not complete"):
        return [f"{command} export {out}   # continues it"]
    return []


# ── the summary of a run, and its estimate: a name and a text for each fact ──


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
