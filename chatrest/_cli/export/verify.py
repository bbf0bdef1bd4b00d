"""`verify`: check that an export is complete and undamaged, without the service."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click
from msgspec import structs

from ..._texts import plural
from ...errors import ChatRestError
from .. import streams
from ..options import AS_JSON, QUIET, option_table

if TYPE_CHECKING:
    from ...export import VerifyResult

PROBLEMS_SHOWN: Final = 20
"""The largest number of problems, and of notes, that are printed."""


@click.command(short_help="Check that an export is complete and undamaged.")
@click.argument("out")
@option_table(
    ("--root", None, "HASH", "Of a bag of `chatrest seal`: the root hash that it must have."),
    ("--report", None, "FILE", "Write a report for an auditor as well: FILE.html or FILE.md."),
    AS_JSON,
    QUIET,
)
def verify(out: str, root: str | None, report: str | None, as_json: bool, quiet: bool) -> None:
    """Check the export in OUT, a folder or the address of an object store.

    Reads all files and compares them with the manifest and journal: every checksum and record, that no
    message is missing or stored twice, and that no source has a gap. It needs no credentials of the service,
    and changes nothing. While a run writes, it refuses. Exit status: 0 the export is complete and undamaged,
    1 it is not, 2 it cannot be checked. Each problem is a line on standard error that says what can safely be
    done. With --json they are members of one object on standard output: kind, place, text, remedy and advice.

    --report writes what an auditor asks for, whatever the result is: date, version, app, plan and period,
    counts by source and month, what is not covered, and every file with its hash.

    \b
    Examples:
      chatrest verify out
      chatrest verify out --quiet && rsync -a out/ backup/
      chatrest verify BAG --root 5f0c…     whether anything differs from what was sealed
      chatrest verify out --report report.html
      chatrest verify s3://bucket/chat       downloads one file after the other
    """
    from ...export import verify as verify_export  # imports aiohttp, which a help text does not need
    from ...export.verify.report import check_name, write_report

    if report is not None:
        check_name(report)
    with streams.progress_bar(is_shown=not quiet, of_bytes=True) as show:
        result = verify_export(out, root=root, progress=lambda done, total: show("verifying", done, total))
    if report is not None:
        write_report(out, report, result)
    if as_json:
        streams.write_json({"export": str(out), **structs.asdict(result), "count": result.count})
    else:
        for each in [*result.problems[:PROBLEMS_SHOWN], *result.notes[:PROBLEMS_SHOWN]]:
            streams.warn(str(each))
    if not result.ok:
        raise ChatRestError(_failure_text(out, result))
    if not quiet and not as_json:
        streams.write_lines(_summary(result))


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
