"""`seal`: an export as a bag, which archives keep, and whose root hash shows any difference.

A file of its own because each command that stands for a package has one.
"""

from pathlib import Path

import click
from msgspec import structs

from ..._texts import plural, size
from .. import streams
from ..options import AS_JSON, option_table


@click.command(short_help="Seal an export: a BagIt bag with one root hash.")
@click.argument("out")
@click.argument("bag", type=click.Path(path_type=Path))
@option_table(
    AS_JSON,
    ("--quiet -q", bool, None, "Print the root hash alone."),
)
def seal(out: str, bag: Path, as_json: bool, quiet: bool) -> None:
    """Make the BagIt bag (RFC 8493) BAG of the export in OUT as it is now, and print its root hash.

    OUT is a folder or the address of an object store. The files are hard links where the disk has them, as
    they never change, and copies else. Note the root hash, or sign it: `chatrest verify BAG --root HASH` says
    whether any byte differs from what was sealed, and tools of archives check the bag, too. All that reads an
    export reads a bag. An export that is being written is refused; one that is not complete is sealed as it
    is, and its bag-info.txt says so. It needs no credentials, and changes nothing in OUT.

    \b
    Examples:
      chatrest seal backup sealed-2026-11
      chatrest verify sealed-2026-11 --root "$(cat root.txt)"
      cd sealed-2026-11 && sha256sum -c manifest-sha256.txt
    """
    from ...export import seal as make_bag  # imports aiohttp, which a help text does not need

    with streams.progress_bar(is_shown=not quiet, of_bytes=True) as show:
        result = make_bag(out, bag, progress=lambda done, total: show("hashing", done, total))
    linked = f", {result.linked:,} of them hard links" if result.linked else ""
    messages, files = plural(result.messages, "message"), plural(result.files, "file")
    lines = [f"{messages} in {files}, {size(result.bytes)}{linked}", f"root hash {result.root}"]
    members = {"export": out, **structs.asdict(result)}
    streams.write_result(members, [result.root] if quiet else lines, as_json=as_json)
    if not result.complete:
        streams.warn(f"the export is not complete, and was sealed as it is: see {bag / 'bag-info.txt'}")
