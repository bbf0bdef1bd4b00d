"""`messages`, `users` and `apps` print a line for each record, `send` and `token` what they made.

A call is sent with the session or the management account, and a record is printed as it was served.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal

import click
import msgspec
from msgspec import structs

from .._core.paging.cursor import Cursor
from .._core.replies.decode import Ack, Outcomes
from .._core.replies.outcomes import outcomes_of
from .._core.replies.scanner import read_body, read_json
from .._core.requests.endpoint import Call, Endpoint
from .._core.send import AsRows
from .._models.apps import AppInfo
from .._models.messages import Message, MessageCount
from .._models.raw_json import write_value
from .._models.roles import PermissionOutcomes
from .._models.users import AuthToken, User
from .._parameters.apps import AppQuery
from .._parameters.messages import MessageQuery, NewMessage, TrackedMessage
from .._parameters.users import UserQuery
from .._resources.apps import APPS_LIST
from .._resources.collection import walk
from .._resources.messages import LIST_USER, SEND, with_muid
from .._resources.users import USERS_LIST
from .._secrets import scrub_all
from ..errors import ChatRestError, CursorError, OutcomeUnknownError, ReplyUnreadableError
from . import streams
from .command_options import (
    SectionCommand,
    filter_options,
    option_table,
    query_of,
    shown_default,
    whole_number,
)
from .environment import management, run, session
from .record_formats import FORMAT, RecordWriter
from .streams import ProgressLine

if TYPE_CHECKING:
    from ..session import AsyncManagement, AsyncSession

list_options: Final = option_table(
    ("--limit", whole_number(0), "N", "Print no more than N.  [default: all]"),
    ("--cursor", None, "TOKEN", "Continue an earlier run, with its token and the same filters."),
    FORMAT,
)  # fmt: skip
_EARLY_ENDS: Final = (ChatRestError, OSError, KeyboardInterrupt, asyncio.CancelledError)


def print_list(
    call: Call[Any], given: Mapping[str, Any], record: Any, convert: Callable[[bytes], bytes] = bytes
) -> None:
    """Print the records of a list; `given` has --limit, --cursor and --format.

    If it fails or is interrupted, the error has a note with the cursor after the last page that was written,
    and the rest of the limit.
    """
    limit, cursor, noun = given["limit"], given["cursor"], call.endpoint.name.partition(".")[0]
    writer = RecordWriter(record, given["format_"], has_header=cursor is None)
    written: Cursor | None = None
    total = 0

    async def work() -> None:
        nonlocal written, total
        async with client_of(call.endpoint) as client:
            try:
                records = walk(AsRows(client.sender), call, cursor)
            except CursorError as error:  # damaged, or of another query
                fault = f"--cursor {cursor!r}: expected a token of the same list ({error})"
                raise click.UsageError(fault) from None
            # If the output is on the same terminal, it shows the progress itself.
            with ProgressLine(quiet=streams.is_terminal("stdout")) as line:
                line.show(f"0 {noun}")
                async for page in (records if limit is None else records.limit(limit)).pages():
                    streams.write(writer.encode([convert(row.raw) for row in page.items]))
                    written = page.cursor
                    total += len(page.items)
                    line.show(f"{total:,} {noun}")
            streams.write(writer.end())

    try:
        run(work())
    except _EARLY_ENDS as error:
        if written is not None and total != limit:
            remaining = "" if limit is None else f"--limit {limit - total} "
            error.add_note(f"continue with the same command and {remaining}--cursor {written}")
        raise


@click.command(cls=SectionCommand, short_help="Print the messages of a user.")
@click.argument("uid")
@click.option("--on-behalf-of", metavar="UID", help="Print the messages between this user and UID.")
@list_options
@filter_options(MessageQuery)
def messages(uid: str, on_behalf_of: str | None, **given: Any) -> None:
    """Print the messages of UID: a readable line each to a terminal, else a JSON line each, as served.

    They are those between UID and the user of --on-behalf-of. Without that option the documentation of the
    service does not say whose messages are listed.

    \b
    Examples:
      chatrest messages bob --on-behalf-of alice > talk.jsonl
      chatrest messages bob --on-behalf-of alice --affix append --limit 10
      chatrest messages bob --format csv > bob.csv
      chatrest messages bob --search-key invoice --has-attachments | jq .data.text

    If a run is interrupted or fails, its last line on standard error says how to continue.
    """
    call = LIST_USER(uid=uid, on_behalf_of=on_behalf_of, query=query_of(MessageQuery, given))
    print_list(call, given, MessageCount if given["filter_count"] else Message)


@click.command(cls=SectionCommand, short_help="Print the users of the app.")
@list_options
@filter_options(UserQuery)
def users(**given: Any) -> None:
    """Print the users of the app: a readable line each to a terminal, else a JSON line each, as served.

    \b
    Examples:
      chatrest users > users.jsonl
      chatrest users --status available --role moderator
      chatrest users --search-key al --search-in name --limit 5
      chatrest users --format csv > users.csv
    """
    print_list(USERS_LIST(query=query_of(UserQuery, given)), given, User)


@click.command(cls=SectionCommand, short_help="Print the applications of the account.")
@list_options
@filter_options(AppQuery)
def apps(**given: Any) -> None:
    """Print the applications of the account, one per line, with their keys hidden.

    \b
    Example:
      chatrest apps | jq -r .id

    Reads CHATREST_MANAGEMENT_URL, CHATREST_MANAGEMENT_KEY and CHATREST_MANAGEMENT_SECRET.
    """

    def hide(record: bytes) -> bytes:
        return msgspec.json.encode(scrub_all(read_body(record), ()))

    print_list(APPS_LIST(query=query_of(AppQuery, given)), given, AppInfo, hide)


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

    \b
    Examples:
      chatrest send bob "See you at noon" --on-behalf-of alice
      chatrest send team-7 "Release is out" --receiver-type group --on-behalf-of alice
      chatrest send bob -- "-5 °C today"

    The request is never repeated. Without a reply, the error says that the message may have been sent, and
    names its muid, a random id that the stored message has as well.
    """
    message = NewMessage.text(receiver, text, receiver_type=receiver_type)
    streams.output()  # raises if it is closed, before the message is sent
    reply = run(send_alone(SEND, SEND(body=message, on_behalf_of=on_behalf_of)))
    streams.write_reply(line_of(reply), "the message was sent")


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

    async def create() -> AuthToken:
        async with session() as chat:
            return await chat.auth_tokens.create(uid, force=force or None)

    record = run(create())
    text = line_of(record) if as_json else record.auth_token.encode("utf-8", "backslashreplace")
    streams.write_reply(text, "the token was created")


