"""Arguments of `call`: from the texts `KEY=VALUE` to the call of an endpoint.

The parameters of an operation are read from its endpoint. One is given by its name on the wire or in
snake_case. A name that is in several places belongs to the path, and `query.NAME` and `body.NAME` reach the
others. All that is wrong with the names is one error, which says what is near and what is allowed. The values
are checked by the structs that are made of them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, inspect, structs

from ..._core.replies.decode import ManyRecords
from ..._core.requests.endpoint import Call, Endpoint
from ..._parameters.fields import words_of
from ..._parameters.files import File
from ..._secrets import repr_of
from ..._texts import nearest
from ...errors import RequestInvalidError
from ..value_types import ValueType, read_json

_LIST_OPTIONS: Final = ("limit", "cursor")
ReadFile: TypeAlias = Callable[[str], str]
"""Return the text of the file of this name."""
Place: TypeAlias = Literal["acting", "whole body", "path", "query", "headers", "body"]

ACTING: Final = "on_behalf_of"
BODY: Final = "body"
_PREFIXED: Final = ("path", "query", "body")
_SHOWN: Final[tuple[Place, ...]] = (*_PREFIXED, "headers", "whole body", "acting")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_LETTER: Final = re.compile(r"[-\[\]]")


class Parameter(Struct, frozen=True):
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
        return f"{self.name}={self.rule.label}"


class Parameters:
    def __init__(self, endpoint: Endpoint[Any]) -> None:
        self._endpoint = endpoint
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
        return [parameter for parameter in self.all if parameter.place == place]

    def names(self, *places: Place) -> set[str]:
        return {parameter.name for parameter in self.all if parameter.place in places}

    def check(self, faults: Mapping[str, str], given: Collection[str]) -> None:
        """Raise one `RequestInvalidError` for all faults, each with its hint, and for missing parameters."""
        missing = [each.name for each in self.all if each.is_required and each.name not in given]
        lacks = [f"missing {', '.join(missing)}"] if missing else []
        if not faults and not lacks:
            return
        allowed = words_of([parameter.name for parameter in self.all])
        parts = [f"{fault}{hint}" for fault, hint in faults.items()] + lacks
        if not all(faults.values()):
            parts.append(f"expected {allowed}" if allowed else "it has no parameters")
        error = RequestInvalidError(f"{self._endpoint.name}: {'; '.join(parts)}")
        error.add_note(f"see 'chatrest call {self._endpoint.name} --help'")
        raise error

    def hint(self, name: str) -> str:
        if name in _LIST_OPTIONS and isinstance(self._endpoint.reply, ManyRecords):
            return f" (did you mean '--{name}'?)"
        return nearest(_key(name), self.names(*_SHOWN))


def _key(name: str) -> str:
    """Return a name as it is looked up: `sentAt[from]` and `sent_at_from` are one."""
    return _NO_LETTER.sub("_", _HUMP.sub("_", name).lower()).strip("_")


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
        yield Parameter(_key(name), "path", name, name, text, is_required=True)
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


def call_of(endpoint: Endpoint[Any], texts: Sequence[str], read_file: ReadFile) -> Call[Any]:
    """Return the call of the texts `KEY=VALUE`.

    Raises `RequestInvalidError` for unknown and missing parameters, all in one error, and for a wrong value.
    """
    parameters = Parameters(endpoint)
    given: dict[str, list[str]] = {}
    faults: dict[str, str] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator:
            faults[f"{repr_of(text)} is not KEY=VALUE"] = ""
        elif (parameter := parameters.get(key)) is None:
            faults[f"no parameter {repr_of(key)}"] = parameters.hint(key)
        else:
            given.setdefault(parameter.name, []).append(value)
    parameters.check(faults, {*given, *(parameters.names("body") if BODY in given else ())})
    values: dict[str, dict[str, Any]] = {place: {} for place in _SHOWN}
    for each in parameters.all:
        if each.name in given:
            values[each.place][each.field] = _value(each, given[each.name], read_file)
    return endpoint(
        query=endpoint.query(**values["query"]) if endpoint.query and values["query"] else None,
        body=_body(endpoint, parameters, values["whole body"].get(BODY), values["body"]),
        headers=endpoint.headers(**values["headers"]) if endpoint.headers else None,
        on_behalf_of=values["acting"].get(ACTING),
        **values["path"],
    )


def _value(parameter: Parameter, texts: Sequence[str], read_file: ReadFile) -> Any:
    name, rule = parameter.name, parameter.rule
    if parameter.place == "whole body":
        return read_json(name, _content(_once(name, texts), read_file))
    if rule.takes_file:
        text = _once(name, texts)
        if not text.startswith("@") or text in ("@", "@-"):
            raise RequestInvalidError(f"{name} = {repr_of(text)}: expected @ and the path of a file")
        return File(text[1:])
    if rule.is_time and texts[0][1:].isdecimal():  # @86400 is a timestamp, and no file
        return rule.convert(name, _once(name, texts))
    if rule.item is None or len(texts) == 1:
        text = _content(_once(name, texts), read_file)
        if text == "null" and parameter.takes_null and not rule.takes_text:
            return None
        return rule.convert(name, text)
    lists = [rule.convert(name, _content(text, read_file)) for text in texts]
    return [item for items in lists for item in (items if isinstance(items, list) else [items])]


def _once(name: str, texts: Sequence[str]) -> str:
    if len(texts) > 1:
        raise RequestInvalidError(f"{name}: given {len(texts)} times, expected once")
    return texts[0]


def _content(text: str, read_file: ReadFile) -> str:
    """Return the text itself, or for `@file` that of the file; `@@` stands for `@`."""
    if not text.startswith("@"):
        return text
    return text[1:] if text.startswith("@@") else read_file(text[1:])


def _body(endpoint: Endpoint[Any], parameters: Parameters, whole: Any, fields: dict[str, Any]) -> Any:
    if endpoint.body is None:
        return whole
    if whole is not None:
        if not isinstance(whole, dict):
            raise RequestInvalidError(f"{BODY} = {repr_of(whole)}: expected a JSON object")
        by_member = {name: parameters.get(f"{BODY}.{name}") for name in whole}
        known = [each.field for each in parameters.of("body")]
        unknown = {
            f"no member {repr_of(name)} in the body": nearest(name, known)
            for name, parameter in by_member.items()
            if parameter is None
        }
        fields = {each.field: whole[name] for name, each in by_member.items() if each is not None} | fields
        names = {each.name for each in parameters.of("body") if each.field in fields}
        parameters.check(unknown, names | parameters.names(*_SHOWN) - parameters.names("body"))
    return endpoint.body(**fields)
