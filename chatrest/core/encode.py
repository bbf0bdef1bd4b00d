"""From a filter struct or a mapping to the pairs of a query string.

One decision in one place: booleans travel as `true` and `false`, and arrays as one comma list. The
specification does not say how arrays travel; every public trace of such a service is a comma list. A
deployment that differs is served by `AsyncSession(arrays="repeat")` (`tags=a&tags=b`) or `"brackets"`
(`tags[]=a&tags[]=b`). `mentionedUids` is a comma list always: its description says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from msgspec import UNSET, Struct
from msgspec.structs import astuple, fields

from ..errors import RequestInvalidError
from ..secrets import shown
from .endpoint import Pairs

Arrays: TypeAlias = Literal["comma", "repeat", "brackets"]
ARRAYS: Final = ("comma", "repeat", "brackets")
ALWAYS_COMMA: Final = frozenset({"mentionedUids"})


def filter_values(query: Struct | None) -> dict[str, Any] | None:
    """The fields of a filter that are asked for, by wire names.

    A walk looks its filter through once, not for every page.
    """
    if query is None:
        return None
    named = zip(_wire_names(type(query)), astuple(query), strict=True)
    return {wire: value for wire, value in named if value is not None and value is not UNSET}


def query_pairs(query: Struct | Mapping[str, Any] | None, arrays: Arrays) -> Iterator[tuple[str, str]]:
    """The pairs of `query` in its order; what is None or UNSET is not asked for."""
    if query is None:
        return
    named = query if isinstance(query, Mapping) else filter_values(query) or {}
    for wire, value in named.items():
        if value is None or value is UNSET:
            continue
        if isinstance(value, list | tuple | set | frozenset):
            yield from _list_pairs(wire, [_text(wire, item) for item in value], arrays)
        else:
            yield wire, _text(wire, value)


def query_string(pairs: Iterable[tuple[str, str]], position: Pairs = ()) -> str:
    """Percent-encoded `a=1&b=2`; a pair of `position` replaces those of the same name."""
    if position:
        moved = [name for name, _ in position]
        pairs = [*(pair for pair in pairs if pair[0] not in moved), *position]
    return "&".join([f"{_quoted(name)}={_quoted(value)}" for name, value in pairs])


def _quoted(text: str) -> str:
    if text.isascii() and text.isalnum():
        return text
    try:
        return quote(text, safe=",~")
    except UnicodeEncodeError:
        raise RequestInvalidError(f"query value {text!r}: a lone surrogate cannot be sent") from None


@cache
def _wire_names(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(field.encode_name for field in fields(kind))


def _text(name: str, value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        with suppress(ValueError):  # an integer of more than 4300 digits
            return str(value)
    raise RequestInvalidError(
        f"query {name} = {shown(value)}: allowed are a text, a number, a boolean, or a list of these"
    )


def _list_pairs(name: str, values: list[str], arrays: Arrays) -> Iterator[tuple[str, str]]:
    if arrays == "comma" or name in ALWAYS_COMMA:
        if torn := [value for value in values if "," in value]:
            raise RequestInvalidError(
                f"query {name} = {torn[0]!r}: a comma would tear it in a comma list; "
                'where the deployment reads them, AsyncSession(arrays="repeat") sends repeated keys'
            )
        yield name, ",".join(values)
    else:
        key = f"{name}[]" if arrays == "brackets" else name
        yield from ((key, value) for value in values)
