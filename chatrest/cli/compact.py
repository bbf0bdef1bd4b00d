"""`compact`: merge the small files of an export."""

from pathlib import Path

import click

from . import streams
from .local_copy import local_copy


@click.command(short_help="Merge the small files of an export.")
@click.argument("out")
@click.option(
    "--journal", type=click.Path(path_type=Path), metavar="DIR",
    help="The local folder of an export in an object store, as for `export`.",
)  # fmt: skip
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
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
        files = "1 file" if gone == 1 else f"{gone:,} files"
        streams.write((f"{files} merged into others\n" if gone else "no small files to merge\n").encode())
