"""The parameters of an operation as `chatrest call` takes them, all read from its endpoint.

A parameter is given by its name on the wire or in snake_case. A name that stands in several places belongs to
the path, and `query.NAME` and `body.NAME` reach the others.

The value is read from its text as the field's type takes it. A text that does not fit the type is returned as
it is: the struct that gets it names the field and what is allowed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct, inspect, structs

from ..core.requests.endpoint import Endpoint
from ..errors import RequestInvalidError
from ..parameters.fields import words_of
from ..parameters.files import File
from ..secrets import HIDDEN, is_credential, shown
from .options import parse_time

Place: TypeAlias = Literal["acting", "whole body", "path", "query", "headers", "body"]

ACTING: Final = "on_behalf_of"
BODY: Final = "body"
_TEXT: Final = inspect.StrType()
_PREFIXED: Final = ("path", "query", "body")
_SHOWN: Final[tuple[Place, ...]] = (*_PREFIXED, "headers", "whole body", "acting")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


_LISTS: Final = (inspect.CollectionType, inspect.TupleType)
_OBJECTS: Final = (inspect.DictType, inspect.StructType, inspect.TypedDictType, inspect.DataclassType)
_NOT_TEXT: Final = (
    inspect.AnyType,
    *_LISTS,
    *_OBJECTS,
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
)
_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4000}")
_LONGEST_CHOICES: Final = 44


class Parameter(Struct, frozen=True):
    """One parameter: a part of the path, a field of the filter or of the body, the acting user, the body."""

    name: str
    """The shortest name that reaches it: `uid`, or `body.uid` where the path has a `uid`."""
    place: Place
    field: str
    """The name of the path's parameter, or of the struct's field."""
    wire_name: str
    rule: inspect.Type
    is_required: bool = False
    takes_null: bool = False
    """True if it may be sent as null."""

    @property
    def label(self) -> str:
        """The parameter as a usage line has it: `uid=TEXT`."""
        return f"{self.name}={type_label(self.rule)}"

    @property
    def description(self) -> str:
        return description(self.rule)


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
        """Return ` (did you mean …?)` for a name that is not known; empty where none is near."""
        lowered = {known.lower(): parameter for known, parameter in self._by_name.items()}
        homonyms = [known for known in self._by_name if name and known.partition(".")[2] == name]
        matches = homonyms or get_close_matches(name.lower(), lowered, n=1)
        return _question([lowered[match.lower()].name for match in matches])


def completions(parameters: Parameters, texts: Iterable[str], incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the texts `KEY=` and `KEY=VALUE` that begin with `incomplete`, each with its description.

    Keys that `texts` have already are left out; values are those of parameters with a few.
    """
    given = {text.partition("=")[0] for text in texts}
    for parameter in parameters.all:
        key = f"{parameter.name}="
        if incomplete.startswith(key):
            values = (f"{key}{value}" for value in choices(parameter.rule))
            yield from ((value, "") for value in values if value.startswith(incomplete))
        elif key.startswith(incomplete) and parameter.name not in given:
            yield key, parameter.description


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ` (did you mean …?)` with the nearest of `names`; empty where none is near."""
    return _question(get_close_matches(name, list(names), n=1))


def _question(names: Iterable[str]) -> str:
    words = " or ".join(map(repr, dict.fromkeys(names)))
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
    if endpoint.acting != "never":
        yield Parameter(
            ACTING, "acting", ACTING, "onBehalfOf", _TEXT, is_required=endpoint.acting == "required"
        )
    if endpoint.body is not None or endpoint.method != "GET":
        yield Parameter(BODY, "whole body", BODY, BODY, inspect.AnyType())
    for name in endpoint.parameters:
        yield Parameter(snake_case(name), "path", name, name, _TEXT, is_required=True)
    yield from _fields("query", endpoint.query)
    yield from _fields("headers", endpoint.headers)
    yield from _fields("body", endpoint.body)


def _fields(place: Place, kind: type[Struct] | None) -> Iterable[Parameter]:
    if kind is None:
        return
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    for field in described.fields:
        takes_none = any(isinstance(part, inspect.NoneType) for part in alternatives(field.type))
        yield Parameter(
            name=field.name,
            place=place,
            field=field.name,
            wire_name=field.encode_name,
            rule=field.type,
            is_required=field.required,
            # A filter's field is None if it is absent; a body's field is UNSET, which has no default here.
            takes_null=takes_none and field.default is not None,
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
    """The parameter under the shortest name that reaches it."""
    names = spellings(parameter)
    name = next((name for name in names if by_name.get(name) is parameter), f"{parameter.place}.{names[0]}")
    return structs.replace(parameter, name=name)


# ── the types of values ──


def alternatives(rule: inspect.Type) -> Iterator[inspect.Type]:
    """The types that a field takes: the members of a union, without their metadata."""
    if isinstance(rule, inspect.Metadata):
        yield from alternatives(rule.type)
    elif isinstance(rule, inspect.UnionType):
        for part in rule.types:
            yield from alternatives(part)
    else:
        yield rule


def list_type(rule: inspect.Type) -> inspect.Type | None:
    """The list among the types that a field takes; None where it takes none."""
    return next((kind for kind in alternatives(rule) if isinstance(kind, _LISTS)), None)


def takes_text(rule: inspect.Type) -> bool:
    """Return True if any text may be a value of the field as it is."""
    return any(_is_text(kind) for kind in alternatives(rule))


def takes_file(rule: inspect.Type) -> bool:
    return any(isinstance(kind, inspect.CustomType) and kind.cls is File for kind in alternatives(rule))


def time_unit(rule: inspect.Type) -> int:
    """Return how many units of a timestamp make a second, for the type of a time; 0 for any other type."""
    return next((extra["per_second"] for metadata in _metadata(rule) if (extra := metadata.extra)), 0)


def convert(name: str, text: str, rule: inspect.Type) -> Any:
    """Return the value that `text` stands for; `RequestInvalidError` for JSON that cannot be read."""
    if (several := list_type(rule)) is not None:
        return _items(name, text, several)
    if per_second := time_unit(rule):
        return parse_time(name, text, per_second=per_second)
    kinds = list(alternatives(rule))
    if any(isinstance(kind, (*_OBJECTS, inspect.AnyType)) for kind in kinds) and text[:1] in ("{", "["):
        return read_json(name, text)
    if any(isinstance(kind, inspect.AnyType) for kind in kinds):
        return _read(msgspec.json.decode, text)  # such as a number; what is no JSON is a text
    if any(map(_is_text, kinds)):
        return text
    for kind in kinds:
        value = _scalar(text, kind)
        if value is not text:
            return value
    if any(isinstance(kind, inspect.BoolType) for kind in kinds) and len(choices(rule)) == 2:
        raise RequestInvalidError(f"{name} = {shown(text)}: allowed is true or false")
    return text


def read_json(name: str, text: str) -> Any:
    """Return the value of a JSON text; `RequestInvalidError` with the parameter's `name` if it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        value = HIDDEN if is_credential(name) else shown(shortened(text))
        raise RequestInvalidError(f"{name} = {value}: it is not JSON ({error})") from None


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def type_label(rule: inspect.Type) -> str:
    """The type as a help text names it: TEXT, N, TIME, `true|false`, or the values that are allowed."""
    if (several := list_type(rule)) is not None:
        return "JSON" if _has_objects(getattr(several, "item_type", None)) else "LIST"
    if time_unit(rule):
        return "TIME"
    labels = [_label(kind) for kind in alternatives(rule) if not isinstance(kind, inspect.NoneType)]
    return "|".join(dict.fromkeys(labels)) or "TEXT"


