"""`verify`: check that an export is complete and undamaged, without network."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

import click
import msgspec
from msgspec import structs

from ..errors import ChatRestError
from . import streams
from .exporting.format import plural

if TYPE_CHECKING:
    from ..export import VerifyResult

Progress: TypeAlias = Callable[[int, int], None]

PROBLEMS_SHOWN: Final = 20
"""The largest number of problems, and of notes, that are printed."""


@click.command(short_help="Check that an export is complete and undamaged.")
@click.argument("out")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing if the export is complete and undamaged.")
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

    with _bar(quiet=quiet) as progress:
        result = verify_export(out, progress=progress)
    if as_json:
        members = {"export": str(out), **structs.asdict(result), "count": result.count}
        streams.write(msgspec.json.encode(members) + b"\n")
    else:
        for each in [*result.problems[:PROBLEMS_SHOWN], *result.notes[:PROBLEMS_SHOWN]]:
            streams.warn(str(each))
    if not result.ok:
        raise ChatRestError(_failure_text(out, result))
    if not quiet and not as_json:
        streams.write("".join(f"{line}\n" for line in _summary(result)).encode())


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Progress]:
    """Show a progress bar on standard error if that is a terminal; yields its update function, in bytes."""
    if quiet or not streams.is_terminal("stderr"):
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress as Bar, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()]
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("verifying", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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
