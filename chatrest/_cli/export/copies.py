"""`load` and `seal` give other forms of an export; `verify` checks an export or a bag."""

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import structs

from ..._cloud.address import check_outside
from ..._texts import plural, size
from ...errors import ChatRestError
from .. import streams
from ..command_options import AS_JSON, QUIET, LocalPath, option_table
from ..environment import invocation
from ..streams import ProgressLine

if TYPE_CHECKING:
    from ...export import Problem, VerifyResult


@click.command(short_help="Seal an export: a BagIt bag with one root hash.")
@click.argument("out")
@click.argument("bag", type=LocalPath())
@option_table(AS_JSON, ("--quiet -q", bool, None, "Print the root hash alone."))
def seal(out: str, bag: Path, as_json: bool, quiet: bool) -> None:
    """Make the BagIt bag (RFC 8493) BAG of the export in OUT as it is now, and print its root hash.

    \b
    Examples:
      chatrest seal backup sealed-2026-11
      chatrest verify sealed-2026-11 --root "$(cat root.txt)"
      cd sealed-2026-11 && sha256sum -c manifest-sha256.txt

    OUT is a folder or the address of an object store. Note the root hash, or sign it: `chatrest verify BAG
    --root HASH` says whether any byte differs from what was sealed. All that reads an export reads a bag. It
    needs no credentials, and changes nothing in OUT.
    """
    from ...export import seal as make_bag  # imports aiohttp, which a help text does not need
    from ...export.seal.bag import info_of

    with ProgressLine(quiet=quiet) as line:
        result = make_bag(out, bag, progress=partial(line.share, "hashing"))
    linked = f", {result.linked:,} of them hard links" if result.linked else ""
    messages, files = plural(result.messages, "message"), plural(result.files, "file")
    lines = [f"{messages} in {files}, {size(result.bytes)}{linked}", f"root hash {result.root}"]
    members = {"export": out, **structs.asdict(result)}
    streams.write_result(members, [result.root] if quiet else lines, as_json=as_json)
    if not result.complete:
        state = info_of(bag)["Chat-State"]
        streams.warn(f"the export is {state}, and was sealed as it is: see {bag / 'bag-info.txt'}")


DELETED = ("keep", "blank")


@click.command(short_help="Load what is new in an export into a database.")
@click.argument("out")
@click.argument("database")
@option_table(
    ("--deleted", DELETED, None, "The texts of deleted messages, in each load from now on.  [default: keep]"),
    AS_JSON,
    QUIET,
)
def load(out: str, database: str, deleted: str | None, as_json: bool, quiet: bool) -> None:
    """Bring DATABASE to the export in OUT as it is now: what is new, changed or deleted since the last load.

    \b
    Examples:
      chatrest load backup chat.sqlite
      chatrest load s3://bucket/chat postgresql://etl@db/chat
      chatrest load backup chat.sqlite --deleted blank

    OUT is a folder or the address of an object store: an export, its parts, or many apps. DATABASE is a file
    of SQLite, sqlite:///FILE, or postgresql://user@host/database, which needs the extra `postgres`;
    PGPASSWORD or ~/.pgpass has its password. A load is one transaction: where it fails or is killed, nothing
    has changed. It needs no credentials. `chatrest guide database` describes the tables.
    """
    from ...database import load as load_export  # imports what a help text does not need

    with ProgressLine(quiet=quiet) as line:
        line.show("loading the export")
        report = load_export(
            out,
            database,
            deleted=deleted,  # type: ignore[arg-type]
            progress=lambda count: line.show(f"loading the export: {count:,} messages"),
        )
    counts = [f"{getattr(report, kind):,} {kind}" for kind in ("new", "changed", "deleted")]
    if report.blanked:
        counts.append(f"{report.blanked:,} blanked")
    if report.removed:
        counts.append(f"{report.removed:,} of removed apps")
    rows = [f"{plural(rows, 'row')} of {table}" for table, rows in report.tables.items()]
    lines = [f"run {report.run}: messages {', '.join(counts)}", *rows]
    streams.write_result(structs.asdict(report), lines, as_json=as_json, quiet=quiet)
    if report.replaced and not quiet:
        streams.warn(
            f"{plural(report.replaced, 'character')} that no database can hold became U+FFFD: zero bytes and "
            "what is not Unicode"
        )


