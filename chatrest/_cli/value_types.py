"""The values that a field takes, as texts of a command line: one reader for `call` and filters.

A text that does not fit the type is returned as it is: the struct that gets it names the field and what is
expected.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct, inspect

from .._parameters.fields import words_of
from .._parameters.files import File
from .._secrets import HIDDEN, is_credential, repr_of
from ..errors import RequestInvalidError
from ..times import has_time_form

_LISTS: Final = (inspect.CollectionType, inspect.TupleType)
_OBJECTS: Final = (inspect.DictType, inspect.StructType, inspect.TypedDictType, inspect.DataclassType)
_LABELS: Final = (
    ((inspect.BoolType,), "true|false"), ((inspect.IntType,), "N"), ((inspect.FloatType,), "NUMBER"),
    ((inspect.CustomType,), "@FILE"), ((*_OBJECTS, inspect.AnyType), "JSON"),
)  # fmt: skip
_MAX_CHOICES: Final = 44
_WITHOUT_ZONE: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
)


TIME_WORDS: Final = (
    "a date such as 2026-01-31, a time such as 2026-01-31T12:00Z, a timestamp such as 1767225600, "
    "today, yesterday, or an age such as 7d"
)
"""The forms of a time that is a text."""


def in_utc(text: str) -> str:
    """Return a time with UTC as its zone where it has none; any other text as it is."""
    return f"{text}Z" if _WITHOUT_ZONE.fullmatch(text) else text


class ValueType(Struct, frozen=True):
    kinds: tuple[inspect.Type, ...]
    """The members of a union, without their metadata."""
    is_time: bool
    words: str
    """The field's own words for what is expected; "" for none."""
    item: "ValueType | None"
    """That of the items of a list."""

    @classmethod
    def of(cls, rule: inspect.Type) -> "ValueType":
        parts = list(_parts(rule))
        kinds = tuple([part for part in parts if not isinstance(part, inspect.Metadata)])
        notes = [part for part in parts if isinstance(part, inspect.Metadata)]
        several = next((kind for kind in kinds if isinstance(kind, _LISTS)), None)
        return cls(
            kinds,
            any(note.extra and "per_second" in note.extra for note in notes),
            next((text for note in notes if (text := (note.extra_json_schema or {}).get("description"))), ""),
            None if several is None else cls.of(getattr(several, "item_type", inspect.AnyType())),
        )

    def takes(self, *types: type[inspect.Type]) -> bool:
        return any(isinstance(kind, types) for kind in self.kinds)

    @property
    def takes_text(self) -> bool:
        return any(map(_is_text, self.kinds))

    @property
    def takes_file(self) -> bool:
        return any(isinstance(kind, inspect.CustomType) and kind.cls is File for kind in self.kinds)

    def convert(self, name: str, text: str) -> Any:
        """Return the value of a text; that of a list is a JSON array, one JSON object, or a comma list."""
        is_json = text[:1] in ("{", "[")
        if self.item is not None:
            if is_json and (text[0] == "[" or self.item.takes(*_OBJECTS)):
                value = read_json(name, text)
                return value if text[0] == "[" else [value]
            return [self.item.convert(name, item) for item in text.split(",")] if text else []
        if self.is_time:
            if not has_time_form(text):
                raise RequestInvalidError(f"{name} = {repr_of(text)}: expected {TIME_WORDS}")
            return in_utc(text)
        if is_json and self.takes(*_OBJECTS, inspect.AnyType):
            return read_json(name, text)
        if self.takes(inspect.AnyType):
            with suppress(ValueError):  # such as a number; what is no JSON is a text
                return msgspec.json.decode(text)
        if self.takes_text or self.takes(inspect.AnyType):
            return text
        is_flag = any(map(_is_flag, self.kinds))
        for plain in (bool,) if is_flag else (int, float):
            with suppress(msgspec.ValidationError):
                return msgspec.convert(text, plain, strict=False)
        if is_flag:
            raise RequestInvalidError(f"{name} = {repr_of(text)}: expected true or false")
        return text

    @property
    def label(self) -> str:
        """The type as a help text names it: TEXT, N, TIME, `true|false`, or the values that are allowed."""
        if self.item is not None:
            return "JSON" if self.item.takes(*_OBJECTS) else "LIST"
        if self.is_time:
            return "TIME"
        labels = [_label(kind) for kind in self.kinds if not isinstance(kind, inspect.NoneType)]
        return "|".join(dict.fromkeys(labels)) or "TEXT"

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
    if isinstance(rule, inspect.UnionType):
        for part in rule.types:
            yield from _parts(part)
        return
    yield rule
    if isinstance(rule, inspect.Metadata):
        yield from _parts(rule.type)


def read_json(name: str, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        value = HIDDEN if is_credential(name) else repr_of(text if len(text) <= 60 else f"{text[:60]}…")
        raise RequestInvalidError(f"{name} = {value}: it is not JSON ({error})") from None


def _is_text(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.LiteralType):
        return any(isinstance(value, str) for value in kind.values)
    return isinstance(kind, inspect.StrType)


def _is_flag(kind: inspect.Type) -> bool:
    """Return True for a truth value, also for one that is sent as 0 or 1."""
    values = kind.values if isinstance(kind, inspect.LiteralType) else ()
    return isinstance(kind, inspect.BoolType) or set(values) == {0, 1}


def _label(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.LiteralType):
        choices = "|".join(map(str, kind.values))
        return choices if len(choices) <= _MAX_CHOICES else "TEXT"
    return next((label for types, label in _LABELS if isinstance(kind, types)), "TEXT")
