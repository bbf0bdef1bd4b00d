"""`cat`: print the messages of an export as JSON lines, from any format, without network."""

import shlex
from collections.abc import Iterator
from itertools import islice
from typing import Final

import click

from . import streams
from .invocation import invocation
from .time_options import TimeOption

_LINES: Final = 1_000
"""Lines that are written at once."""


@click.command(short_help="Print the messages of an export as JSON lines.")
@click.argument("out")
@click.option(
    "--since", type=TimeOption(), metavar="T", help="Sent at T or later: a date, a time, yesterday, 7d …"
)
@click.option(
    "--until", type=TimeOption(end=True), metavar="T", help="Sent at T or earlier; a date is its whole day."
)
@click.option(
    "--source", "sources", metavar="NAME", multiple=True,
    help="Stored for this source, such as 'user alice' or 'group team'. May be repeated.",
)  # fmt: skip
@click.option("--raw", is_flag=True, help="The exact bytes, also of records that are not valid UTF-8.")
def cat(out: str, since: int | None, until: int | None, sources: tuple[str, ...], raw: bool) -> None:
    """Print the messages of the export in OUT, one JSON line each, as the service sent them.

    OUT is a folder or the address of an object store. Reads every format, needs no credentials of the
    service, and changes nothing. A finished export is read as its manifest says; while a run is writing,
    what is whole on the disk is printed. In a record that is not valid UTF-8, wrong bytes are printed as
    U+FFFD, so that any JSON reader takes each line; --raw prints the exact bytes. It does not look for
    damage: `chatrest verify` does.

    Each message is stored once, in the first source that it belongs to: groups, then pairs, then users.

    \b
    Examples:
      chatrest cat out | wc -l
      chatrest cat out --since 2026-11-01 --source 'group team' | jq -r .data.text
      chatrest cat out --until 2026-10-31 | gzip > older.ndjson.gz
    """
    from ..export.reading import read_raw  # imports aiohttp, which a help text does not need

    records = read_raw(out, since=since, until=until, source=sources or None)
    for data in _printed(records, out, raw=raw):
        streams.write(data)


def _printed(records: Iterator[bytes], out: str, *, raw: bool) -> Iterator[bytes]:
    """Yield the records as lines, many at once."""
    while batch := _next_lines(records, out):
        data = b"".join(b"%b\n" % record for record in batch)
        yield data if raw else data.decode(errors="replace").encode()


def _next_lines(records: Iterator[bytes], out: str) -> list[bytes]:
    try:
        return list(islice(records, _LINES))
    except FileNotFoundError as error:
        error.add_note(f"'{invocation()} verify {shlex.quote(out)}' says what can safely be done")
        raise
