"""The help text of an operation, read from its endpoint and from its method's docstring."""

import inspect
import re
from typing import Any, Final

import click

from ..core.replies.decode import ACK, Each, Many
from ..core.requests.endpoint import Endpoint, Replay
from ..resources import collection_class
from .call_parameters import Parameter, Parameters, Place
from .call_values import takes_file, takes_text

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


def usage(endpoint: Endpoint[Any]) -> list[str]:
    """Return the pieces of the usage line: the required parameters by name, and a place for the others."""
    parameters = Parameters(endpoint).all
    required = [parameter.label for parameter in parameters if parameter.is_required]
    options = ["[OPTIONS]"]
    return options + required + (["[KEY=VALUE]..."] if len(required) < len(parameters) else [])


def describe(endpoint: Endpoint[Any], formatter: click.HelpFormatter) -> None:
    """Write the operation's summary and request, its reply, its repetition, and a section for each place."""
    parameters = Parameters(endpoint)
    with formatter.indentation():
        formatter.write_paragraph()
        formatter.write_text(summary(endpoint))
        formatter.write_paragraph()
        # Not as a text, which is broken at hyphens: a path is to be copied.
        formatter.write(f"{'':{formatter.current_indent}}{endpoint.method} {endpoint.path}\n")
        formatter.write_paragraph()
        formatter.write_text(" ".join(_sentences(endpoint)))
    for title, places in _SECTIONS:
        members = [parameter for place in places for parameter in parameters.of(place)]
        if members:
            with formatter.section(title):
                formatter.write_dl(
                    [(each.label, _words(endpoint, each)) for each in members], col_max=_WIDEST
                )


def summary(endpoint: Endpoint[Any]) -> str:
    """Return the first sentence of the method's docstring, without the request and further clauses."""
    collection, _, name = endpoint.name.partition(".")
    paragraph = first_paragraph(getattr(collection_class(collection), name))
    clause = _CLAUSE.split(_REQUEST.sub("", paragraph), maxsplit=1)[0].replace("`", "")
    return f"{clause[:1].upper()}{clause[1:]}."


def first_paragraph(described: Any) -> str:
    """Return the first paragraph of a docstring as one line."""
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
    elif takes_file(parameter.rule):
        words = "@ and the path of a file"
    else:
        words = (parameter.description or "a text that is not empty").replace(
            "True or False", "true or false"
        )
    if parameter.place == "query" and endpoint.paging and parameter.wire_name in endpoint.paging.sizes:
        words += "; the size of a page (--limit is the number of records)"
    if parameter.takes_null:
        words += ", or null" if not takes_text(parameter.rule) else ", or null (in body=JSON alone)"
    return f"{words}  [required]" if parameter.is_required else words
