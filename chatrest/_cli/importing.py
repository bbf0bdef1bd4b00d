"""`import`: send files of records to the service, or check them, and print a summary."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import structs

from .._texts import plural
from ..errors import ChatRestError
from . import streams
from .command_options import AS_JSON, QUIET, LocalPath, option_table
from .environment import can_continue, continuation, run, session
from .streams import ProgressLine

if TYPE_CHECKING:
    from ..importing import ImportResult, Kind

# A copy of the constant: importing it would slow the help text down. A test compares them.
KINDS: Final = ("users", "groups", "members", "messages", "bans")


def _check_files(ctx: click.Context, param: click.Parameter, files: tuple[str, ...]) -> tuple[str, ...]:
    for file in files:  # before the environment is read; an address has an error of its own
        if not file or ("://" not in file and not Path(file).exists()):
            raise click.BadParameter(f"{file!r}: expected a file that exists")
    return files


@click.command(
    "import", short_help="Import users, groups, members, messages and bans; continues after an interruption."
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", callback=_check_files)
@option_table(
    ("--kind", KINDS, None, "The records of all files.  [default: detected per file]"),
    ("--journal", LocalPath(), None,
     "What is imported already.  [default: the first FILE's name with .import-journal]"),
    ("--dry-run", bool, None, "Send nothing; check every line, without network."),
    AS_JSON,
    QUIET,
)  # fmt: skip
def import_(
    files: tuple[str, ...],
    kind: "Kind | None",
    journal: Path | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Import FILEs of JSON lines (also .gz and .zst): of users, groups, members, messages or bans.

    They are imported in this order. A line is a record to import, or one that the service has shown, such as
    a line of an export: what no import takes of it is dropped, and listed at the end. If the import is
    interrupted, run the same command again: it continues, and no record is imported twice.

    \b
    Examples:
      chatrest import users.ndjson groups.ndjson members.ndjson messages.ndjson.gz
      chatrest import users.ndjson --dry-run      check every line

    \b
    A copy of an app: its export by `chatrest export OUT --with users,groups,members,bans`, and then
      chatrest cat OUT --sort time > messages.ndjson
      chatrest import OUT/users/users.ndjson OUT/groups/groups.ndjson \\
        OUT/members/members.ndjson messages.ndjson OUT/bans/bans.ndjson

    Each refused line is a line on standard error, with its file and number (with --json in the object).
    Exit status: 0 all is imported, 1 a line was refused, or it failed, 2 wrong usage, 130 interrupted.
    """
    options: dict[str, Any] = {"kind": kind}
    with ProgressLine(quiet=quiet) as line:
        options["progress"] = lambda progress: line.show(
            f"{progress.file}: line {progress.line:,}; {progress.imported:,} {progress.kind} and others, "
            f"{progress.refused:,} lines refused"
        )
        if dry_run:
            from ..importing import check

            result = check(files, **options)
        else:
            result = _imported(files, journal, options)
    members = {"ok": result.ok, "imported": result.imported, **structs.asdict(result)}
    streams.write_result(members, _summary(result), as_json=as_json, quiet=quiet)
    for note in () if as_json else result.refused:
        streams.warn(str(note))
    if not result.ok:
        count = sum(file.refused for file in result.files)
        refused = "cannot be imported" if dry_run else "was refused" if count == 1 else "were refused"
        records = plural(result.imported, "record")
        raise ChatRestError(f"{plural(count, 'line')} {refused}; {records} {_done(result, result.imported)}")


def _imported(files: tuple[str, ...], journal: Path | None, options: dict[str, Any]) -> "ImportResult":
    from ..importing import run as run_import

    async def work() -> "ImportResult":
        async with session() as chat:
            return await run_import(chat, files, journal=journal, **options)

    try:
        return run(work())
    except BaseException as error:
        if can_continue(error):
            error.add_note(continuation("import", files, {"--kind": options["kind"], "--journal": journal}))
        raise


def _summary(result: "ImportResult") -> Iterator[str]:
    for file in result.files:
        count = file.imported
        parts = [f"{plural(count, file.kind.removesuffix('s'))} {_done(result, count)}"]
        parts += [f"{file.refused:,} refused"] if file.refused else []
        parts += [f"{file.skipped:,} skipped (they cannot be made again)"] if file.skipped else []
        yield f"{file.file}: {', '.join(parts)}"
    if result.not_carried:
        yield "not carried over:"
    for omission in result.not_carried:
        yield f"  {omission.count:,} {omission.description}"


def _done(result: "ImportResult", count: int) -> str:
    if result.dry_run:
        return "can be imported"
    return "is imported" if count == 1 else "are imported"
