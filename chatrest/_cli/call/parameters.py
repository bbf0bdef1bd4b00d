"""The parameters of an operation as `chatrest call` takes them, all read from its endpoint.

A parameter is given by its name on the wire or in snake_case. A name that is in several places belongs to
the path, and `query.NAME` and `body.NAME` reach the others.
"""

import re
from collections.abc import Iterable
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
_NO_LETTER: Final = re.compile(r"[-\[\]]")


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
        parameters = [*_parameters(endpoint)]
        owners: dict[str, Parameter] = {}
        for each in parameters:
            owners.setdefault(each.name, each)
        shared = {
            each.name for each in parameters if (each.place, owners[each.name].place) == ("body", "query")
        }
        self._by_name: dict[str, Parameter] = {}
        for each in parameters:
            has_name = owners[each.name] is each and each.name not in shared
            named = each if has_name else structs.replace(each, name=f"{each.place}.{each.name}")
            for key in (_key(each.field), _key(each.wire_name)):
                if each.place in _PREFIXED:
                    self._by_name.setdefault(f"{each.place}.{key}", named)
                if has_name:
                    self._by_name.setdefault(key, named)
        everyone = {(each.place, each.field): each for each in self._by_name.values()}
        self.all: Final = tuple(sorted(everyone.values(), key=lambda each: _SHOWN.index(each.place)))
        """All of them: path, filter and body, then the whole body and the acting user."""

    def get(self, name: str) -> Parameter | None:
        return self._by_name.get(_key(name))

    def of(self, place: Place) -> list[Parameter]:
        """Return the parameters of one place: of a struct the required ones first, else in their order."""
        return [parameter for parameter in self.all if parameter.place == place]

    def hint(self, name: str) -> str:
        """Return ` (did you mean …?)` for a name that is not known; empty if none is near."""
        lowered = {known.lower(): parameter for known, parameter in self._by_name.items()}
        homonyms = [known for known in self._by_name if name and known.partition(".")[2] == name]
        matches = homonyms or get_close_matches(name.lower(), lowered, n=1)
        words = " or ".join(dict.fromkeys(repr(lowered[match.lower()].name) for match in matches))
        return f" (did you mean {words}?)" if words else ""


def snake_case(name: str) -> str:
    """Return a name of the wire in snake_case: `authToken` is `auth_token`."""
    return _HUMP.sub("_", name).lower()


def _key(name: str) -> str:
    """Return a name as it is looked up: `sentAt[from]` and `sent_at_from` are one."""
    return _NO_LETTER.sub("_", snake_case(name)).strip("_")


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
    for field in sorted(described.fields, key=lambda field: not field.required):
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
