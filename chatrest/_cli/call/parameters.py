"""The parameters of an operation as `chatrest call` takes them, all read from its endpoint.

A parameter is given by its name on the wire or in snake_case. A name that is in several places belongs to
the path, and `query.NAME` and `body.NAME` reach the others.

The value is read from its text as the field's type takes it. A text that does not fit the type is returned as
it is: the struct that gets it names the field and what is allowed.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, inspect, structs

from ..._core.requests.endpoint import Endpoint
from ..value_types import ValueType

Place: TypeAlias = Literal["acting", "whole body", "path", "query", "headers", "body"]

ACTING: Final = "on_behalf_of"
BODY: Final = "body"
_PREFIXED: Final = ("path", "query", "body")
_SHOWN: Final[tuple[Place, ...]] = (*_PREFIXED, "headers", "whole body", "acting")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Parameter(Struct, frozen=True):
    """One parameter: a part of the path, a field of the filter or of the body, the acting user, the body."""

    name: str
    """The shortest name that reaches it: `uid`, or `body.uid` where the path has a `uid`."""
    place: Place
    field: str
    """The name of the path's parameter, or of the struct's field."""
    wire_name: str
    rule: ValueType
    is_required: bool = False
    takes_null: bool = False
    """True if it may be sent as null."""

    @property
    def label(self) -> str:
        """The parameter as a usage line has it: `uid=TEXT`."""
        return f"{self.name}={self.rule.label}"


class Parameters:
    """The parameters of one operation, and the names that reach them."""

    def __init__(self, endpoint: Endpoint[Any]) -> None:
        by_name = _by_name(_parameters(endpoint))
        # One object for all names of a parameter, under the shortest of them.
        named = {_key(parameter): _named(parameter, by_name) for parameter in by_name.values()}
        self._by_name = {name: named[_key(parameter)] for name, parameter in by_name.items()}
        self.all: Final = tuple(sorted(named.values(), key=lambda each: _SHOWN.index(each.place)))
        """All of them: path, filter and body, then the whole body and the acting user."""

    def get(self, name: str) -> Parameter | None:
        return self._by_name.get(name)

    def of(self, place: Place) -> list[Parameter]:
        """Return the parameters of one place, in the order of the path or of the struct."""
        return [parameter for parameter in self.all if parameter.place == place]

    def hint(self, name: str) -> str:
        """Return ` (did you mean …?)` for a name that is not known; empty if none is near."""
        lowered = {known.lower(): parameter for known, parameter in self._by_name.items()}
        homonyms = [known for known in self._by_name if name and known.partition(".")[2] == name]
        matches = homonyms or get_close_matches(name.lower(), lowered, n=1)
        words = " or ".join(dict.fromkeys(repr(lowered[match.lower()].name) for match in matches))
        return f" (did you mean {words}?)" if words else ""


def _key(parameter: Parameter) -> tuple[str, str]:
    return parameter.place, parameter.field


def snake_case(name: str) -> str:
    """Return a name of the wire in snake_case: `authToken` is `auth_token`."""
    return _HUMP.sub("_", name).lower()


def spellings(parameter: Parameter) -> tuple[str, ...]:
    """The names of a parameter within its place, the one that is shown first."""
    names = (parameter.field, parameter.wire_name, snake_case(parameter.wire_name))
    if parameter.place in ("path", "acting"):
        names = names[::-1]
    return tuple(dict.fromkeys(names))


def _parameters(endpoint: Endpoint[Any]) -> Iterable[Parameter]:
    """The parameters of an endpoint; where several have one name, the first of them has it."""
    text, json = ValueType.of(inspect.StrType()), ValueType.of(inspect.AnyType())
    if endpoint.acting != "never":
        yield Parameter(
            ACTING, "acting", ACTING, "onBehalfOf", text, is_required=endpoint.acting == "required"
        )
    if endpoint.body is not None or endpoint.method != "GET":
        yield Parameter(BODY, "whole body", BODY, BODY, json)
    for name in endpoint.parameters:
        yield Parameter(snake_case(name), "path", name, name, text, is_required=True)
    yield from _fields("query", endpoint.query)
    yield from _fields("headers", endpoint.headers)
    yield from _fields("body", endpoint.body)


def _fields(place: Place, kind: type[Struct] | None) -> Iterable[Parameter]:
    if kind is None:
        return
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    for field in described.fields:
        rule = ValueType.of(field.type)
        yield Parameter(
            name=field.name,
            place=place,
            field=field.name,
            wire_name=field.encode_name,
            rule=rule,
            is_required=field.required,
            # A filter's field is None if it is absent; a body's field is UNSET, which has no default here.
            takes_null=rule.takes(inspect.NoneType) and field.default is not None,
        )


def _by_name(parameters: Iterable[Parameter]) -> dict[str, Parameter]:
    """The parameter of each name; a name that the filter and the body share has none."""
    by_name: dict[str, Parameter] = {}
    shared: set[str] = set()
    for parameter in parameters:
        for name in spellings(parameter):
            if parameter.place in _PREFIXED:
                by_name.setdefault(f"{parameter.place}.{name}", parameter)
            first = by_name.setdefault(name, parameter)
            if (first.place, parameter.place) == ("query", "body"):
                shared.add(name)
    return {name: parameter for name, parameter in by_name.items() if name not in shared}


def _named(parameter: Parameter, by_name: Mapping[str, Parameter]) -> Parameter:
    names = spellings(parameter)
    name = next((name for name in names if by_name.get(name) is parameter), f"{parameter.place}.{names[0]}")
    return structs.replace(parameter, name=name)
