"""`verify`: whether an export is right; nothing is sent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click
import msgspec
from msgspec import structs

from ..errors import ChatRestError
from . import streams

if TYPE_CHECKING:
    from ..export import Verdict

Progress: TypeAlias = Callable[[int, int], None]

_MOST: Final = 20
"""Problems that are told: more of them say no more."""


@click.command(short_help="Checks that an export is complete and undamaged.")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing if all is right.")
def verify(out: Path, as_json: bool, quiet: bool) -> None:
    """Checks the export in the folder OUT: reads all files again, and compares them with the manifest.

    Checks every checksum and record, that no message is missing or stored twice, and that no source has a
    gap. It needs neither network nor credentials, and changes nothing. Exit status: 0 the export is complete
    and undamaged, 1 it is not; then each problem is a line on standard error, with the way to mend it.

    \b
    Examples:
      chatrest verify out
      chatrest verify out --quiet && rsync -a out/ backup/
    """
    from ..export import verify as verified  # brings the network along, which no help text needs

    with _bar(quiet=quiet) as progress:
        verdict = verified(out, progress=progress)
    for told in [*verdict.problems[:_MOST], *verdict.notes[:_MOST]]:
        streams.complain(str(told))
    if as_json:
        members = {"export": str(out), **structs.asdict(verdict), "count": verdict.count}
        streams.write(msgspec.json.encode(members) + b"\n")
    if not verdict.ok:
        raise ChatRestError(_failed(out, verdict))
    if not quiet and not as_json:
        streams.write("".join(f"{line}\n" for line in _told(verdict)).encode())


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Progress]:
    """Shows how much is done, on standard error, where that is a terminal."""
    if quiet or not streams.is_terminal("stderr"):
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress as Bar, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()]
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("verifying", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _failed(out: Path, verdict: "Verdict") -> str:
    more = verdict.count - _MOST
    untold = f", of which {more:,} are not told here" if more > 0 else ""
    problems = "1 problem" if verdict.count == 1 else f"{verdict.count:,} problems{untold}"
    return f"{out} is not right: {problems}; {verdict.messages:,} messages are undamaged"


def _told(verdict: "Verdict") -> Iterator[str]:
    held = f", ids {verdict.first} to {verdict.last}" if verdict.first is not None else ""
    yield f"{verdict.messages:,} messages{held}"
    end = "" if verdict.until is None else f" up to id {verdict.until}"
    parts = "1 part" if verdict.parts == 1 else f"{verdict.parts:,} parts"
    yield f"{parts}, {verdict.bytes:,} bytes, {verdict.hashes:,} hashes: all right, and complete{end}"
