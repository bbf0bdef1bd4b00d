"""`call`: any operation of the table, by its name; a subcommand an operation, made of its endpoint."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from ..core.replies.decode import Many
from ..core.replies.rows import AsRows
from ..core.requests.endpoint import Call, Endpoint
from ..errors import RequestInvalidError
from . import streams
from .call_arguments import call_of
from .call_each import add_each_options, call_each, each_options
from .call_help import describe, usage
from .call_list import search_command
from .call_parameters import Parameters, completions, nearest
from .call_replies import check_success, client_of, line_of, send
from .call_values import choices
from .lists import ListPrinter, cursor_option, limit_option
from .running import run

_INDENT: Final = " " * 7


def operations() -> Mapping[str, Endpoint[Any]]:
    """Return the table of operations; it is loaded when it is first needed."""
    from ..resources import OPERATIONS

    return OPERATIONS


class OperationGroup(click.Group):
    """A group with a subcommand for every operation of the table."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; those after `--list` are of a command of their own, which is run at once."""
        if args[:1] == ["--list"]:
            search = search_command(operations())
            with search.make_context("--list", args[1:], parent=ctx) as inner:
                search.invoke(inner)
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all operations, in the table's order."""
        return list(operations())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of an operation; None where there is no such operation."""
        endpoint = operations().get(cmd_name)
        return None if endpoint is None else OperationCommand(endpoint)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` begin with; a usage error names the nearest operation."""
        if args[0] not in operations():
            hint = nearest(args[0], operations())
            raise click.UsageError(
                f"No such operation {args[0]!r}{hint}; '{ctx.command_path} --list' shows all"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: there are too many of them for a help text."""


class OperationCommand(click.Command):
    """The command of one operation."""

    def __init__(self, endpoint: Endpoint[Any]) -> None:
        is_list = isinstance(endpoint.reply, Many)
        super().__init__(
            endpoint.name,
            callback=partial(_call, endpoint),
            params=[
                click.Argument(
                    ["texts"], nargs=-1, metavar="KEY=VALUE", shell_complete=partial(_complete, endpoint)
                )
            ],
            short_help=f"{endpoint.method} {endpoint.path}",
        )
        if is_list:
            cursor_option(limit_option(self))
        add_each_options(self)
        self._endpoint = endpoint

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what has to be given, by its name."""
        return usage(self._endpoint)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage; unlike click's own it never breaks a name over two lines."""
        text = " ".join(["Usage:", ctx.command_path, *self.collect_usage_pieces(ctx)])
        lines = wrap(
            text, formatter.width, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
        )
        formatter.write("\n".join(lines) + "\n")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the operation is, and its parameters."""
        describe(self._endpoint, formatter)


def _complete(
    endpoint: Endpoint[Any], ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the parameters that begin with a text, or the values of one: `status=available`.

    Bash takes `status=av` for three words, of which the last is completed.
    """
    parameters, (*texts,) = Parameters(endpoint), ctx.params.get("texts") or ()
    if texts and texts[-1] == "=":
        texts.pop()
    if texts and (parameter := parameters.get(texts[-1])) is not None:
        values = (value for value in choices(parameter.rule) if value.startswith(incomplete))
        return [CompletionItem(value) for value in values]
    items = completions(parameters, texts, incomplete)
    return [CompletionItem(text, help=words) for text, words in items]


def _call(
    endpoint: Endpoint[Any],
    texts: tuple[str, ...],
    each: str | None,
    jobs: int | None,
    journal: str | None,
    retry_failed: bool,
    limit: int | None = None,
    cursor: str | None = None,
) -> None:
    """Call an operation, once or for each line of a file, and print the replies."""
    options = each_options(each, jobs, journal, retry_failed)
    try:
        if options is not None:
            if cursor is not None:
                raise click.UsageError("--cursor is of one list: not with --each")
            call_each(endpoint, texts, limit, options, _text_of)
        elif isinstance(endpoint.reply, Many):
            _call_list(endpoint, texts, limit, cursor)
        else:
            _call_once(endpoint, texts)
    except FileNotFoundError as error:  # all files are those that the user has named
        raise RequestInvalidError(f"{error.filename}: there is no such file or folder") from None


def _call_list(
    endpoint: Endpoint[Any], texts: tuple[str, ...], limit: int | None, cursor: str | None
) -> None:
    """Print the records of a list, a line each, as its pages come."""
    from ..resources.listing import walk

    call = call_of(endpoint, texts, _text_of)

    async def work(printer: ListPrinter) -> None:
        async with client_of(endpoint) as client:
            await printer.write(walk(AsRows(client.sender), call, cursor), limit)

    ListPrinter("records").run(work)


def _call_once(endpoint: Endpoint[Any], texts: tuple[str, ...]) -> None:
    """Print the reply of a call as a line."""
    call = call_of(endpoint, texts, _text_of)
    streams.output()  # raises if it is closed, before anything is sent
    reply = run(_send(endpoint, call))
    streams.write_reply(line_of(reply), "the call succeeded")
    check_success(endpoint, reply)


async def _send(endpoint: Endpoint[Any], call: Call[Any]) -> Any:
    async with client_of(endpoint) as client:
        return await send(client, endpoint, call)


def _text_of(name: str) -> str:
    """Return the text of a file, or of standard input for `-`, without the line break at its end."""
    if name == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RequestInvalidError(f"@{name}: allowed is a file in UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


@click.group(
    cls=OperationGroup,
    short_help="Call any operation of the service.",
    subcommand_metavar="NAME [KEY=VALUE]...",
    invoke_without_command=True,
)
@click.option(
    "--list", is_flag=True, expose_value=False,
    help="Print all operations, or with WORDS after it those that have them in their name, path or help; "
    "--json after it prints JSON lines.",
)  # fmt: skip
@click.pass_context
def call(ctx: click.Context) -> None:
    """Call the operation NAME, and print its reply as JSON.

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

    `chatrest call NAME --help` shows the parameters of an operation and its options: --limit and --cursor of
    a list; --each, --jobs and --journal, to call it for each line of a file.

    \b
    Examples:
      chatrest call --list
      chatrest call --list unread count
      chatrest call users.list --help
      chatrest call users.list status=available tags=a,b --limit 10
      chatrest call messages.send receiver=bob type=text data='{"text": "hello"}' on_behalf_of=alice
      chatrest call messages.send body=@message.json on_behalf_of=alice
      chatrest call users.get --each uids.txt --jobs 50
      chatrest call users.update --each changes.jsonl --journal changes.journal
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