PROBLEMS_SHOWN: Final = 20


@click.command(short_help="Check that an export is complete and undamaged.")
@click.argument("out")
@option_table(
    ("--root", None, "HASH", "Of a bag of `chatrest seal`: the root hash that it must have."),
    ("--report", LocalPath(), "FILE", "Also write a report for an auditor, into FILE.html."),
    AS_JSON,
    QUIET,
)
def verify(out: str, root: str | None, report: Path | None, as_json: bool, quiet: bool) -> None:
    """Check the export in OUT, a folder or the address of an object store.

    \b
    Examples:
      chatrest verify out
      chatrest verify out --quiet && rsync -a out/ backup/
      chatrest verify BAG --root 5f0c…     whether anything differs from what was sealed
      chatrest verify out --report report.html
      chatrest verify s3://bucket/chat       downloads one file after the other

    Reads all files and compares them with the manifest and journal: every checksum and record, that no
    message is missing or stored twice, and that no source has a gap. Each problem is a line on standard error
    that says what can safely be done. It needs no credentials of the service, and changes nothing. Exit
    status: 0 the export is complete and undamaged, 1 it is not, 2 it cannot be checked.
    """
    from ...export import verify as verify_export  # imports aiohttp, which a help text does not need
    from ...export.verify.audit_report import check_name, write_report

    if report is not None:
        check_name(report)
        check_outside(out, report, "report")
    with ProgressLine(quiet=quiet) as line:
        result = verify_export(out, root=root and root.lower(), progress=partial(line.share, "verifying"))
    if report is not None:
        write_report(out, report, result)
    if as_json:
        streams.write_json({"export": str(out), **structs.asdict(result), "count": result.count})
    else:
        for each in [*_grouped(result.problems[:PROBLEMS_SHOWN]), *result.notes[:PROBLEMS_SHOWN]]:
            streams.warn(str(each).replace("`chatrest ", f"`{invocation()} "))
    if not result.ok:
        raise ChatRestError(_failure_text(out, result))
    if not quiet and not as_json:
        streams.write_lines(_summary(result))


def _grouped(problems: list["Problem"]) -> Iterator["Problem"]:
    """Yield one problem for those of one file or source that are mended in the same way."""
    for _, group in groupby(problems, attrgetter("subject", "remedy")):
        first, *others = group
        yield structs.replace(first, text="; ".join([first.text, *(each.text for each in others)]))


def _failure_text(out: str, result: "VerifyResult") -> str:
    if any(each.kind == "seal" for each in result.problems):
        return f"{out} is not as it was sealed: {plural(result.count, 'problem')}"
    if result.root:
        return f"{out} is as it was sealed, root hash {result.root}; the export in it was not complete"
    more = result.count - PROBLEMS_SHOWN
    hidden = f", of which {more:,} are not shown" if more > 0 else ""
    problems = f"{plural(result.count, 'problem')}{hidden}"
    return f"{out} is damaged or not complete: {problems}; {plural(result.messages, 'message')} undamaged"


def _summary(result: "VerifyResult") -> Iterator[str]:
    if result.root:
        yield f"as it was sealed: root hash {result.root}"
    id_range = f", ids {result.first} to {result.last}" if result.first is not None else ""
    yield f"{plural(result.messages, 'message')}{id_range}"
    end = "" if result.until is None else f" up to id {result.until}"
    shown = " as far as the app's own list shows" if result.by_app_list else ""
    files, checksums = plural(result.files, "file"), plural(result.hashes, "checksum")
    end = f"complete{shown}{end} ({result.plan})"
    yield f"{files}, {result.bytes:,} bytes, {checksums}: all correct, and {end}"
