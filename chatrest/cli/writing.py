"""`send` and `token`: the two commands that make something."""

import json
from typing import Any, Literal

import click
import msgspec

from ..models.user import AuthToken
from ..queries.messages import NewMessage
from . import streams
from .environment import session
from .running import run


@click.command(short_help="Sends a text message.")
@click.argument("receiver")
@click.argument("text")
@click.option("--on-behalf-of", metavar="UID", help="The sender.  [default: the app itself]")
@click.option(
    "--receiver-type",
    type=click.Choice(["user", "group"]),
    default="user",
    show_default=True,
    help="Whether RECEIVER is a uid or a guid.",
)
def send(receiver: str, text: str, on_behalf_of: str | None, receiver_type: Literal["user", "group"]) -> None:
    """Sends TEXT to RECEIVER, and prints the message as the service stored it, as a JSON line.

    It is sent once: where no reply came, the error says that it may or may not have been sent.

    \b
    Examples:
      chatrest send bob "See you at noon" --on-behalf-of alice
      chatrest send team-7 "Release is out" --receiver-type group --on-behalf-of alice
      chatrest send bob -- "-5 °C today"
    """
    message = NewMessage.text(receiver, text, receiver_type=receiver_type)
    streams.output()  # closed: better known before it is sent
    _print(run(_sent(message, on_behalf_of)), "the message was sent")


async def _sent(message: NewMessage, on_behalf_of: str | None) -> bytes:
    async with session() as chat:
        view = chat if on_behalf_of is None else chat.as_user(on_behalf_of)
        # Not messages.send: its struct would leave out the members that it does not know.
        reply = await view.request("POST", "/messages", json=message)
    return _line(reply["data"] if isinstance(reply, dict) and "data" in reply else reply)


def _print(line: bytes, done: str) -> None:
    """Prints what came of a call; where it cannot be printed, the call is done all the same, and said so."""
    try:
        streams.write(line + b"\n")
    except OSError as error:
        error.add_note(f"{done}, but its reply could not be printed")
        raise


def _line(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate in it, which JSON says in ASCII
        return json.dumps(value).encode()


@click.command(short_help="Makes a login token for a user, and prints it.")
@click.argument("uid")
@click.option("--force", is_flag=True, help="Ask for a fresh token, even where there is one.")
@click.option("--json", "as_json", is_flag=True, help="Print the token's whole record, as a JSON line.")
def token(uid: str, force: bool, as_json: bool) -> None:
    """Makes a login token for the user UID, and prints it: it is a credential of that user.

    \b
    Example:
      TOKEN=$(chatrest token alice)
    """
    streams.output()
    made = run(_token(uid, force=force))
    text = _line(made) if as_json else made.auth_token.encode("utf-8", "backslashreplace")
    _print(text, "the token was made")


async def _token(uid: str, *, force: bool) -> AuthToken:
    async with session() as chat:
        return await chat.auth_tokens.create(uid, force=force)
