"""`call`: any operation of the table, by its name; one subcommand per operation, made of its endpoint.

The help text of an operation is read from its endpoint and from its method's docstring.
"""

import inspect
import re
import sys
from pathlib import Path
from typing import Any, Final

import click

from ... import _resources as resources
from ..._core.replies.decode import ACK, EachOutcome, ManyRecords
from ..._core.requests.endpoint import Endpoint, Replay
from ..._parameters.checked import meaning
from ..._texts import nearest
from ...errors import RequestInvalidError
from .. import streams
from ..environment import MANAGEMENT_WORDS, run
from ..records import check_success, line_of, list_options, print_list, send_alone
from .operation_arguments import Parameter, Parameters, Place, call_of

_SECTIONS: Final[tuple[tuple[str, tuple[Place, ...]], ...]] = (
    ("Path", ("path",)),
    ("Query", ("query",)),
    ("Body", ("whole body", "body")),
    ("Headers", ("headers",)),
    ("Acting user", ("acting",)),
)
_WIDEST: Final = 40  # columns of a name and its type; a longer one has its own line
_REPEATED: Final[dict[Replay, str]] = {
    "never": "It is sent once: if the connection breaks, the error says that it may have been applied.",
    "safe": "It changes nothing, and is repeated if there is no usable reply.",
    "idempotent": "It is repeated if there is no usable reply: a second time it changes nothing more.",
}
_PLAIN: Final = "a non-empty text"
_CLAUSE: Final = re.compile(r"\.(?= |\Z)|;")


class OperationGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(resources.OPERATIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        endpoint = resources.OPERATIONS.get(cmd_name)
        if endpoint is None:
            return None
        command = OperationCommand(endpoint)
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


class OperationCommand(click.Command):
    def __init__(self, endpoint: Endpoint[Any]) -> None:
        short = f"{endpoint.method} {endpoint.path}"
        texts = click.Argument(["texts"], nargs=-1, metavar="KEY=VALUE")
        super().__init__(endpoint.name, short_help=short, callback=self._call, params=[texts])
        self._endpoint = endpoint

    def _call(self, texts: tuple[str, ...], **given: Any) -> None:
        endpoint = self._endpoint
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

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        endpoint, parameters = self._endpoint, Parameters(self._endpoint)
        with formatter.indentation():
            formatter.write_paragraph()
            formatter.write_text(summary(endpoint))
            formatter.write_paragraph()
            # Not as a text, which is broken at hyphens: a path is to be copied.
            formatter.write(f"{'':{formatter.current_indent}}{endpoint.method} {endpoint.path}\n")
            formatter.write_paragraph()
            formatter.write_text(" ".join(_sentences(endpoint)))
        for title, places in _SECTIONS:
            if members := [each for place in places for each in parameters.of(place)]:
                with formatter.section(title):
                    rows = [(each.label, _words(endpoint, each)) for each in members]
                    formatter.write_dl(rows, col_max=_WIDEST)


def summary(endpoint: Endpoint[Any]) -> str:
    """Return the first sentence of the method's docstring, without further clauses."""
    collection, _, name = endpoint.name.partition(".")
    paragraph = first_paragraph(getattr(resources.collection_class(collection), name))
    clause = _CLAUSE.split(paragraph, maxsplit=1)[0].replace("`", "")
    return f"{clause[:1].upper()}{clause[1:]}."


def first_paragraph(described: Any) -> str:
    return " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())


def _sentences(endpoint: Endpoint[Any]) -> list[str]:
    if isinstance(endpoint.reply, ManyRecords):
        printed = "one JSON line per record."
    elif isinstance(endpoint.reply, EachOutcome):
        printed = "the outcome of each item by its key; the exit status is 1 if one failed."
    elif endpoint.reply is ACK:
        printed = "the acknowledgement; the exit status is 1 if it says that the call failed."
    else:
        printed = "the reply as one JSON line."
    return [
        *([f"Deprecated: use {endpoint.deprecated}."] if endpoint.deprecated else []),
        f"Prints {printed}",
        _REPEATED[endpoint.replay],
        *([f"Reads {MANAGEMENT_WORDS}."] if endpoint.interface == "management" else []),
    ]


def _words(endpoint: Endpoint[Any], parameter: Parameter) -> str:
    if parameter.place == "acting":
        words = "the uid of the user that acts"
    elif parameter.place == "whole body":
        words = "the whole body at once" if endpoint.body else "a body, if the operation takes one"
    elif parameter.rule.takes_file:
        words = "@ and the path of a file"
    else:
        kinds = {"query": endpoint.query, "body": endpoint.body, "headers": endpoint.headers}
        words = _meaning(kinds.get(parameter.place), parameter)
    if parameter.place == "query" and endpoint.paging and parameter.wire_name in endpoint.paging.sizes:
        words += " (--limit is the number of all records)"
    if parameter.takes_null:
        words += ", or null" if not parameter.rule.takes_text else ", or null (in body=JSON alone)"
    return f"{words}  [required]".strip() if parameter.is_required else words


def _meaning(kind: type | None, parameter: Parameter) -> str:
    """Return the meaning of a field and its rule, but for what its type says already: TIME, true|false."""
    text = "" if kind is None else meaning(kind, parameter.field)
    rule, label = parameter.rule.description, parameter.rule.label
    if "|" in label or (text and (label == "TIME" or rule.startswith(_PLAIN))):
        return text
    return "; ".join(filter(None, (text, rule))) or _PLAIN


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

    A list prints one line per record, anything else one line. Credentials in a reply are printed.

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
        endpoints = resources.OPERATIONS.values()
        width = max(len(each.name) for each in endpoints)
        streams.write_lines(
            f"{each.name:{width}}  {summary(each)}  {each.method} {each.path}" for each in endpoints
        )
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
