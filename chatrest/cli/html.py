"""`html`: write the messages of an export as pages that open without a server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
from msgspec import structs

from . import streams
from .export_texts import plural
from .options import TimeOption, option_table

CHOICE: Final = (
    ("--conversation conversations", None, "ID",
     "Only this conversation. May be repeated.", {"multiple": True}),
    ("--user users", None, "UID",
     "Only conversations that this user takes part in. May be repeated.", {"multiple": True}),
    ("--since", TimeOption(), "T", "Sent at T or later: a date, a time, yesterday, 7d …"),
    ("--until", TimeOption(end=True), "T", "Sent at T or earlier; a date is its whole day."),
    ("--title", None, "TEXT", "The title of the pages.  [default: Messages]"),
    ("--redact", bool, None, "Hide phone numbers and e-mail addresses."),
)  # fmt: skip
"""The options that choose what is shown."""


@click.command(short_help="Write an export as pages to read, search and hand on.")
@click.argument("out")
@click.argument("site", type=click.Path(path_type=Path, file_okay=False))
@option_table(
    *CHOICE,
    ("--json as_json", bool, None, "Print the result as one JSON object."),
    ("--quiet -q", bool, None, "Print nothing."),
)
def html(out: str, site: Path, as_json: bool, quiet: bool, **choice: Any) -> None:
    """Write the messages of the export in OUT as pages into the folder SITE, and open SITE/index.html.

    OUT is a folder or the address of an object store, of any format. The pages need no server and no network:
    they can be zipped and handed on. All conversations are there with their days, threads, people, and the
    attachments of the export, and a search that works offline. Later runs write only what has changed, and
    an interrupted run is completed by the next one. It needs the extra `html`, and no credentials.

    --redact replaces what looks like a phone number or an e-mail address, in names and sources, too; other
    personal data stay. Attachments are copied as they are. Leave the hidden folder SITE/.chatrest out of what
    you hand on: only later runs need it.

    \b
    Examples:
      chatrest html backup site
      chatrest html backup site --user alice --since 2026-05-01 --until 2026-05-31
      chatrest html backup site --conversation group_team --title 'The team' --redact
      chatrest html s3://bucket/chat site
    """
    from ..archive import write_site  # imports aiohttp, which a help text does not need

    with _bar(is_shown=not quiet) as progress:
        result = write_site(out, site, progress=progress, **choice)
    if as_json:
        streams.write_json({"site": str(site), **structs.asdict(result)})
    elif not quiet:
        conversations, pages = plural(result.conversations, "conversation"), plural(result.pages, "page")
        streams.write_lines([
            f"{plural(result.messages, 'message')} in {conversations} on {pages}",
            f"{plural(result.written, 'file')} written, {result.removed:,} removed",
            f"open {site / 'index.html'}",
        ])  # fmt: skip
    if result.missing:
        files = plural(result.missing, "attachment")
        streams.warn(f"{files} of the export cannot be found: 'chatrest verify' says more")


@contextmanager
def _bar(*, is_shown: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    """Show a progress bar with the remaining time on standard error if that is a terminal."""
    if not is_shown or not streams.is_terminal("stderr"):
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {}

        def show(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=total)
            bar.update(tasks[phase], completed=done, total=total)

        yield show
