"""The first commands to try: `guide` prints the manual, `demo` shows all in seconds, `emulator` serves."""

import asyncio
import os
import re
import shlex
import time
from contextlib import AsyncExitStack, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from .. import __version__
from .._parameters.fields import words_of
from .._texts import nearest, plural
from ..errors import ChatRestError, RequestInvalidError
from . import streams
from .command_options import PORT, LocalPath, option_table, shown_default, whole_number
from .environment import invocation, run
from .streams import ProgressLine

if TYPE_CHECKING:
    from ..export import Report
    from ..session import AsyncSession


@click.command(short_help="Run an emulator of the service, with generated data.")
@option_table(
    ("--host", None, None, "Where to listen; 0.0.0.0 for all addresses.", shown_default("127.0.0.1")),
    PORT,
    ("--users", whole_number(0), "N", "Number of users.", shown_default(50)),
    ("--messages", whole_number(0), "N", "Number of messages.", shown_default(1000)),
    ("--seed", whole_number(0), "N", "The same seed and sizes generate the same data.", shown_default(0)),
)  # fmt: skip
def emulator(**options: Any) -> None:
    """Run an emulator of the service on this machine until Ctrl-C or SIGTERM (exit status 0).

    When it is ready, prints its address and keys on standard output as `export CHATREST_…=…` lines.

    \b
    Examples:
      chatrest emulator                      in one terminal; copy the printed lines to another
      eval "$(chatrest emulator &)"          in the background, with its address and
      chatrest users --limit 3               keys in the environment of this shell
      kill $CHATREST_EMULATOR_PID
      chatrest emulator --host 0.0.0.0       for other containers, which set CHATREST_ALLOW_HTTP=1
    """
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        run(_serve(**options))


async def _serve(**options: Any) -> None:
    from ..emulator import Emulator

    async with Emulator(**options) as service:
        values = {
            "BASE_URL": service.base_url,
            "APP_ID": service.app.app_id,
            "API_KEY": service.app.api_key,
            "MANAGEMENT_URL": service.management_url,
            "MANAGEMENT_KEY": service.management_key,
            "MANAGEMENT_SECRET": service.management_secret,
            "EMULATOR_PID": str(os.getpid()),
        }
        if os.environ.get("CHATREST_APP"):
            values["APP"] = ""  # else the commands would continue with that app, and not with the emulator
        lines = (f"export CHATREST_{name}={shlex.quote(value)}" for name, value in values.items())
        streams.write_lines(lines)
        if not streams.is_terminal("stdout"):
            streams.detach_stdout()  # so that $(chatrest emulator &) ends
        users, messages = len(service.store.people.uids()), len(service.store.ids())
        streams.warn(
            f"emulator at {service.base_url} with {users:,} users and {messages:,} messages; "
            f"stop it with Ctrl-C or: kill {os.getpid()}"
        )
        await asyncio.Event().wait()


_FOLDER: Final = "chat-export"
_NEXT: Final = (
    ("verify {out}", "read all files again and check every hash"),
    ("load {out} {out}.sqlite", "the messages in a database"),
    ("html {out} {out}-site", "the messages as pages that need no server"),
    ("view {out}", "the same in a browser, with a search"),
    ("guide", "the manual, a page for each task"),
)


@click.command(short_help="Show what chatrest does in a few seconds; needs no account.")
@option_table(
    ("--users", whole_number(2, 1000), "N", "Number of users.", shown_default(50)),
    ("--messages", whole_number(0, 1_000_000), "N", "Number of messages.", shown_default(100_000)),
    ("--out", LocalPath(), "DIRECTORY",
     f"A new or empty folder for the exported files.  [default: {_FOLDER}, or {_FOLDER}-2 …]"),
)  # fmt: skip
def demo(users: int, messages: int, out: Path | None) -> None:
    """Show what chatrest does in a few seconds; needs no account, and writes to one new folder only.

    Starts an emulator of the service on this machine with generated messages, reads a conversation, exports
    all messages of all users as JSON lines, interrupts that export and continues it, and verifies that no
    message is missing or stored twice.

    \b
    Examples:
      chatrest demo
      chatrest demo --users 10 --messages 5000 --out elsewhere
    """
    if out is None:
        names = (Path(_FOLDER if number == 1 else f"{_FOLDER}-{number}") for number in count(1))
        out = next(name for name in names if not name.exists())
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RequestInvalidError(f"--out {str(out)!r}: expected a new or empty folder")
    run(_run(out, users, messages))


