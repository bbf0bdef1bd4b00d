"""`messages`, `users` and `apps` print a line for each record, `send` and `token` what they made."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar

import click
import msgspec

from .._core.paging.cursor import Cursor
from .._core.replies.scanner import whole
from .._core.send import AsRows
from .._models.apps import AppInfo
from .._models.messages import Message, MessageCount
from .._models.users import AuthToken, User
from .._parameters.apps import AppQuery
from .._parameters.messages import MessageQuery, NewMessage
from .._parameters.users import UserQuery
from .._resources.apps import Apps
from .._resources.messages import SEND, Messages
from .._resources.users import Users
from .._secrets import scrub_all
from .._walk.walk import Walk
from ..errors import ChatRestError, CursorError
from . import replies, streams
from .environment import management, session
from .filters import ListCommand, filter_options, query_of
from .options import option_table, shown_default
from .process import run
from .record_formats import Format, RecordWriter, format_option, kind_of

F = TypeVar("F", bound=Callable[..., Any])
_paging_options: Final = option_table(
    ("--limit", click.IntRange(min=0), "N", "Print no more than N.  [default: all]"),
    ("--cursor", None, "TOKEN",
     "Continue where an earlier run stopped, with the token that it printed. Use the same filters."),
)  # fmt: skip
_EARLY_ENDS: Final = (ChatRestError, OSError, KeyboardInterrupt, asyncio.CancelledError)


def list_options(command: F) -> F:
    """Add the options of every list."""
    return _paging_options(format_option(command))


def print_list(
    noun: str,
    client: Callable[[], Any],
    walk_of: Callable[[AsRows], Walk[Any]],
    limit: int | None,
    writer: RecordWriter,
) -> None:
    """Print at most `limit` records of a list.

    If it fails or is interrupted, the error has a note with the cursor after the last page that was written.
    """
    written: Cursor | None = None

    async def work() -> None:
        nonlocal written
        async with client() as opened:
            try:
                walk = walk_of(AsRows(opened.sender))
            except CursorError as error:  # damaged, or of another query
                raise click.BadParameter(str(error), param_hint="'--cursor'") from None
            # If the output is on the same terminal, it shows the progress itself.
            is_shown, total = not streams.is_terminal("stdout"), 0
            with streams.status_line(f"0 {noun}", is_shown=is_shown) as update:
                async for page in (walk if limit is None else walk.limit(limit)).pages():
                    streams.write(writer.encode([bytes(row.raw) for row in page.items]))
                    written = page.cursor
                    total += len(page.items)
                    update(f"{total:,} {noun}")
            streams.write(writer.end())

    try:
        run(work())
    except _EARLY_ENDS as error:
        if written is not None:
            error.add_note(f"continue with the same command and --cursor {written}")
        raise


@click.command(cls=ListCommand, short_help="Print the messages of a user.")
@click.argument("uid")
@click.option("--on-behalf-of", metavar="UID", help="Print the messages between this user and UID.")
@list_options
@filter_options(MessageQuery)
def messages(
    uid: str,
    on_behalf_of: str | None,
    limit: int | None,
    cursor: str | None,
    format_: Format | None,
    **given: Any,
) -> None:
    """Print the messages of UID: a readable line each to a terminal, and to a pipe or file a JSON line each,
    exactly as the service sends it.

    If a run is interrupted or fails, its last line on standard error says how to continue.

    \b
    Examples:
      chatrest messages bob --on-behalf-of alice > talk.jsonl
      chatrest messages bob --on-behalf-of alice --affix append --limit 10
      chatrest messages bob --format csv > bob.csv
      chatrest messages bob --search-key invoice --has-attachments | jq .data.text
    """
    query = query_of(MessageQuery, given)
    kind = kind_of(MessageCount if given["filter_count"] else Message)
    print_list(
        "messages",
        session,
        lambda send: Messages(send).list_user(uid, on_behalf_of=on_behalf_of, query=query, cursor=cursor),
        limit,
        RecordWriter(kind, format_),
    )


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
    print_list("users", session, lambda send: Users(send).list(query, cursor=cursor), limit, writer)


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
    print_list("apps", management, lambda send: Apps(send).list(query, cursor=cursor), limit, writer)


def _without_keys(record: bytes) -> bytes:
    return msgspec.json.encode(scrub_all(whole(record), ()))


# ── send and token ──


@click.command(short_help="Send a text message.")
@click.argument("receiver")
@click.argument("text")
@option_table(
    ("--on-behalf-of", None, "UID", "The sender.  [default: the app itself]"),
    ("--receiver-type", ("user", "group"), None, "RECEIVER is the uid of a user or the guid of a group.",
     shown_default("user")),
)  # fmt: skip
def send(receiver: str, text: str, on_behalf_of: str | None, receiver_type: Literal["user", "group"]) -> None:
    """Send TEXT to RECEIVER, and print the stored message as a JSON line.

    The request is never repeated. Without a reply, the error says that the message may have been sent, and
    names its muid, a random id that the stored message has as well. If the service ignores --on-behalf-of, a
    warning says so.

    \b
    Examples:
      chatrest send bob "See you at noon" --on-behalf-of alice
      chatrest send team-7 "Release is out" --receiver-type group --on-behalf-of alice
      chatrest send bob -- "-5 °C today"
    """
    message = NewMessage.text(receiver, text, receiver_type=receiver_type)
    streams.output()  # raises if it is closed, before the message is sent
    reply = run(replies.send_alone(SEND, SEND(body=message, on_behalf_of=on_behalf_of)))
    streams.write_reply(replies.line_of(reply), "the message was sent")


@click.command(short_help="Create a login token for a user, and print it.")
@click.argument("uid")
@option_table(
    ("--force", bool, None, "Request a new token even if the user has one."),
    ("--json as_json", bool, None, "Print the whole record of the token as a JSON line."),
)
def token(uid: str, force: bool, as_json: bool) -> None:
    """Create a login token for the user UID, and print it. The token is a credential of that user.

    \b
    Example:
      TOKEN=$(chatrest token alice)
    """
    streams.output()
    record = run(_create_token(uid, force=force or None))
    text = replies.line_of(record) if as_json else record.auth_token.encode("utf-8", "backslashreplace")
    streams.write_reply(text, "the token was created")


async def _create_token(uid: str, *, force: bool | None) -> AuthToken:
    async with session() as chat:
        return await chat.auth_tokens.create(uid, force=force)