def choices(rule: inspect.Type) -> list[str]:
    """The texts of all values that a field takes where they are few: literals, true and false."""
    texts: list[str] = []
    several = list_type(rule)
    for kind in alternatives(rule if several is None else getattr(several, "item_type", rule)):
        if isinstance(kind, inspect.LiteralType):
            texts += map(str, kind.values)
        elif isinstance(kind, inspect.BoolType):
            texts += ["true", "false"]
    return texts


def description(rule: inspect.Type) -> str:
    """The words of a field's type for what is allowed; those of an object name its members."""
    several = list_type(rule)
    inner = getattr(several, "item_type", None) if several is not None else rule
    kinds = list(alternatives(inner or rule))
    literals = [value for kind in kinds if isinstance(kind, inspect.LiteralType) for value in kind.values]
    words = next((str(text) for text in _descriptions(rule)), words_of(literals, is_list=several is not None))
    if any(isinstance(kind, inspect.BoolType) for kind in alternatives(rule)):
        words = "true or false"  # as a command line has them, not as Python
    objects = [kind for kind in kinds if isinstance(kind, inspect.StructType)]
    members = [field.encode_name for kind in objects for field in kind.fields]
    listed = f"members: {', '.join(members)}" if members else ""
    return "; ".join(filter(None, (words, listed)))


def _is_text(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.LiteralType):
        return any(isinstance(value, str) for value in kind.values)
    return not isinstance(kind, _NOT_TEXT)


def _metadata(rule: inspect.Type) -> Iterator[inspect.Metadata]:
    if isinstance(rule, inspect.Metadata):
        yield rule
        yield from _metadata(rule.type)
    elif isinstance(rule, inspect.UnionType):
        for part in rule.types:
            yield from _metadata(part)


def _descriptions(rule: inspect.Type) -> Iterator[Any]:
    for metadata in _metadata(rule):
        if text := (metadata.extra_json_schema or {}).get("description"):
            yield text


def _items(name: str, text: str, several: inspect.Type) -> Any:
    """A JSON array, one JSON object, or a comma list whose items are converted by their own type."""
    rule = getattr(several, "item_type", None) or inspect.AnyType()
    if text.startswith("["):
        return read_json(name, text)
    if text.startswith("{") and _has_objects(rule):
        return [read_json(name, text)]
    return [convert(name, item, rule) for item in text.split(",")] if text else []


def _has_objects(rule: inspect.Type | None) -> bool:
    return rule is not None and any(isinstance(kind, _OBJECTS) for kind in alternatives(rule))


def _scalar(text: str, kind: inspect.Type) -> Any:
    if isinstance(kind, inspect.BoolType):
        return _BOOLEANS.get(text.lower(), text)
    is_whole = isinstance(kind, inspect.IntType) or (
        isinstance(kind, inspect.LiteralType) and all(isinstance(value, int) for value in kind.values)
    )
    if is_whole:
        return int(text) if _WHOLE.fullmatch(text) else text
    return _read(float, text) if isinstance(kind, inspect.FloatType) else text


def _read(make: Callable[[str], Any], text: str) -> Any:
    try:
        return make(text)
    except ValueError:  # msgspec's own errors are ValueErrors
        return text


def _label(kind: inspect.Type) -> str:
    match kind:
        case inspect.BoolType():
            return "true|false"
        case inspect.IntType():
            return "N"
        case inspect.FloatType():
            return "NUMBER"
        case inspect.LiteralType():
            choices = "|".join(map(str, kind.values))
            return choices if len(choices) <= _LONGEST_CHOICES else "TEXT"
        case inspect.CustomType():
            return "@FILE"
    return "JSON" if isinstance(kind, (*_OBJECTS, inspect.AnyType)) else "TEXT"
