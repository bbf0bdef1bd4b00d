"""`cat` and `changes`: print what an export has, without the service."""

from itertools import islice
from typing import Any, Final

import click

from ..._models.messages import Message
from .. import streams
from ..command_options import SINCE, UNTIL, option_table, whole_number
from ..record_formats import FORMAT, Format, RecordWriter

_LINES: Final = 1_000


@click.command(short_help="Print the messages of an export.")
@click.argument("out")
@option_table(
    SINCE,
    UNTIL,
    ("--sender senders", None, "UID",
     "All that the user of this uid wrote. May be repeated.", {"multiple": True}),
    ("--conversation conversations", None, "ID",
     "Of this conversation, or of the group of this guid. May be repeated.", {"multiple": True}),
    ("--sort", ("time",), None, "By time.  [default: as they were stored]"),
    ("--limit", whole_number(0), "N", "Print no more than N.  [default: all]"),
    ("--source sources", None, "NAME",
     "Of the file of a source, such as 'group team'. May be repeated.",
     {"multiple": True}),
    FORMAT,
)  # fmt: skip
def cat(out: str, format_: Format | None, sort: str | None, limit: int | None, **wanted: Any) -> None:
    """Print the messages of the export in OUT: a readable line each to a terminal, else a JSON line each.

    \b
    Examples:
      chatrest cat out --sender user-007 --sort time --format csv > user-007.csv
      chatrest cat out --since 2026-11-01 --until 2026-11-02
      chatrest cat out | wc -l
      chatrest cat out --since 2026-11-01 --source 'group team' | jq -r .data.text
      chatrest cat out --until 2026-10-31 | gzip > older.ndjson.gz

    OUT is a folder or the address of an object store, of any format. It needs no credentials of the service,
    and changes nothing. While a run is writing, what it has committed is printed. It does not look for
    damage: `chatrest verify` does.
    """
    from ...database.message_rows import find_raw  # imports aiohttp: not for a help text

    writer = RecordWriter(Message, format_)
    wanted["conversations"] += tuple(f"group_{guid}" for guid in wanted["conversations"])
    records = islice(find_raw(out, **wanted, by_time=sort == "time"), limit)
    while batch := list(islice(records, _LINES)):
        streams.write(writer.encode(batch).decode(errors="replace").encode())
    streams.write(writer.end())


@click.command(short_help="Print what is new in an export since a run.")
@click.argument("out")
@option_table(
    ("--since-run after", None, "N",
     "Only what is new since run N.  [default: all]", {"default": "0"}),
)  # fmt: skip
def changes(out: str, after: str) -> None:
    """Print what is new, changed or deleted in the export in OUT, one JSON line each, by run.

    \b
    Examples:
      chatrest changes out | jq -r 'select(.kind == "deleted").id'
      chatrest changes out --since-run 41 > news.ndjson

    OUT is a folder or the address of an object store. Each line has the number of the `run` that stored it,
    the `kind` (new, changed or deleted), the message's `id`, of a deleted one the `reason` (by_author or
    not_shown), and the records `before` and `after`: null before a new message, and after a deleted one. A
    message that changed twice has one line, with the oldest record before, and the newest after.

    To continue later, give the number of the newest run, not that of the last line: `export --json` prints
    it. Of a folder of exports, by parts or by apps, each line has the `part`, too, and the position to
    continue from, a text with the run of each, is printed on standard error at the end.
    """
    from ...export.read.changes import changes as changes_of  # imports what a help text does not need
    from ...export.read.exports import parse_position

    all_changes = changes_of(out, after=parse_position(after))
    lines = (change.to_json() for change in all_changes)
    while batch := list(islice(lines, _LINES)):
        streams.write(b"".join(b"%b\n" % line for line in batch).decode(errors="replace").encode())
    if isinstance(all_changes.run, str):
        streams.warn(f"continue later with --since-run {all_changes.run}")
