"""`html` and `view`: an export as pages, in a folder, or served on this machine until it is stopped."""

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final, TextIO

import click
from msgspec import structs

from ..._cloud.address import check_outside
from ..._texts import plural
from .. import streams
from ..command_options import AS_JSON, PORT, QUIET, LocalPath, option_table, shown_default
from ..environment import run
from ..streams import ProgressLine

_TITLE: Final = ("--title", None, "TEXT", "The title of the pages; without it the name of OUT.")
_TIMEZONE: Final = (
    "--timezone", None, "ZONE",
    "The zone of all days and times, such as Europe/Berlin.", shown_default("UTC"),
)  # fmt: skip


@click.command(short_help="Write an export as pages to read, search and hand on.")
@click.argument("out")
@click.argument("site", type=LocalPath())
@option_table(
    ("--conversation conversations", None, "ID",
     "Only this conversation; of many apps ID or APP/ID. May be repeated.", {"multiple": True}),
    ("--user users", None, "UID",
     "Only conversations that this user takes part in. May be repeated.", {"multiple": True}),
    ("--since", None, "T", "Sent at T or later: a date, a time, yesterday, 7d … Days are of --timezone."),
    ("--until", None, "T", "Sent at T or earlier; a date is its whole day."),
    _TITLE,
    _TIMEZONE,
    ("--redact", bool, None, "Hide e-mail addresses and numbers of phones, cards and accounts."),
    ("--redact-pattern patterns", click.File(encoding="utf-8-sig"), "FILE",
     "Hide what these match, too: a regular expression a line."),
    ("--pseudonyms", bool, None, "Call people 'Person 1', in texts and mentions, too."),
    ("--print as_document", bool, None, "Write one document into the file SITE, to print."),
    ("--zip", LocalPath(), "FILE", "Pack the site into FILE, too."),
    AS_JSON,
    QUIET,
)  # fmt: skip
def html(
    out: str, site: Path, as_document: bool, zip: Path | None, as_json: bool, quiet: bool,
    patterns: TextIO | None, **choice: Any
) -> None:  # fmt: skip
    """Write the messages of the export in OUT as pages into the folder SITE, and open SITE/index.html.

    \b
    Examples:
      chatrest html backup site
      chatrest html backup site --user alice --since 2026-05-01 --until 2026-05-31
      chatrest html backup site --conversation group_team --title 'The team' --redact
      chatrest html backup site --timezone Europe/Berlin --zip site.zip
      chatrest html backup alice.html --print --user alice --timezone Europe/Berlin
      chatrest html s3://bucket/chat site

    The pages need no server and no network, and have a search that works offline. Later runs write only what
    has changed. It needs the extra `html`, and no credentials. `chatrest guide pages` shows the pages and the
    document of --print, and what --redact and --pseudonyms cannot hide.

    Do not hand on the folder SITE.chatrest and the database OUT.sqlite, which make later runs fast: they name
    everything in the export.
    """
    # Imports aiohttp, which a help text does not need.
    from ...site import check_zip, write_document, write_site, write_zip

    lines = [] if patterns is None else patterns.read().splitlines()
    choice["patterns"] = list(filter(str.strip, lines))
    if patterns is not None and not choice["patterns"]:
        raise click.UsageError(f"--redact-pattern {patterns.name}: expected a pattern per line, got none")
    if as_document:
        if zip is not None:
            raise click.UsageError("--zip packs a site: give it without --print")
        with ProgressLine(quiet=quiet) as line:
            document = write_document(out, site, progress=line.share, **choice)
        _say_written(document, site, as_json, quiet, f"open and print {site}")
        return
    if zip is not None:
        check_outside(out, zip, "zip")
        check_zip(site, zip)
    with ProgressLine(quiet=quiet) as line:
        result = write_site(out, site, progress=line.share, **choice)
    packed = [] if zip is None else [f"packed into {zip}, {write_zip(site, zip):,} bytes"]
    written = f"{plural(result.written, 'file')} written, {result.removed:,} removed"
    _say_written(result, site, as_json, quiet, written, *packed, f"open {site / 'index.html'}")


def _say_written(result: Any, site: Path, as_json: bool, quiet: bool, *lines: str) -> None:
    if as_json:
        streams.write_json({"site": str(site), **structs.asdict(result)})
    elif not quiet:
        pages = f" on {plural(result.pages, 'page')}" if hasattr(result, "pages") else ""
        conversations = plural(result.conversations, "conversation")
        first = f"{plural(result.messages, 'message')} in {conversations}{pages}"
        counts = ", ".join(plural(count, kind) for kind, count in sorted(result.hidden.items()))
        log = f"{site}.hidden.csv" if site.is_file() else f"{site}.chatrest/hidden.csv"
        hidden = [f"hidden: {counts}; {log} lists the messages"] if counts else []
        streams.write_lines([first, *hidden, *lines])
    if result.missing:
        files = plural(result.missing, "attachment")
        streams.warn(f"{files} of the export cannot be found: 'chatrest verify' says more")


@click.command(short_help="Show an export as pages, from a server on this machine.")
@click.argument("out")
@option_table(PORT, _TITLE, _TIMEZONE)
def view(out: str, port: int, title: str | None, timezone: str) -> None:
    """Show the export in OUT as the pages of `chatrest html`, at an address of this machine, until Ctrl-C.

    \b
    Examples:
      chatrest view backup
      chatrest view backup --port 8080 --title 'The team'

    Prints the address on standard output. It has a random token, without which nothing is answered, and only
    programs of this machine can ask. Each start takes in what has been exported since. OUT.sqlite and
    OUT.view, which are made beside OUT, can be removed at any time. It needs the extra `html`, and no
    credentials.
    """
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        run(_serve(out, port, title, timezone))


async def _serve(out: str, port: int, title: str | None, timezone: str) -> None:
    from ...site import Viewer  # imports aiohttp, which a help text does not need

    async with AsyncExitStack() as stack:
        with ProgressLine() as line:
            line.show("reading the export")
            viewer = Viewer(out, port=port, title=title, timezone=timezone, progress=line.share)
            await stack.enter_async_context(viewer)
        streams.write_lines([viewer.url])
        streams.warn("open this address in a browser; stop with Ctrl-C")
        await asyncio.Event().wait()
