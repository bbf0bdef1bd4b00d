"""Values of `chatrest call`: from the text of a `KEY=VALUE` to what the field's type takes.

A text that does not fit the type is returned as it is: the struct that gets it names the field and what is
allowed.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import inspect

from ..errors import RequestInvalidError
from ..parameters.files import File
from ..secrets import HIDDEN, is_credential, shown
from .time_options import parse_time

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
    """Return True if a value of the field is a file to upload."""
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
        value = HIDDEN if is_credential(name) else shown(text if len(text) <= 60 else f"{text[:60]}…")
        raise RequestInvalidError(f"{name} = {value}: it is not JSON ({error})") from None


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
    words = next((str(text) for text in _descriptions(rule)), "")
    several = list_type(rule)
    inner = getattr(several, "item_type", None) if several is not None else rule
    objects = [kind for kind in alternatives(inner or rule) if isinstance(kind, inspect.StructType)]
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
