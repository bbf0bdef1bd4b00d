"""`status`: what is in an export, how far it is, and what to do next; without the service."""

import shlex
from collections.abc import Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Final

import click
import msgspec

from ..._texts import about, plural, size
from .. import streams
from ..command_options import AS_JSON, option_table
from ..environment import invocation
from ..record_formats import local_time

if TYPE_CHECKING:
    from ...export import Plan, RunEntry
    from ...export.read.facts import ExportFacts, PartFacts

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