async def _run(out: Path, users: int, messages: int) -> None:
    # These import aiohttp and more, which a help text does not need.
    from .._core.pace.pacer import Pace
    from ..emulator import Emulator
    from ..session import AsyncSession

    began = time.perf_counter()
    _head(f"chatrest {__version__}: {plural(messages, 'message')} among {users:,} users")
    async with AsyncExitStack() as stack:
        with ProgressLine() as line:
            line.show(f"generating {messages:,} messages")
            emulator = await stack.enter_async_context(Emulator(users, messages))
        _done("emulator", f"{emulator.base_url}, ready in {time.perf_counter() - began:.1f} s")
        # The emulator has no rate limit, so nothing is gained by a slow start.
        session = await stack.enter_async_context(AsyncSession(emulator.app, pace=Pace(rate=60_000)))
        await _read_conversation(session)
        await _export_everything(session, out, messages)
    _check(out, messages)
    _head(f"finished in {time.perf_counter() - began:.1f} s; the files are in {out}/. Try next:")
    for words, why in _NEXT:
        click.echo(click.style(f"  # {why}", dim=True))
        click.echo(click.style(f"  {invocation()} {words.format(out=out)}", fg="cyan"))


async def _read_conversation(session: "AsyncSession") -> None:
    from .._parameters.messages import MessageQuery

    began = time.perf_counter()
    users = [user.uid async for user in session.users.list().limit(2)]
    walk = session.messages.list_user(users[0], on_behalf_of=users[1], query=MessageQuery(affix="append"))
    total = f"{len(await walk.collect()):,} messages as typed objects"
    _done("a conversation", f"{' and '.join(users)}: {total} in {time.perf_counter() - began:.2f} s")


async def _export_everything(session: "AsyncSession", out: Path, messages: int) -> None:
    """Export all messages of all users; the first run is interrupted with half of them, and continued."""
    began = time.perf_counter()
    report, written = await _export(session, out, messages // 2, messages)
    if report is None:
        _done("interrupted", f"on purpose, with {written:,} messages on disk; then continued")
        report, _ = await _export(session, out, messages + 1, messages)
    assert report is not None
    seconds = time.perf_counter() - began
    sent = sum(pool.sent for pool in session.pools.values())
    amount = f"{report.messages:,} messages of {report.sources:,} users"
    _done("all users", f"{amount}, {sent:,} requests in {seconds:.2f} s")
    _done("", f"{report.messages / seconds:,.0f} messages/s, with the emulator in the same process")


async def _export(session: "AsyncSession", out: Path, enough: int, total: int) -> "tuple[Report | None, int]":
    """Run an export until `enough` messages are written: return its report, None if it was cancelled."""
    from ..export import Progress, export

    progress = Progress()
    work = asyncio.ensure_future(export(session, out, progress=progress))
    with ProgressLine() as line:
        while not (await asyncio.wait([work], timeout=0.01))[0]:
            line.share("all users", progress.written, total)
            if progress.written >= enough:
                work.cancel()
    return (None if work.cancelled() else work.result()), progress.written


def _check(out: Path, messages: int) -> None:
    from ..export import verify

    with ProgressLine() as line:
        result = verify(out, progress=partial(line.share, "verifying"))
    if not result.ok or result.messages != messages:
        problems = [problem.text for problem in result.problems] or [f"{result.messages:,} messages"]
        raise ChatRestError(f"the export is not complete: {problems[0]}")
    _head("verified")
    _done("nothing missing", f"{messages:,} messages, as many as the service has")
    _done("no duplicates", "each message is stored once, though most are in two users' lists")
    _done("no damage", f"{result.files:,} files, {result.bytes / 1e6:,.1f} MB, every hash is correct")


def _head(text: str) -> None:
    click.echo(f"\n{click.style(text, bold=True)}")


def _done(title: str, text: str) -> None:
    mark = click.style("✓", fg="green", bold=True) if title else " "
    click.echo(f"{mark} {click.style(f'{title:<17}', bold=True)} {text}")


GUIDE: Final = Path(__file__).parents[1] / "guide"
_ENTRY: Final = re.compile(r"^- \[([\w-]+)\]\([^)]+\): (.+)$", re.MULTILINE)


def contents() -> dict[str, str]:
    return dict(_ENTRY.findall((GUIDE / "README.md").read_text(encoding="utf-8")))


def page_text(page: str) -> str:
    pages = contents()
    if page not in pages:
        raise click.BadParameter(
            f"{page!r}{nearest(page, pages)}: expected {words_of(pages)}", param_hint="PAGE"
        )
    folder, file = GUIDE / page, GUIDE / f"{page}.md"
    files = sorted(folder.glob("*.md")) if folder.is_dir() else [file]  # README.md is the first one
    return "\n".join(each.read_text(encoding="utf-8") for each in files)


@click.command(short_help="Read the guide: a page for each task.")
@click.argument("page", required=False)
def guide(page: str | None) -> None:
    """Print PAGE of the guide, or the list of all pages.

    A terminal shows the page with its pager; a pipe gets Markdown.

    \b
    Examples:
      chatrest guide
      chatrest guide exports
      chatrest guide errors | grep -i -A3 deadline
    """
    if page is not None:
        _show_page(page_text(page))
    else:
        pages = contents()
        width = max(map(len, pages))
        streams.write_lines(f"{name:<{width}}  {line}" for name, line in pages.items())


def _show_page(text: str) -> None:
    if not streams.is_terminal("stdout"):
        streams.write(text.encode())
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.capture() as capture:
        console.print(Markdown(text))
    click.echo_via_pager(capture.get())
