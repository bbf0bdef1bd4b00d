"""The parameters of an operation as `chatrest call` takes them, all read from its endpoint.

A parameter is given by its name on the wire or in snake_case. A name that is in several places belongs to
the path, and `query.NAME` and `body.NAME` reach the others.

The value is read from its text as the field's type takes it. A text that does not fit the type is returned as
it is: the struct that gets it names the field and what is allowed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias, final

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
    rule: "ValueType"
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
        return _question([lowered[match.lower()].name for match in matches])


def completions(parameters: Parameters, texts: Iterable[str], incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the texts `KEY=` and `KEY=VALUE` that begin with `incomplete`, each with its description.

    Keys that `texts` have already are left out; values are those of parameters with a few.
    """
    given = {text.partition("=")[0] for text in texts}
    for parameter in parameters.all:
        key = f"{parameter.name}="
        if incomplete.startswith(key):
            values = (f"{key}{value}" for value in parameter.rule.choices)
            yield from ((value, "") for value in values if value.startswith(incomplete))
        elif key.startswith(incomplete) and parameter.name not in given:
            yield key, parameter.rule.description


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ` (did you mean …?)` with the nearest of `names`; empty if none is near."""
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


# ── the types of values ──


@final
class ValueType(Struct, frozen=True):
    """The values that a field takes, and the texts that stand for them."""

    kinds: tuple[inspect.Type, ...]
    """The members of a union, without their metadata."""
    per_second: int
    """Units of a timestamp in a second, for a time; 0 for any other type."""
    words: str
    """The field's own words for what is allowed; "" for none."""
    item: "ValueType | None"
    """The type of the items where the field takes a list."""

    @classmethod
    def of(cls, rule: inspect.Type) -> "ValueType":
        parts = list(_parts(rule))
        kinds = tuple([part for part in parts if not isinstance(part, inspect.Metadata)])
        notes = [part for part in parts if isinstance(part, inspect.Metadata)]
        several = next((kind for kind in kinds if isinstance(kind, _LISTS)), None)
        return cls(
            kinds,
            next((note.extra["per_second"] for note in notes if note.extra), 0),
            next((text for note in notes if (text := (note.extra_json_schema or {}).get("description"))), ""),
            None if several is None else cls.of(getattr(several, "item_type", inspect.AnyType())),
        )

    def takes(self, *types: type[inspect.Type]) -> bool:
        return any(isinstance(kind, types) for kind in self.kinds)

    @property
    def takes_text(self) -> bool:
        """True if any text may be a value of the field as it is."""
        return any(map(_is_text, self.kinds))

    @property
    def takes_file(self) -> bool:
        return any(isinstance(kind, inspect.CustomType) and kind.cls is File for kind in self.kinds)

    def convert(self, name: str, text: str) -> Any:
        """Return the value that `text` stands for; `RequestInvalidError` for JSON that cannot be read.

        A list is a JSON array, one JSON object, or a comma list.
        """
        is_json = text[:1] in ("{", "[")
        if self.item is not None:
            if is_json and (text[0] == "[" or self.item.takes(*_OBJECTS)):
                value = read_json(name, text)
                return value if text[0] == "[" else [value]
            return [self.item.convert(name, item) for item in text.split(",")] if text else []
        if self.per_second:
            return parse_time(name, text, per_second=self.per_second)
        if is_json and self.takes(*_OBJECTS, inspect.AnyType):
            return read_json(name, text)
        if self.takes(inspect.AnyType):
            return _read(msgspec.json.decode, text)  # such as a number; what is no JSON is a text
        if self.takes_text:
            return text
        for kind in self.kinds:
            value = _scalar(text, kind)
            if value is not text:
                return value
        if self.takes(inspect.BoolType) and len(self.choices) == 2:
            raise RequestInvalidError(f"{name} = {shown(text)}: allowed is true or false")
        return text

    @property
    def label(self) -> str:
        """The type as a help text names it: TEXT, N, TIME, `true|false`, or the values that are allowed."""
        if self.item is not None:
            return "JSON" if self.item.takes(*_OBJECTS) else "LIST"
        if self.per_second:
            return "TIME"
        labels = [_label(kind) for kind in self.kinds if not isinstance(kind, inspect.NoneType)]
        return "|".join(dict.fromkeys(labels)) or "TEXT"

    @property
    def choices(self) -> list[str]:
        """The texts of all values where they are few: literals, true and false."""
        texts: list[str] = []
        for kind in (self.item or self).kinds:
            if isinstance(kind, inspect.LiteralType):
                texts += map(str, kind.values)
            elif isinstance(kind, inspect.BoolType):
                texts += ["true", "false"]
        return texts

    @property
    def description(self) -> str:
        """The words for what is allowed; those of an object name its members."""
        kinds = (self.item or self).kinds
        literals = [value for kind in kinds if isinstance(kind, inspect.LiteralType) for value in kind.values]
        words = self.words or words_of(literals, is_list=self.item is not None)
        if self.takes(inspect.BoolType):
            words = "true or false"  # as a command line has them, not as Python
        objects = [kind for kind in kinds if isinstance(kind, inspect.StructType)]
        members = [field.encode_name for kind in objects for field in kind.fields]
        listed = f"members: {', '.join(members)}" if members else ""
        return "; ".join(filter(None, (words, listed)))


def _parts(rule: inspect.Type) -> Iterator[inspect.Type]:
    """Yield the members of a union, each after its metadata."""
    if isinstance(rule, inspect.UnionType):
        for part in rule.types:
            yield from _parts(part)
        return
    yield rule
    if isinstance(rule, inspect.Metadata):
        yield from _parts(rule.type)


def read_json(name: str, text: str) -> Any:
    """Return the value of a JSON text; `RequestInvalidError` with the parameter's `name` if it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        value = HIDDEN if is_credential(name) else shown(shortened(text))
        raise RequestInvalidError(f"{name} = {value}: it is not JSON ({error})") from None


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def _is_text(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.LiteralType):
        return any(isinstance(value, str) for value in kind.values)
    return not isinstance(kind, _NOT_TEXT)


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
