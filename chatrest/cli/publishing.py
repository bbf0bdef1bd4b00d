"""`publish` and `fetch`: an export, to an object store and from it."""

import shlex
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
import msgspec

from ..errors import RequestInvalidError
from . import streams
from .invocation import invocation
from .running import run

if TYPE_CHECKING:
    from msgspec import Struct

    from ..export.version.results import FetchedVersion, PublishResult, VersionFile

OnFile: TypeAlias = "Callable[[VersionFile], None]"
T = TypeVar("T")


@click.command(short_help="Publish an export in an object store, as one version.")
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("address")
@click.option("--incomplete", is_flag=True, help="Also publish an export that is not complete.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors and warnings.")
def publish(out: Path, address: str, incomplete: bool, as_json: bool, quiet: bool) -> None:
    """Publish the export in the folder OUT at ADDRESS: s3://bucket/prefix, gs://…, az://… or file:///folder.

    Its files, tables, attachments and journal become one version: readers see the old one or the new one.
    What has not changed is not sent again. No run can write to OUT meanwhile. Credentials and endpoint come
    from the usual environment variables of the store (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL,
    GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME …). Interrupted: run the same command again.
    Needs the extra: pip install 'chatrest[cloud]'.

    \b
    Examples:
      chatrest export out && chatrest publish out s3://bucket/chat
      chatrest fetch s3://bucket/chat out           on another machine

    Exit status: 0 published, 1 the store or the disk failed, or another writer is at work, 2 wrong usage, or
    the folder cannot be published there, 130 interrupted.
    """
    from ..export import publish as publish_export  # imports aiohttp, which a help text does not need

    with _status("publishing", quiet=quiet) as show:
        work = publish_export(out, address, allow_incomplete=incomplete, progress=show)
        command = ["publish", str(out), address, *(["--incomplete"] if incomplete else [])]
        result = _run(work, command)
    if result.warning:
        streams.warn(result.warning)
    _print(result, _published(result), as_json=as_json, quiet=quiet)


@click.command(short_help="Fetch a published export from an object store.")
@click.argument("address")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def fetch(address: str, out: Path, as_json: bool, quiet: bool) -> None:
    """Fetch the export at ADDRESS (see `chatrest publish --help`) into the folder OUT, and check all hashes.

    OUT is empty, or an older copy of the same export; anything else is refused and not touched. Files that
    are there already are not fetched again. The export can then be read, verified and continued in OUT.
    Interrupted: run the same command again.

    \b
    Examples:
      chatrest fetch s3://bucket/chat out && chatrest verify out
      chatrest fetch s3://bucket/chat out && chatrest export out && chatrest publish out s3://bucket/chat

    Exit status: 0 fetched, 1 the store or the disk failed, 2 wrong usage, or OUT is refused, 130 interrupted.
    """
    from ..export import fetch as fetch_export  # imports aiohttp, which a help text does not need

    with _status("fetching", quiet=quiet) as show:
        result = _run(fetch_export(address, out, progress=show), ["fetch", address, str(out)])
    _print(result, _fetched(result), as_json=as_json, quiet=quiet)


def _run(work: Coroutine[Any, Any, T], command: list[str]) -> T:
    """Run `work`; a failure that a repetition may overcome says which command to repeat."""
    try:
        return run(work)
    except BaseException as error:
        if not isinstance(error, RequestInvalidError):
            error.add_note(f"continue with: {invocation()} {shlex.join(command)}")
        raise


@contextmanager
def _status(action: str, *, quiet: bool) -> Iterator[OnFile]:
    """Show the files that are done on standard error if that is a terminal; yields the function for each."""
    if quiet or not streams.is_terminal("stderr"):
        yield lambda _: None
        return
    from rich.console import Console

    files, size = 0, 0
    with Console(stderr=True).status(action) as status:

        def show(file: "VersionFile") -> None:
            nonlocal files, size
            files, size = files + 1, size + file.size
            status.update(f"{action}: {files:,} files, {size:,} bytes")

        yield show


def _print(result: "Struct", summary: str, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        streams.write(msgspec.json.encode(result) + b"\n")
    elif not quiet:
        streams.write(f"{summary}\n".encode(errors="backslashreplace"))


def _published(result: "PublishResult") -> str:
    if not result.sent:
        return f"version {result.version} at {result.address}: {_files(result.files)}, nothing to send"
    return (
        f"version {result.version} at {result.address}: {_files(result.files)}, {result.sent:,} of them sent "
        f"({result.sent_bytes:,} bytes)"
    )


def _fetched(result: "FetchedVersion") -> str:
    removed = f", {_files(result.removed)} of the older copy removed" if result.removed else ""
    return (
        f"version {result.version} of {result.address}: {_files(result.files)}, {result.fetched:,} of them "
        f"fetched ({result.fetched_bytes:,} bytes){removed}; all hashes correct"
    )


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
