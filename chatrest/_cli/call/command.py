"""`call`: any operation of the table, by its name; one subcommand per operation, made of its endpoint."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from ... import _resources as resources
from ..._core.replies.decode import ManyRecords
from ..._core.requests.endpoint import Endpoint
from ..._texts import nearest
from ...errors import RequestInvalidError
from .. import streams
from ..process import run
from ..records import check_success, line_of, list_options, print_list, send_alone
from .arguments import call_of
from .help_text import OperationHelp, list_operations


class OperationGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(resources.OPERATIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        endpoint = resources.OPERATIONS.get(cmd_name)
        if endpoint is None:
            return None
        texts = click.Argument(["texts"], nargs=-1, metavar="KEY=VALUE")
        command = OperationHelp(endpoint, callback=partial(_call, endpoint), params=[texts])
        return list_options(command) if isinstance(endpoint.reply, ManyRecords) else command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in resources.OPERATIONS:
            hint = nearest(args[0], resources.OPERATIONS)
            raise click.UsageError(
                f"No such operation {args[0]!r}{hint}; '{ctx.command_path} --list' shows all"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: there are too many of them for a help text."""


def _call(endpoint: Endpoint[Any], texts: tuple[str, ...], **given: Any) -> None:
    try:
        call = call_of(endpoint, texts, _text_of)
        if isinstance(endpoint.reply, ManyRecords):
            given["format_"] = given["format_"] or "json"
            print_list(call, given, endpoint.reply.record)
            return
        streams.output()  # raises if it is closed, before anything is sent
        reply = run(send_alone(endpoint, call))
    except FileNotFoundError as error:  # all files are those that the user has named
        raise RequestInvalidError(f"{error.filename}: there is no such file or folder") from None
    streams.write_reply(line_of(reply), "the call succeeded")
    check_success(endpoint, reply)


def _text_of(name: str) -> str:
    """Return the text of a file, or of standard input for `-`, without the line break at its end."""
    if name == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RequestInvalidError(f"@{name}: expected a file in UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


@click.group(
    cls=OperationGroup,
    short_help="Call any operation of the service.",
    subcommand_metavar="NAME [KEY=VALUE]...",
    invoke_without_command=True,
)
@click.option("--list", "is_list", is_flag=True, help="Print all operations, one per line.")
@click.pass_context
def call(ctx: click.Context, is_list: bool) -> None:
    """Call the operation NAME, and print its reply as JSON.

    \b
    Examples:
      chatrest call --list | grep -i unread
      chatrest call users.list --help
      chatrest call users.list status=available tags=a,b --limit 10
      chatrest call messages.send receiver=bob type=text data='{"text": "hello"}' on_behalf_of=alice
      chatrest call messages.send body=@message.json on_behalf_of=alice

    A list prints one line per record, exactly as the service sends it. Anything else prints one line: the
    record, the acknowledgement, or the outcome of each item. Credentials in a reply are printed.

    \b
    KEY is the name of a parameter, in snake_case or as the service writes it. VALUE is
      TEXT        the text as it is
      N           a number
      true|false  or 1 and 0
      TIME        2026-11-01, 2026-11-01T12:00Z (UTC if no zone is given), a timestamp, yesterday, or 7d
                  for the moment seven days ago
      LIST        items with commas between them, or a JSON array
      JSON        any JSON value
      @FILE       the value is read from a file, or from standard input (@-); @@ begins a text with @

    body=JSON gives the whole body at once. If a parameter of the path and a member of the body have one name,
    body.NAME is the member.

    `chatrest call NAME --help` shows the parameters of an operation, and --limit, --cursor and --format of a
    list.
    """
    if is_list:
        list_operations()
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
