"""`export`: build a plan from options, run it with a progress display, and print a summary.

An incomplete export fails with status 1 and prints a line for each failed source. When a run stops early, its
last line says how to continue.
"""

import asyncio
import errno
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Raw, structs

from ..._parameters.fields import words_of
from ..._texts import plural
from ...errors import AuthenticationError, ChatRestError, ExportIncompleteError
from .. import streams
from ..command_options import (
    QUIET,
    ExistingFile,
    LocalPath,
    SectionCommand,
    check_together,
    option_table,
    seconds_of_age,
    shown_default,
    time_in_utc,
    whole_number,
)
from ..environment import can_continue, continuation, proxy, root_option, run, session
from ..streams import ProgressLine, regularly
from .apps import export_apps
from .status import Totals, estimate_facts, failure_lines, place_of, summary

if TYPE_CHECKING:
    from ...export import Plan, Progress, Report
    from ...export.run.monitor import Monitor
    from ...session import AsyncSession

# Copies of the plan's constants: importing them would slow the help text down. A test compares them.
FORMATS: Final = ("ndjson", "parquet")
COMPRESS: Final = ("none", "gzip", "zstd")
PARTITIONS: Final = ("none", "source", "month", "day")
TABLES: Final = (
    "users", "groups", "members", "conversations", "bans", "friends", "blocks", "reactions",
)  # fmt: skip
_PLAN: Final = (
    "all_users", "users", "pairs", "groups", "everything", "since", "until", "format_", "compress",
    "partition",
)  # fmt: skip
"""The options that make the plan; the others are those of a run."""
WORKERS: Final = 32
_MAX_WORKERS: Final = 90  # as many calls as a session runs at a time for bulk work
_FAILURES_SHOWN: Final = 20
_TOGETHER: Final = (
    ("--only", "--change-plan",
     "--only leaves the plan as it is, and --change-plan changes it: give one of them"),
    ("--part", "--claim", "--part names a part, and --claim takes the next one: give one of them"),
    ("--parts --part --claim --dask", "--only --change-plan",
     ("the plan of an export of parts (also of --dask) never changes, and is read completely: give it "
      "without --only and --change-plan")),
    ("--dask", "--part --claim", "--dask runs all parts: give it without --part and --claim"),
    ("--dask", "--apps", "--dask reads one app: for many, run the command with --claim on several machines"),
    ("--dry-run", "--parts --part --claim --dask --apps",
     ("--dry-run estimates the export of one app, all parts together: give it without --parts, --part, "
      "--claim, --dask and --apps")),
)  # fmt: skip


