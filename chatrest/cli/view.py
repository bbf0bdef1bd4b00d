"""`view`: show an export as pages from a server on this machine, until it is stopped.

A file of its own because each command has one.
"""

import asyncio
import signal
from contextlib import suppress

import click

from . import streams
from .options import option_table, shown_default
from .process import run


@click.command(short_help="Show an export as pages, from a server on this machine.")
@click.argument("out")
@option_table(
    ("--port", click.IntRange(0, 65_535), "N", "TCP port; 0 for any free one.", shown_default(0)),
    ("--title", None, "TEXT", "The title of the pages.", shown_default("Messages")),
)
def view(out: str, port: int, title: str) -> None:
    """Show the export in OUT as the pages of `chatrest html`, at an address of this machine, until Ctrl-C.

    Prints the address on standard output. It has a random token, without which nothing is answered, and only
    programs of this machine can ask. OUT is a folder or the address of an object store, and may still be
    growing: each start takes in what is new. The index is beside the folder, in OUT.view.sqlite, about as
    large as the messages; it can be removed at any time. It needs the extra `html`, and no credentials.

    \b
    Examples:
      chatrest view backup
      chatrest view backup --port 8080 --title 'The team'
    """
    run(_serve(out, port, title))


async def _serve(out: str, port: int, title: str) -> None:
    from ..archive import Viewer  # imports aiohttp, which a help text does not need

    with streams.status_line("reading the export") as update:
        viewer = Viewer(
            out,
            port=port,
            title=title,
            progress=lambda count, _: update(f"reading the export: {count:,} messages"),
        )
        await viewer.__aenter__()
    try:
        streams.write_lines([viewer.url])
        streams.warn("open this address in a browser; stop with Ctrl-C")
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):
                loop.add_signal_handler(each, stop.set)
        await stop.wait()
    finally:
        await viewer.__aexit__()
