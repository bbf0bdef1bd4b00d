"""`compact`: merge the small files of an export."""

from pathlib import Path

import click

from . import streams


@click.command(short_help="Merge the small files of an export.")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def compact(out: Path, quiet: bool) -> None:
    """Merge the small files that daily runs leave in the folder OUT into larger ones.

    Only files of the same partition are merged, and messages stay as they are. It needs neither network nor
    credentials. An interrupted merge loses nothing: run the command again. An export merges by itself where a
    partition has many small files.

    \b
    Examples:
      chatrest compact out
    """
    from ..export import compact as compact_export  # imports aiohttp, which a help text does not need

    gone = compact_export(out)
    if not quiet:
        files = "1 file" if gone == 1 else f"{gone:,} files"
        streams.write((f"{files} merged into others\n" if gone else "no small files to merge\n").encode())