_LINE_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")


def client_of(endpoint: Endpoint[Any]) -> "AsyncSession | AsyncManagement":
    return management() if endpoint.interface == "management" else session()


async def send_alone(endpoint: Endpoint[Any], call: Call[Any]) -> Any:
    """Return the reply of a call; a record as its bytes, because a struct would leave out unknown members."""
    if isinstance(call.body, TrackedMessage):
        call = structs.replace(call, body=with_muid(call.body))
    reader = _RecordReader(endpoint.reply) if hasattr(endpoint.reply, "record_bytes") else None
    if reader is not None:
        call = structs.replace(call, endpoint=structs.replace(endpoint, reply=reader))
    try:
        async with client_of(endpoint) as client:
            reply = await client.sender(call)
    except OutcomeUnknownError as error:
        if isinstance(call.body, TrackedMessage):
            error.muid = call.body.muid or None
            error.add_note(f"the message's muid is {error.muid}: look for it before you send it again")
        raise
    return reply if reader is None else reader.line


class _RecordReader:
    def __init__(self, reply: Any) -> None:
        self._reply = reply
        self.line = b""

    def __call__(self, body: bytes, /) -> Any:
        self.line = self._reply.record_bytes(body)
        with suppress(ReplyUnreadableError):  # a member is not of its type: it is printed all the same
            return self._reply(body)
        return None


def check_success(endpoint: Endpoint[Any], reply: Any) -> None:
    if isinstance(reply, Outcomes):
        reply.check()
    if isinstance(reply, Ack) and not reply.success:
        raise ChatRestError(f"{endpoint.name}: the service says that it did not succeed")


def line_of(reply: Any) -> bytes:
    if isinstance(reply, bytes):
        return reply.translate(_LINE_BREAKS)
    return write_value(_outcomes(reply) if isinstance(reply, Outcomes) else reply)


def _outcomes(reply: Outcomes[Any]) -> dict[str, Any]:
    try:
        served = outcomes_of(read_json(reply.raw))
    except ReplyUnreadableError:
        served = {}
    outcomes = {key: served.get(key, outcome) for key, outcome in reply.items()}
    more = {"permissions": reply.permissions} if isinstance(reply, PermissionOutcomes) else {}
    return outcomes | more