def _tables(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    names = () if value is None else tuple(name.strip() for name in value.split(","))
    for name in names:
        if name not in TABLES:
            raise click.BadParameter(f"{name!r}: expected {words_of(TABLES)}")
    return names


@click.command(cls=SectionCommand, short_help="Export messages to files; continues after an interruption.")
@click.argument("out")
@option_table(
    "Messages to read",
    ("--all-users", bool, None, "The messages of every user.  [default if no source is named]"),
    ("--user users", None, "UID", "The messages of this user. May be repeated.", {"multiple": True}),
    ("--pair pairs", None, "UID UID", "The messages between two users. May be repeated.",
     {"nargs": 2, "multiple": True}),
    ("--group groups", None, "GUID", "The messages of this group. May be repeated.", {"multiple": True}),
    ("--everything", bool, None, "The app's own list of all messages, instead of other sources."),
    ("--since", time_in_utc, "T",
     "Sent at T or later: 2026-11-01, 2026-11-01T12:00Z, yesterday, or 7d (ago)."),
    ("--until", time_in_utc, "T", "Sent at T or earlier; a date is its whole day (UTC)."),
    "Files",
    ("--format format_", FORMATS, "FORMAT", "ndjson or parquet.  [default: ndjson]"),
    ("--compress", COMPRESS, "HOW", "none, gzip or zstd.  [default: none; zstd for parquet]"),
    ("--partition", PARTITIONS, "BY",
     "source, month or day (UTC), or none: one for all.  [default: source; parquet: month]"),
    ("--with tables", None, "TABLES", f"Also: {', '.join(TABLES)}.", {"callback": _tables}),
    ("--attachments", bool, None, "Also the files of messages."),
    ("--max-attachment", whole_number(1), "MB", "As --attachments, but no larger file.  [default: 100]"),
    "Later runs",
    ("--recheck", seconds_of_age, "AGO",
     "Read the last 12h, 7d or 2w again, to find edited and deleted messages."),
    ("--only", bool, None, "Read messages of just the sources and the window given here; the plan stays."),
    ("--change-plan", bool, None, "Make the sources and the window given here the plan."),
    "Large exports",
    ("--workers", whole_number(1, _MAX_WORKERS), "N",
     f"Sources that are read at the same time, at most {_MAX_WORKERS}.", shown_default(WORKERS)),
    ("--parts", whole_number(1, 10_000), "P", "Make a new export of P parts, OUT/part=00 and so on."),
    ("--part", whole_number(0), "N", "Run part N, and no other one."),
    ("--claim", bool, None, "Run the next part that no other process has, until all are read."),
    ("--dask", None, "ADDRESS",
     "Run the parts on a Dask cluster: tcp://HOST:PORT, tls://HOST:PORT or local:N."),
    "Many apps, object stores",
    ("--apps", ExistingFile(), "FILE", "Export each app of a TOML file into OUT/app=NAME."),
    ("--journal", LocalPath(), "DIR",
     "The local copy of an export in an object store.  [default: named by the address]"),
    "Options",
    ("--dry-run", bool, None, "Write nothing; show about what it takes: messages and requests."),
    ("--json as_json", bool, None, "Print the summary or the estimate as one JSON object."),
    QUIET,
)  # fmt: skip
def export(
    out: str,
    journal: Path | None,
    max_attachment: int | None,
    dask: str | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    apps: str | None,
    **given: Any,
) -> None:
    """Export messages to files in OUT, exactly as the service sends them.

    \b
    Examples:
      chatrest export backup                 all users; the same command later adds what is new
      chatrest export backup --recheck 7d    also find what was edited or deleted in the last week
      chatrest export talk --pair alice bob --since 2026-01-01
      chatrest export backup --with users,groups,members --attachments
      chatrest export backup --dry-run       estimate the size; write nothing
      chatrest export s3://bucket/chat       into an object store (also gs://… and az://…)

    If it is interrupted, run it again: it continues. Sources, window, files and tables of the first run are
    the plan of OUT: later runs need none of these options, and others are refused. The messages are below
    OUT/messages, each once; `chatrest cat OUT` prints them, and `chatrest verify OUT` checks all of it.

    \b
    chatrest guide exports                   sources, the plan, failures, and what is in OUT
    chatrest guide tables                    --with and --attachments
    chatrest guide parts                     --parts, --part, --claim and --dask
    chatrest guide object-stores, many-apps  --journal, and --apps

    Exit status: 0 the export is complete (with --only: what it names was read), 1 it is not, 2 wrong usage,
    130 interrupted, 143 ended by SIGTERM.
    """
    check_together(*_TOGETHER)
    root, plan, options = _local_copy(out, journal), _plan_of(given), _options_of(given, max_attachment)
    is_part = options.keys() & {"only", "change_plan"}
    if plan is None and is_part:
        name = "--only" if "only" in options else "--change-plan"
        raise click.UsageError(f"{name} needs sources or a window, such as --user UID or --since T")
    if apps is not None and root_option("app"):
        raise click.UsageError("--app names one app, and --apps exports all of a file: give one of them")
    if dask is not None and proxy() is not None:
        raise click.UsageError(
            "--dask cannot be used with a proxy (--proxy, CHATREST_PROXY): its workers have none"
        )
    if apps is not None:
        options["journal"] = journal
        export_apps(out, apps, plan, options, as_json=as_json, quiet=quiet)
        return
    if dry_run:
        _estimate(out, plan, options, as_json=as_json)
        return
    from ...export import Progress, export
    from ...export.run.monitor import Monitor

    progress = Progress()
    monitor = Monitor(progress)
    options |= {"journal": root, "progress": progress}

    async def work() -> "Report":
        async with session(progress.heard) as chat, _shown(monitor, line, chat):
            if dask is None:
                return await export(chat, out, plan, **options)
            cluster_options = {**options, "journal": journal}
            return await _export_by_cluster(chat, dask, out, plan, cluster_options, quiet=quiet)

    if root is not None and not quiet:
        streams.warn(f"the local copy of {out} is in {root}")
    again = {"--journal": journal, "--dask": dask, "--part": given["part"], "--claim": given["claim"]}
    hint = partial(_resume_hint, out, {} if is_part else again, progress)
    with hint(), ProgressLine(quiet=quiet) as line:
        report = run(work())
    totals = _files(out, Path(out) if root is None else root, report.part)
    seconds, reasons = monitor.elapsed, {"reasons": report.all_reasons}
    members = {"export": out} | structs.asdict(report) | reasons | totals._asdict() | {"seconds": seconds}
    facts = summary(report, progress, out, totals, seconds, is_claimed=given["claim"])
    streams.write_result(members, streams.fact_lines(facts), as_json=as_json, quiet=quiet)
    for text in (*report.warnings, *failure_lines(report, _FAILURES_SHOWN, place_of(report, out))):
        streams.warn(text)
    with hint():
        report.check()


def _local_copy(out: str, journal: Path | None) -> Path | None:
    """Return the folder of the local copy of the export in `out`; None if `out` is a folder itself."""
    from ..._cloud.address import is_address
    from ...export.run.folder_run import journal_root

    if journal is not None and not is_address(out):
        raise click.UsageError(f"--journal is for an export in an object store: {out!r} is a folder")
    return journal_root(out, journal)


def _shown(monitor: "Monitor", line: ProgressLine, chat: "AsyncSession") -> AbstractAsyncContextManager[None]:
    """Show the progress of this task during the block; a service that does not answer is wrong."""
    from ...export import Phase

    task = asyncio.current_task()
    assert task is not None

    def update() -> None:
        snapshot = monitor.snapshot(chat.pools.values(), stopping=task.cancelling() > 0)
        phase = "" if snapshot.phase is Phase.BEGINNING else snapshot.phase
        is_outage = monitor.progress.trouble not in (None, "RateLimitError")
        line.show(snapshot.line, phase, is_wrong=is_outage and bool(snapshot.waits))

    return regularly(update)


async def _export_by_cluster(
    chat: "AsyncSession", dask: str, out: str, plan: "Plan | None", options: dict[str, Any], *, quiet: bool
) -> "Report":  # fmt: skip
    from ...distributed.cluster import connect
    from ...distributed.cluster_export import export_with, parts_of_new

    async with connect(dask, chat.app) as client:
        if "parts" not in options and (parts := await parts_of_new(client, out)) is not None:
            options["parts"] = parts
            if not quiet:
                streams.warn(
                    f"{out} becomes an export of {plural(parts, 'part')}; --parts gives another number"
                )
        return await export_with(client, chat, out, plan, **options)


def _plan_of(given: Mapping[str, Any]) -> "Plan | None":
    from ...export import Plan

    named = {name.rstrip("_"): given[name] for name in _PLAN if given[name] not in (None, (), False)}
    return Plan(**named) if named else None


def _options_of(given: Mapping[str, Any], max_megabytes: int | None) -> dict[str, Any]:
    from ...export import AttachmentOptions

    options = {
        name: value
        for name, value in given.items()
        if name not in _PLAN and value not in (None, ()) and value is not False
    }
    if max_megabytes is not None:
        options["attachments"] = AttachmentOptions(max_bytes=max_megabytes * 1_000_000)
    return options


def _estimate(out: str, plan: "Plan | None", options: Mapping[str, Any], *, as_json: bool) -> None:
    from ...export.run.dry_run import Estimate, estimate
    from ...export.run.night import has_parts

    known = {name: options[name] for name in ("only", "change_plan") if name in options}

    async def work() -> Estimate:
        if await has_parts(out):
            raise click.UsageError(
                f"--dry-run estimates one export, and {out} has parts: estimate a new folder"
            )
        async with session() as chat:
            return await estimate(chat, plan, out, **known)

    result = run(work())
    members = {"export": out, **structs.asdict(result)}
    members["plan"] = Raw(result.plan.encoded())
    facts = streams.fact_lines(estimate_facts(result, out))
    streams.write_result(members, facts, as_json=as_json)
    result.check()


@contextmanager
def _resume_hint(out: str, options: Mapping[str, object], progress: "Progress") -> Iterator[None]:
    """Add to an error of the block how to continue; without `options` the command is given as it was."""
    try:
        yield
    except BaseException as error:
        from ...export.fetch.worker_pool import first_error

        cause = first_error(error)
        if progress.written and isinstance(cause, Exception) and not isinstance(cause, ExportIncompleteError):
            cause.add_note(f"this run has stored {plural(progress.written, 'new message')}")
        if advice := _advice(cause, out, options, progress):
            cause.add_note(advice)
        raise


def _advice(error: BaseException, out: str, options: Mapping[str, object], progress: "Progress") -> str:
    from ..._storage import InUseError, UnreadableError
    from ...export.verify.result import Remedy

    has_plan, again = progress.phase.has_plan and bool(options), "run the same command again"
    command = continuation("export", [out], options) if has_plan else again
    match error:
        case ExportIncompleteError():
            if error.can_continue:
                return again
            # Without a failed source there is nothing that another plan leaves out: the reason says more.
            return Remedy.CHANGE_PLAN.words(out, "") if progress.failed else ""
        case InUseError():
            return "wait until it ends, then run this command again"
        case AuthenticationError():
            return f"no exported message is lost; {command}" if progress.written else command
        case OSError(errno=errno.ENOSPC | errno.EDQUOT) if not isinstance(error, ChatRestError):
            return f"free some space and {command}"
        case _ if isinstance(error, UnreadableError) or not can_continue(error):
            return ""  # the text of the first says what to do
        case OSError() if not has_plan:
            return ""
    return command


def _files(out: str, folder: Path, part: str = "") -> Totals:
    """Return the files of the export in `out`, here in `folder`: of all its parts, or of one."""
    from ...export import Plan
    from ...export.folder import manifest
    from ...export.read.exports import addresses_of, parts_at

    names = [f"{below}{manifest.NAME}" for below in ("", "export/")]  # the second one is a local copy
    single = [] if part else [folder / name for name in names if (folder / name).is_file()]
    paths = single or [path for name in names for path in sorted(folder.glob(f"{part or 'part=*'}/{name}"))]
    contents = [manifest.read(path) for path in paths]
    sizes = [file.bytes for each in contents for file in each.files]
    if not contents:
        return Totals("", "", 0, 0)
    plan = Plan.parse(bytes(contents[0].plan))
    if not single:  # the plan of a part has its own sources alone
        parts = None if part else parts_at(addresses_of(out))
        return Totals("" if parts is None else parts.plan.full_words, plan.format, len(sizes), sum(sizes))
    return Totals(plan.full_words, plan.format, len(sizes), sum(sizes))
