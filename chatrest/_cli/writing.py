"""`send` and `token`: the commands that change something on the service."""

from typing import Literal

import click

from .._models.users import AuthToken
from .._parameters.messages import NewMessage
from .._resources.messages import SEND
from . import replies, streams
from .environment import session
from .options import option_table, shown_default
from .process import run


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
