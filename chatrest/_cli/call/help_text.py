"""The help text of an operation, read from its endpoint and its method's docstring; the list of all."""

import inspect
import re
from textwrap import wrap
from typing import Any, Final

import click

from ... import _resources as resources
from ..._core.replies.decode import ACK, EachOutcome, ManyRecords
from ..._core.requests.endpoint import Endpoint, Replay
from ..._parameters.checked import meaning
from .. import streams
from ..environment import MANAGEMENT_WORDS
from .arguments import Parameter, Parameters, Place

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
_REQUEST: Final = re.compile(r"\A[A-Z]+ \S+: ")
_CLAUSE: Final = re.compile(r"\.(?= |\Z)|;")


class OperationHelp(click.Command):
    def __init__(self, endpoint: Endpoint[Any], **options: Any) -> None:
        super().__init__(endpoint.name, short_help=f"{endpoint.method} {endpoint.path}", **options)
        self._endpoint = endpoint

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        parameters = Parameters(self._endpoint).all
        required = [parameter.label for parameter in parameters if parameter.is_required]
        more = ["[KEY=VALUE]..."] if len(required) < len(parameters) else []
        return ["[OPTIONS]", *required, *more]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage; unlike click's own it never breaks a name over two lines."""
        text = " ".join(["Usage:", ctx.command_path, *self.collect_usage_pieces(ctx)])
        lines = wrap(
            text, formatter.width, subsequent_indent=" " * 7, break_long_words=False, break_on_hyphens=False
        )
        formatter.write("\n".join(lines) + "\n")

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
    """Return the first sentence of the method's docstring, without the request and further clauses."""
    collection, _, name = endpoint.name.partition(".")
    paragraph = first_paragraph(getattr(resources.collection_class(collection), name))
    clause = _CLAUSE.split(_REQUEST.sub("", paragraph), maxsplit=1)[0].replace("`", "")
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


def list_operations() -> None:
    endpoints = resources.OPERATIONS.values()
    width = max(len(each.name) for each in endpoints)
    streams.write_lines(
        f"{each.name:{width}}  {summary(each)}  {each.method} {each.path}" for each in endpoints
    )
