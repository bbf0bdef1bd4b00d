"""`verify`, `cat`, `changes` and `compact`: check, print or merge an export's files, without the service."""

import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import structs

from ..errors import ChatRestError
from ..models.messages import Message
from . import streams
from .export_texts import plural
from .options import TimeOption, local_copy, option_table
from .process import invocation
from .record_formats import Format, RecordWriter, format_options, kind_of

if TYPE_CHECKING:
    from ..export import VerifyResult

PROBLEMS_SHOWN: Final = 20
"""The largest number of problems, and of notes, that are printed."""
_LINES: Final = 1_000
"""Lines that `cat` writes at once."""


@click.command(short_help="Check that an export is complete and undamaged.")
@click.argument("out")
@option_table(
    ("--json as_json", bool, None, "Print the result as one JSON object."),
    ("--quiet -q", bool, None, "Print nothing if the export is complete and undamaged."),
)
def verify(out: str, as_json: bool, quiet: bool) -> None:
    """Check the export in OUT, a folder or the address of an object store.

    Reads all files and compares them with the manifest and journal: every checksum and record, that no
    message is missing or stored twice, and that no source has a gap. It needs no credentials of the service,
    and changes nothing. Exit status: 0 the export is complete and undamaged, 1 it is not. Each problem is a
    line on standard error that says what can safely be done. With --json they are members of one object on
    standard output: kind, place, text and remedy.

    \b
    Examples:
      chatrest verify out
      chatrest verify out --quiet && rsync -a out/ backup/
      chatrest verify s3://bucket/chat       downloads one file after the other
    """
    from ..export import verify as verify_export  # imports aiohttp, which a help text does not need

    with streams.progress_bar(is_shown=not quiet, of_bytes=True) as show:
        result = verify_export(out, progress=lambda done, total: show("verifying", done, total))
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
    more = result.count - PROBLEMS_SHOWN
    hidden = f", of which {more:,} are not shown" if more > 0 else ""
    problems = f"{plural(result.count, 'problem')}{hidden}"
    return f"{out} is damaged or not complete: {problems}; {result.messages:,} messages are undamaged"


def _summary(result: "VerifyResult") -> Iterator[str]:
    id_range = f", ids {result.first} to {result.last}" if result.first is not None else ""
    yield f"{result.messages:,} messages{id_range}"
    end = "" if result.until is None else f" up to id {result.until}"
    files, checksums = plural(result.files, "file"), plural(result.hashes, "checksum")
    yield f"{files}, {result.bytes:,} bytes, {checksums}: all correct, and complete{end}"


# ── cat ──


@click.command(short_help="Print the messages of an export.")
@click.argument("out")
@option_table(
    ("--since", TimeOption(), "T", "Sent at T or later: a date, a time, yesterday, 7d …"),
    ("--until", TimeOption(end=True), "T", "Sent at T or earlier; a date is its whole day."),
    ("--source sources", None, "NAME",
     "Stored for this source, such as 'user alice' or 'group team'. May be repeated.", {"multiple": True}),
    ("--raw", bool, None, "The exact bytes, also of records that are not valid UTF-8."),
)  # fmt: skip
@format_options
def cat(
    out: str,
    since: int | None,
    until: int | None,
    sources: tuple[str, ...],
    raw: bool,
    format_: Format | None,
    fields: str | None,
) -> None:
    """Print the messages of the export in OUT: a readable line each to a terminal, and to a pipe or file a
    JSON line each, as the service sent it.

    OUT is a folder or the address of an object store. Reads every format, needs no credentials of the
    service, and changes nothing. A finished export is read as its manifest says; while a run is writing,
    complete records on the disk are printed. In a record that is not valid UTF-8, wrong bytes are printed as
    U+FFFD, so that any JSON reader takes each line; --raw prints the exact bytes. It does not look for
    damage: `chatrest verify` does.

    Each message is stored once, in the first source that it belongs to: groups, then pairs, then users.

    \b
    Examples:
      chatrest cat out --since 2026-11-01 --until 2026-11-02
      chatrest cat out | wc -l
      chatrest cat out --since 2026-11-01 --source 'group team' | jq -r .data.text
      chatrest cat out --until 2026-10-31 | gzip > older.ndjson.gz
    """
    from ..export.reading import read_raw  # imports aiohttp, which a help text does not need

    if raw and (fields is not None or format_ not in (None, "json")):
        raise click.UsageError("--raw prints the records as they are: give it without --format and --fields")
    writer = RecordWriter(kind_of(Message), format_, fields)
    records = read_raw(out, since=since, until=until, source=sources or None)
    try:
        while batch := list(islice(records, _LINES)):
            data = b"".join(b"%b\n" % each for each in batch) if raw else writer.encode(batch)
            streams.write(data if raw else data.decode(errors="replace").encode())
        streams.write(writer.end())
    except FileNotFoundError as error:
        error.add_note(f"'{invocation()} verify {shlex.quote(out)}' says what can safely be done")
        raise


# ── changes ──


@click.command(short_help="Print what is new in an export since a run.")
@click.argument("out")
@option_table(
    ("--since-run run", click.IntRange(min=0), "N",
     "Only what is new since run N, whose number `chatrest export --json` prints.  [default: all]"),
)  # fmt: skip
def changes(out: str, run: int | None) -> None:
    """Print what is new, changed or deleted in the export in OUT, one JSON line each, by run.

    OUT is a folder or the address of an object store. Each line has the number of the `run` that stored it,
    the `kind` (new, changed or deleted), the message's `id`, and the records `before` and `after`: null
    before a new message, and after a deleted one. Each message has one line: one that changed twice has the
    oldest record before, and the newest after. To continue later, give the number of the newest run, not that
    of the last line: the output of `export --json` has it. It needs no credentials of the service, and
    changes nothing. While a run is writing it is refused.

    \b
    Examples:
      chatrest changes out | jq -r 'select(.kind == "deleted").id'
      chatrest changes out --since-run 41 > news.ndjson
    """
    from ..export.changes import changes as export_changes  # imports aiohttp, which a help text does not need

    lines = (change.to_json() for change in export_changes(out, after=run or 0))
    while batch := list(islice(lines, _LINES)):
        streams.write(b"".join(b"%b\n" % line for line in batch).decode(errors="replace").encode())


# ── compact ──


@click.command(short_help="Merge the small files of an export.")
@click.argument("out")
@option_table(
    ("--journal", click.Path(path_type=Path), "DIR",
     "The local folder of an export in an object store, as for `export`."),
    ("--quiet -q", bool, None, "Print nothing."),
)  # fmt: skip
def compact(out: str, journal: Path | None, quiet: bool) -> None:
    """Merge the small files that daily runs leave in OUT, a folder or an object store, into larger ones.

    Only files of the same partition are merged, and messages stay as they are. It needs no credentials of
    the service. An interrupted merge loses nothing: run the command again. An export merges by itself where a
    partition has many small files.

    \b
    Examples:
      chatrest compact out
      chatrest compact s3://bucket/chat
    """
    from ..export import compact as compact_export  # imports aiohttp, which a help text does not need

    gone = compact_export(out, journal=local_copy(out, journal))
    if not quiet:
        text = f"{plural(gone, 'file')} merged into others" if gone else "no small files to merge"
        streams.write_lines([text])
