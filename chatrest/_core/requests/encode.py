"""From a filter struct or a mapping to the pairs of a query string.

Booleans are sent as `true` and `false`, and arrays as one comma-separated list. That is documented for
`mentionedUids` alone, but every public trace of such a service has it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from msgspec import UNSET, Struct
from msgspec.structs import astuple, fields

from ..._secrets import repr_of
from ...errors import RequestInvalidError
from .endpoint import Pairs

_LISTS: Final = (list, tuple, set, frozenset)  # a union of types would be made for each value
_PLAIN: Final = (int, float, str)


def filter_values(query: Struct | None) -> dict[str, Any] | None:
    """Return the fields of a filter that are neither None nor UNSET, by wire names."""
    if query is None:
        return None
    named = zip(_wire_names(type(query)), astuple(query), strict=True)
    return {wire: value for wire, value in named if value is not None and value is not UNSET}


def query_pairs(query: Struct | Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the pairs of `query` in its order, without values that are None or UNSET.

    Raises `RequestInvalidError` for a value that a query cannot hold, such as a list item with a comma.
    """
    named = query if isinstance(query, Mapping) else filter_values(query) or {}
    pairs = []
    for wire, value in named.items():
        if type(value) is str:
            pairs.append((wire, value))
        elif isinstance(value, _LISTS):
            texts = [_text(wire, item) for item in value]
            if torn := [text for text in texts if "," in text]:
                raise RequestInvalidError(
                    f"query {wire} = {torn[0]!r}: a value with a comma cannot be in a comma-separated list"
                )
            pairs.append((wire, ",".join(texts)))
        elif value is not None and value is not UNSET:
            pairs.append((wire, _text(wire, value)))
    return pairs


def query_string(pairs: Iterable[tuple[str, str]]) -> str:
    """Return percent-encoded `a=1&b=2`; `RequestInvalidError` for a lone surrogate."""
    return "&".join([f"{_quoted(name)}={_quoted(value)}" for name, value in pairs])


class WalkQuery(dict[str, Any]):
    """The values of a query that is sent for page after page: only the position is encoded for each."""

    __slots__ = ("_fixed",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._fixed: dict[tuple[str, ...], str] = {}

    def fixed(self, names: tuple[str, ...]) -> str:
        text = self._fixed.get(names)
        if text is None:
            text = self._fixed[names] = _fixed(self, names)
        return text


def encoded(query: Struct | Mapping[str, Any] | None, position: Pairs) -> str:
    """Return the query string of a call: `query`, with its own position replaced by `position`."""
    moved = query_string(position) if position else ""
    if query is None:
        return moved
    names = tuple([name for name, _ in position])
    fixed = query.fixed(names) if type(query) is WalkQuery else _fixed(query, names)
    return f"{fixed}&{moved}" if fixed and moved else fixed or moved


def _fixed(query: Struct | Mapping[str, Any], names: tuple[str, ...]) -> str:
    return query_string([pair for pair in query_pairs(query) if pair[0] not in names])


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
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _PLAIN):
        with suppress(ValueError):  # an integer of more than 4300 digits
            return str(value)
    raise RequestInvalidError(
        f"query {name} = {repr_of(value)}: expected a text, a number, a boolean, or a list of these"
    )
