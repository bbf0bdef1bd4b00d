"""`messages`, `users`, `apps`: print lists, a readable line or a JSON line per record."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar

import click
import msgspec

from .._core.paging.cursor import Cursor
from .._core.replies.scanner import whole
from .._core.send import AsRows
from .._models.apps import AppInfo
from .._models.messages import Message, MessageCount
from .._models.users import User
from .._parameters.apps import AppQuery
from .._parameters.messages import MessageQuery
from .._parameters.users import UserQuery
from .._resources.apps import Apps
from .._resources.messages import Messages
from .._resources.users import Users
from .._secrets import scrub_all
from .._walk.walk import Page, Walk
from ..errors import ChatRestError, CursorError
from . import streams
from .environment import management, session
from .filters import ListCommand, filter_options, query_of
from .options import check_together, option_table
from .process import run, until_reader_leaves
from .record_formats import Format, RecordWriter, format_option, kind_of

F = TypeVar("F", bound=Callable[..., Any])
_paging_options: Final = option_table(
    ("--limit", click.IntRange(min=0), "N", "Print no more than N.  [default: all]"),
    ("--cursor", None, "TOKEN",
     "Continue where an earlier run stopped, with the token that it printed. Use the same filters."),
)  # fmt: skip


def list_options(command: F) -> F:
    """Add the options of every list."""
    return _paging_options(format_option(command))


_EVERY: Final = 10.0
"""Seconds between two requests for new messages, where --every is not given."""
WalkOf: TypeAlias = Callable[[AsRows], Walk[Any]]
_EARLY_ENDS: Final = (ChatRestError, OSError, KeyboardInterrupt, asyncio.CancelledError)


@contextmanager
def _wrong_cursor() -> Iterator[None]:
    """Turn a token of --cursor that is damaged, or of another query, into wrong usage."""
    try:
        yield
    except CursorError as error:
        raise click.BadParameter(str(error), param_hint="'--cursor'") from None


class ListPrinter:
    """Print a walk to standard output, and keep the cursor after the last page that was written."""

    def __init__(self, noun: str, writer: RecordWriter) -> None:
        self._noun = noun
        self._writer = writer
        self._written: Cursor | None = None

    def run(self, work: Callable[["ListPrinter"], Any]) -> None:
        """Run `work`; if it fails or is interrupted, add to the error a note that says how to continue."""
        try:
            run(work(self))
        except _EARLY_ENDS as error:
            if self._written is not None:
                error.add_note(f"continue with the same command and --cursor {self._written}")
            raise

    async def write(self, walk: Walk[Any], limit: int | None, every: float | None = None) -> None:
        """Write at most `limit` records of the walk; the cursor advances only after a page is written.

        With `every` it continues after the end, and asks for new records at most `every` seconds later.
        """
        walk = walk if limit is None else walk.limit(limit)
        await self._write(walk.pages() if every is None else walk.follow(every).pages())

    async def _write(self, pages: AsyncGenerator[Page[Any]]) -> None:
        # If the output is on the same terminal, it shows the progress itself.
        is_shown, total = not streams.is_terminal("stdout"), 0
        with streams.status_line(f"0 {self._noun}", is_shown=is_shown) as update:
            async for page in pages:
                streams.write(self._writer.encode([bytes(row.raw) for row in page.items]))
                self._written = page.cursor
                total += len(page.items)
                update(f"{total:,} {self._noun}")
            streams.write(self._writer.end())


@click.command(cls=ListCommand, short_help="Print the messages of a user.")
@click.argument("uid")
@click.option("--on-behalf-of", metavar="UID", help="Print the messages between this user and UID.")
@list_options
@option_table(
    ("--follow", bool, None, "Print from old to new, then wait for new messages, until interrupted."),
    ("--every", click.FloatRange(min=0, min_open=True), "SECONDS",
     ("With --follow: ask for new messages at least so often, and up to 8 times as often while some "
      "come.  [default: 10]")),
)  # fmt: skip
@filter_options(MessageQuery)
def messages(
    uid: str,
    on_behalf_of: str | None,
    limit: int | None,
    cursor: str | None,
    follow: bool,
    every: float | None,
    format_: Format | None,
    **given: Any,
) -> None:
    """Print the messages of UID: a readable line each to a terminal, and to a pipe or file a JSON line each,
    exactly as the service sends it.

    If a run is interrupted or fails, its last line on standard error says how to continue.

    With --follow the command ends with status 130 when it is interrupted (Ctrl-C), and with status 0 when the
    reader of its output is gone.

    \b
    Examples:
      chatrest messages bob --on-behalf-of alice > talk.jsonl
      chatrest messages bob --on-behalf-of alice --affix append --limit 10
      chatrest messages bob --format csv > bob.csv
      chatrest messages bob --search-key invoice --has-attachments | jq .data.text
      chatrest messages bob --follow --since 1h
    """
    check_together(
        ("--every", "!--follow", "--every needs --follow: without it the command ends with the list")
    )
    if follow and given["filter_affix"] is None:
        given["filter_affix"] = "append"

    async def work(printer: ListPrinter) -> None:
        query = query_of(MessageQuery, given)
        async with session() as chat:
            lists = Messages(AsRows(chat.sender))
            with _wrong_cursor():
                walk = lists.list_user(uid, on_behalf_of=on_behalf_of, query=query, cursor=cursor)
            if not follow:
                await printer.write(walk, limit)
                return
            async with until_reader_leaves():
                await printer.write(walk, limit, _EVERY if every is None else every)

    kind = kind_of(MessageCount if given["filter_count"] else Message)
    ListPrinter("messages", RecordWriter(kind, format_)).run(work)


@click.command(cls=ListCommand, short_help="Print the users of the app.")
@list_options
@filter_options(UserQuery)
def users(limit: int | None, cursor: str | None, format_: Format | None, **given: Any) -> None:
    """Print the users of the app: a readable line each to a terminal, and to a pipe or file a JSON line each,
    exactly as the service sends it.

    \b
    Examples:
      chatrest users > users.jsonl
      chatrest users --status available --role moderator
      chatrest users --search-key al --search-in name --limit 5
      chatrest users --format csv > users.csv
    """
    query, writer = query_of(UserQuery, given), RecordWriter(kind_of(User), format_)
    _print_list("users", session, lambda sender: Users(sender).list(query, cursor=cursor), limit, writer)


@click.command(cls=ListCommand, short_help="Print the applications of the account.")
@list_options
@filter_options(AppQuery)
def apps(limit: int | None, cursor: str | None, format_: Format | None, **given: Any) -> None:
    """Print the applications of the account, with their keys hidden: a readable line each to a terminal, and
    to a pipe or file a JSON line each.

    Reads CHATREST_MANAGEMENT_URL, CHATREST_MANAGEMENT_KEY and CHATREST_MANAGEMENT_SECRET.

    \b
    Example:
      chatrest apps | jq -r .id
    """
    query = query_of(AppQuery, given)
    writer = RecordWriter(kind_of(AppInfo), format_, convert=_without_keys)
    _print_list("apps", management, lambda sender: Apps(sender).list(query, cursor=cursor), limit, writer)


def _print_list(
    noun: str, client: Callable[[], Any], walk_of: WalkOf, limit: int | None, writer: RecordWriter
) -> None:
    async def work(printer: ListPrinter) -> None:
        async with client() as opened:
            with _wrong_cursor():
                walk = walk_of(AsRows(opened.sender))
            await printer.write(walk, limit)

    ListPrinter(noun, writer).run(work)


def _without_keys(record: bytes) -> bytes:
    return msgspec.json.encode(scrub_all(whole(record), ()))
