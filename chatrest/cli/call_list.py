"""`call --list [WORDS]`: the operations of the table with a line of help each, searched by words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import click
import msgspec

from ..core.requests.endpoint import Endpoint
from ..errors import RequestInvalidError
from ..secrets import shown
from . import streams
from .call_help import summary
from .call_parameters import Parameters

FIRST: Final = ("messages", "users", "groups", "members", "conversations")
"""The collections that are used most, which are printed before the others."""


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
    ranks = {collection: rank for rank, collection in enumerate(FIRST)}
    return sorted(endpoints, key=lambda each: ranks.get(each.name.partition(".")[0], len(FIRST)))


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


def search_command(operations: Mapping[str, Endpoint[Any]]) -> click.Command:
    """Return the command that stands behind `call --list`."""

    def callback(words: tuple[str, ...], as_json: bool) -> None:
        list_operations(operations, words, as_json=as_json)

    return click.Command(
        "--list",
        callback=callback,
        params=[
            click.Argument(["words"], nargs=-1),
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object per operation."),
        ],
        help="Print the operations that have all WORDS in their name, path or help; all without WORDS.",
    )
