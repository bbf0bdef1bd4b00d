"""`call`: any operation of the table, by its name; one subcommand per operation, made of its endpoint.

The help text of an operation is read from its endpoint and from its method's docstring. `call --list [WORDS]`
prints the operations with one line of help each, searched by words.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import click
import msgspec
from click.shell_completion import CompletionItem

from .. import resources
from ..core.replies.decode import ACK, Each, Many
from ..core.replies.rows import AsRows
from ..core.requests.endpoint import Endpoint, Replay
from ..errors import RequestInvalidError
from ..secrets import shown
from . import streams
from .call_arguments import call_of
from .call_each import call_each, checked_options, each_options
from .call_parameters import Parameter, Parameters, Place, completions, nearest
from .lists import ListPrinter, list_options
from .process import run
from .record_formats import Format, RecordWriter, kind_of
from .replies import check_success, client_of, line_of, send_alone

_INDENT: Final = " " * 7


_SECTIONS: Final[tuple[tuple[str, tuple[Place, ...]], ...]] = (
    ("Path", ("path",)),
    ("Query", ("query",)),
    ("Body", ("whole body", "body")),
    ("Headers", ("headers",)),
    ("Acting user", ("acting",)),
)
_WIDEST: Final = 40
"""Columns of a name and its type; a longer one has a line of its own."""
_REPEATED: Final[dict[Replay, str]] = {
    "never": "It is sent once: if the connection breaks, the error says that it may have been applied.",
    "safe": "It changes nothing, and is repeated if no usable reply comes.",
    "idempotent": "It is repeated if no usable reply comes: a second time it changes nothing more.",
}
_REQUEST: Final = re.compile(r"\A[A-Z]+ \S+: ")
_CLAUSE: Final = re.compile(r"\.(?= |\Z)|;")
BY_USE: Final = (
    "users", "messages", "groups", "members", "conversations", "auth_tokens", "friends", "blocked_users",
    "banned_users", "calls", "moderation", "notifications", "roles", "rbac", "restricted_features", "metrics",
    "data_import", "webhooks", "triggers", "apps", "api_keys", "agents",
)  # fmt: skip
"""All collections, those first that are used most."""


class OperationGroup(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; those after `--list` are of a command of their own, which is run at once."""
        if args[:1] == ["--list"]:
            with _SEARCH.make_context("--list", args[1:], parent=ctx) as inner:
                _SEARCH.invoke(inner)
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(resources.OPERATIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        endpoint = resources.OPERATIONS.get(cmd_name)
        return None if endpoint is None else OperationCommand(endpoint)

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
            list_options(self)
        each_options(self)
        self._endpoint = endpoint

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the required parameters by name, and a place for the others."""
        parameters = Parameters(self._endpoint).all
        required = [parameter.label for parameter in parameters if parameter.is_required]
        more = ["[KEY=VALUE]..."] if len(required) < len(parameters) else []
        return ["[OPTIONS]", *required, *more]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage; unlike click's own it never breaks a name over two lines."""
        text = " ".join(["Usage:", ctx.command_path, *self.collect_usage_pieces(ctx)])
        lines = wrap(
            text, formatter.width, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
        )
        formatter.write("\n".join(lines) + "\n")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write summary and request, the reply, the repetition, and a section for each place."""
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
        values = (value for value in parameter.rule.choices if value.startswith(incomplete))
        return [CompletionItem(value) for value in values]
    items = completions(parameters, texts, incomplete)
    return [CompletionItem(text, help=words) for text, words in items]


def _call(
    endpoint: Endpoint[Any],
    texts: tuple[str, ...],
    limit: int | None = None,
    cursor: str | None = None,
    format_: Format | None = None,
    fields: str | None = None,
    **each: Any,
) -> None:
    context = click.get_current_context()
    each["apps"] = each["apps"] or (context.parent.params.get("apps") if context.parent else None)
    options = checked_options(**each)
    try:
        if options is not None:
            for name, value in (("--cursor", cursor), ("--format", format_), ("--fields", fields)):
                if value is not None:
                    raise click.UsageError(f"{name} is of one list: not with --each or --apps")
            call_each(endpoint, texts, limit, options, _text_of)
        elif isinstance(endpoint.reply, Many):
            writer = RecordWriter(kind_of(endpoint.reply.record), format_ or "json", fields)
            _call_list(endpoint, texts, limit, cursor, writer)
        else:
            _call_once(endpoint, texts)
    except FileNotFoundError as error:  # all files are those that the user has named
        raise RequestInvalidError(f"{error.filename}: there is no such file or folder") from None


def _call_list(
    endpoint: Endpoint[Any],
    texts: tuple[str, ...],
    limit: int | None,
    cursor: str | None,
    writer: RecordWriter,
) -> None:
    from ..resources.listing import walk

    call = call_of(endpoint, texts, _text_of)

    async def work(printer: ListPrinter) -> None:
        async with client_of(endpoint) as client:
            await printer.write(walk(AsRows(client.sender), call, cursor), limit)

    ListPrinter("records", writer).run(work)


def _call_once(endpoint: Endpoint[Any], texts: tuple[str, ...]) -> None:
    call = call_of(endpoint, texts, _text_of)
    streams.output()  # raises if it is closed, before anything is sent
    reply = run(send_alone(endpoint, call))
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
@click.option(
    "--apps", metavar="FILE",
    help="Call the operation for each app of a file of apps, as with --apps after NAME.",
)  # fmt: skip
@click.pass_context
def call(ctx: click.Context, apps: str | None) -> None:
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

    `chatrest call NAME --help` shows the parameters of an operation and its options: --limit, --cursor,
    --format and --fields of a list; --each, --jobs and --journal, to call it for each line of a file; --apps,
    for each app of one.

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
      chatrest call --apps apps.toml users.list --limit 1
    """
    del apps  # the operation reads it from this context
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


# ── the help text of an operation ──


def summary(endpoint: Endpoint[Any]) -> str:
    """Return the first sentence of the method's docstring, without the request and further clauses."""
    collection, _, name = endpoint.name.partition(".")
    paragraph = first_paragraph(getattr(resources.collection_class(collection), name))
    clause = _CLAUSE.split(_REQUEST.sub("", paragraph), maxsplit=1)[0].replace("`", "")
    return f"{clause[:1].upper()}{clause[1:]}."


def first_paragraph(described: Any) -> str:
    return " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())


def _sentences(endpoint: Endpoint[Any]) -> list[str]:
    sentences = [_printed(endpoint), _REPEATED[endpoint.replay]]
    if endpoint.deprecated is not None:
        sentences.insert(0, f"Deprecated{f': use {endpoint.deprecated}' if endpoint.deprecated else ''}.")
    if endpoint.interface == "management":
        sentences.append(
            "Reads CHATREST_MANAGEMENT_URL, CHATREST_MANAGEMENT_KEY and CHATREST_MANAGEMENT_SECRET."
        )
    return sentences


def _printed(endpoint: Endpoint[Any]) -> str:
    if isinstance(endpoint.reply, Many):
        return "Prints one JSON line per record."
    if isinstance(endpoint.reply, Each):
        return "Prints the outcome of each item by its key; the exit status is 1 if one failed."
    if endpoint.reply is ACK:
        return "Prints the acknowledgement; the exit status is 1 if it says that the call did not succeed."
    return "Prints the reply as one JSON line."


def _words(endpoint: Endpoint[Any], parameter: Parameter) -> str:
    if parameter.place == "acting":
        words = "the uid of the user that acts"
    elif parameter.place == "whole body":
        words = "the whole body at once" if endpoint.body else "a body, if the operation takes one"
    elif parameter.rule.takes_file:
        words = "@ and the path of a file"
    else:
        words = parameter.rule.description or "a text that is not empty"
    if parameter.place == "query" and endpoint.paging and parameter.wire_name in endpoint.paging.sizes:
        words += "; the size of a page (--limit is the number of records)"
    if parameter.takes_null:
        words += ", or null" if not parameter.rule.takes_text else ", or null (in body=JSON alone)"
    return f"{words}  [required]" if parameter.is_required else words


# ── the list of operations ──


def list_operations(operations: Mapping[str, Endpoint[Any]], words: Sequence[str], *, as_json: bool) -> None:
    """Print the operations whose name, path or help has all `words`; `RequestInvalidError` if none has."""
    matches = [
        (endpoint, text)
        for endpoint in ordered(operations.values())
        if _matches(endpoint, text := summary(endpoint), words)
    ]
    if not matches:
        raise RequestInvalidError(
            f"no operation has {' and '.join(map(shown, words))} in its name, path or help"
        )
    lines = (_json_line(*each) for each in matches) if as_json else _lines(matches)
    streams.write("".join(f"{line}\n" for line in lines).encode())


def ordered(endpoints: Iterable[Endpoint[Any]]) -> list[Endpoint[Any]]:
    """Return the endpoints with those of the most used collections first, else in the table's order."""
    ranks = {collection: rank for rank, collection in enumerate(BY_USE)}
    return sorted(endpoints, key=lambda each: ranks.get(each.name.partition(".")[0], len(BY_USE)))


def _matches(endpoint: Endpoint[Any], text: str, words: Iterable[str]) -> bool:
    searched = f"{endpoint.name} {endpoint.path} {text}".lower()
    return all(word.lower() in searched for word in words)


def _lines(matches: Sequence[tuple[Endpoint[Any], str]]) -> Iterator[str]:
    width = max(len(endpoint.name) for endpoint, _ in matches)
    for endpoint, text in matches:
        yield f"{endpoint.name:{width}}  {endpoint.method:6}  {endpoint.path}"
        yield f"    {text}"


def _json_line(endpoint: Endpoint[Any], text: str) -> str:
    parameters = Parameters(endpoint).all
    members = {
        "name": endpoint.name,
        "method": endpoint.method,
        "path": endpoint.path,
        "help": text,
        "required": [each.label for each in parameters if each.is_required],
        "optional": [each.label for each in parameters if not each.is_required],
    }
    return msgspec.json.encode(members).decode()


_SEARCH: Final = click.Command(
    "--list",
    callback=lambda words, as_json: list_operations(resources.OPERATIONS, words, as_json=as_json),
    params=[
        click.Argument(["words"], nargs=-1),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object per operation."),
    ],
    help="Print the operations that have all WORDS in their name, path or help; all without WORDS.",
)
"""The command that is behind `call --list`."""
