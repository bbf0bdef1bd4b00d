"""Checked structs: filters of lists and bodies of requests.

The type of each field contains its rule and the description for errors, so documentation, check and error
text cannot differ.
"""

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from itertools import compress
from operator import is_not
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields

from .._secrets import HIDDEN, for_repr, is_credential, repr_fields, repr_of
from .._struct_help import NamedFields, help_text, phrase, written_meaning
from ..errors import RequestInvalidError
from ..times import TIME_FORMS, Time, parse_timestamp, timestamp_words
from .fields import MEANINGS, ListOf, words_of
from .files import file_of

C = TypeVar("C", bound="CheckedStruct")


class CheckedStructType(NamedFields):
    """The metaclass of checked structs: fields are given by name, and help shows what each accepts."""

    if not TYPE_CHECKING:
        __doc__ = property(help_text)

        def __new__(mcls, name: str, bases: Any, members: Any, **options: Any) -> Any:
            # A class inherits the other options of msgspec, but not this one.
            return super().__new__(mcls, name, bases, members, **{"kw_only": True, **options})

        def _field_words(cls, field: str) -> str:  # noqa: N805, a metaclass
            return "; ".join(filter(None, (meaning(cls, field), cls.allowed(field))))


def meaning(kind: type, field: str) -> str:
    """Return the meaning of a field, under it or in `MEANINGS`; empty for a field whose name says all."""
    return written_meaning(kind, field) or phrase(MEANINGS.get(field, ""))


# `\Z`, as `$` would also match before a final newline. A lone surrogate cannot be sent.
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f"
_SURROGATE: Final = r"\ud800-\udfff"
_TEXT: Final = Meta(min_length=1, pattern=rf"\A[^{_SURROGATE}]+\Z")
_UID: Final = Meta(min_length=1, pattern=rf"\A[^{_CONTROL}{_SURROGATE}]+\Z")
_UID_IN_LIST: Final = Meta(min_length=1, pattern=rf"\A[^,{_CONTROL}{_SURROGATE}]+\Z")

Bool: TypeAlias = Annotated[bool, Meta(description="True or False")]
"""True or False."""
Text: TypeAlias = Annotated[str, _TEXT, Meta(description="a non-empty text (valid Unicode)")]
"""A text that is not empty."""
Uid: TypeAlias = Annotated[
    str, _UID, Meta(description="a non-empty text without control characters (valid Unicode)")
]
"""An id: a non-empty text without control characters."""
PageSize: TypeAlias = Annotated[int, Meta(ge=1, le=1000, description="a whole number from 1 to 1000")]
"""The number of records of a page: 1 to 1000."""
Ordinal: TypeAlias = Annotated[int, Meta(ge=1, description="a whole number from 1")]
"""A whole number from 1."""
Direction: TypeAlias = Annotated[
    Literal["append", "prepend"], Meta(description="'append' (after the id) or 'prepend' (before it)")
]
_AttachmentType: TypeAlias = Literal["image", "video", "audio", "file"]
Presence: TypeAlias = Literal["available", "offline"]
ScopeName: TypeAlias = Literal["admin", "moderator", "participant"]
Json: TypeAlias = Annotated[dict[str, Any], Meta(description="a JSON object, as a mapping with text keys")]
"""A JSON object, as a mapping with text keys."""
Texts: TypeAlias = Annotated[
    ListOf[Annotated[str, _TEXT]],
    Meta(min_length=1, description="a list of texts, none of them empty (valid Unicode)"),
]
"""A list of texts, none of them empty."""
Uids: TypeAlias = Annotated[
    ListOf[Annotated[str, _UID_IN_LIST]],
    Meta(
        min_length=1, description="a list of uids, none of them empty, without commas and control characters"
    ),
]
"""A list of ids, none of them empty or with a comma."""
SearchIn: TypeAlias = Annotated[ListOf[Literal["name", "uid"]], Meta(min_length=1)]
Scopes: TypeAlias = Annotated[ListOf[ScopeName], Meta(min_length=1)]
Attachments: TypeAlias = Annotated[
    _AttachmentType | Annotated[ListOf[_AttachmentType], Meta(min_length=1)],
    Meta(description="'image', 'video', 'audio' or 'file', or a list of these"),
]
# No pattern: msgspec 0.22 frees one twice in a union with an array or an object, and Python crashes.
TextOrTexts: TypeAlias = Annotated[
    Annotated[str, Meta(min_length=1)] | Annotated[ListOf[str], Meta(min_length=1)],
    Meta(description="a non-empty text, or a list of texts"),
]
if TYPE_CHECKING:  # the type of arguments: a checked struct converts datetimes to seconds
    _Seconds: TypeAlias = Time
    _Millis: TypeAlias = Time
else:
    _Seconds = Annotated[int, Meta(ge=0, description=TIME_FORMS, extra={"per_second": 1})]
    _Millis = Annotated[
        int, Meta(ge=0, description=f"{TIME_FORMS}, in milliseconds", extra={"per_second": 1000})
    ]
# Names of their own, outside of the condition: an editor shows the words below.
Stamp: TypeAlias = _Seconds
"""A time: a text such as `"7d"`, `"yesterday"`, `"2026-01-31"` or `"2026-01-31T12:00Z"`, a timedelta (so long
ago), a date, an aware datetime, or a timestamp. A relative time is read when the filter is made: to continue
a list by its token, keep the moment."""
Millis: TypeAlias = _Millis
"""A time as `Stamp`; it is sent in milliseconds."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class CheckedStruct(Struct, metaclass=CheckedStructType, frozen=True, rename="camel"):
    """A struct that checks its fields when it is created; raises `RequestInvalidError` if one is wrong.

    An optional field is not sent if it is `UNSET`, or None and its type does not allow null.
    """

    hidden_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that may hold a credential without its name, such as headers: never in a repr or an error."""

    def __post_init__(self) -> None:
        # Most fields of most bodies and filters have their default, which needs no check.
        for name in _set_fields(self):
            # No frame of the error holds the value: it may be a credential.
            if fault := _check_field(self, name):
                raise RequestInvalidError(fault, name=name)

    @classmethod
    def allowed(cls, name: str) -> str:
        """Return the values that the field `name` accepts, in words."""
        return words_of_type(_rules(cls)[name].hint)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({inner})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the names and values that were given, credentials hidden, for `repr` and rich."""
        return repr_fields(self, [(name, getattr(self, name)) for name in _set_fields(self)])


class Filter(CheckedStruct):
    """A filter of a list; all fields are optional, None means no filter."""

    windows: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The fields that are the two ends of a window of time; the last must not be before the first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _set_fields(self):
            items = getattr(self, name)
            if isinstance(items, tuple) and any(isinstance(item, str) and "," in item for item in items):
                fault = "expected items without commas: the list is sent with commas between its items"
                raise RequestInvalidError(f"{name} = {repr_of(list(items))}: {fault}", name=name)
        for first, last in self.windows:
            end = getattr(self, last)
            if isinstance(end, int) and isinstance(start := getattr(self, first), int) and end < start:
                raise RequestInvalidError(
                    f"{last} = {timestamp_words(end)}: the window ends before it begins; "
                    f"expected {timestamp_words(start)} or later",
                    name=last,
                )


class Body(CheckedStruct):
    """The body of a request; optional fields that are not given are `UNSET`."""


def struct_type(name: str, base: type[CheckedStruct], /, **members: Any) -> type[Any]:
    """Return the struct of what a method sends of its arguments: its members, each with its type.

    What may be null or `UNSET` has that as its default.
    """
    defaults = {
        member: None if type(None) in get_args(hint) else UNSET
        for member, hint in members.items()
        if {type(None), UnsetType} & {*get_args(hint)}
    }
    return CheckedStructType(name, (base,), {"__annotations__": members, **defaults})


def _set_fields(record: CheckedStruct) -> Iterator[str]:
    """Return the names of the fields that do not have their default."""
    kind = type(record)
    is_given = map(is_not, msgspec.structs.astuple(record), _defaults(kind))
    return compress(kind.__struct_fields__, is_given)


@cache
def _defaults(kind: type[Struct]) -> tuple[Any, ...]:
    return tuple(field.default for field in fields(kind))


class _Rule(Struct, frozen=True, dict=True):
    """The type of a field, and what the check of each value needs of it."""

    hint: Any
    is_optional: bool
    takes_null: bool
    per_second: int | None
    """Units of a field that holds a time; None for all others."""
    nested: type[CheckedStruct] | None
    """The struct for which a caller may give a plain mapping."""
    container: type | None
    """A tuple or dict of such structs; None for one of them."""
    is_end: bool
    """True for the end of a window of time: a date is its last second there."""
    is_switch: bool
    """True for 0 and 1, in whose place a caller may give a bool."""

    @cached_property
    def holder(self) -> Any:
        """A struct of one field: msgspec studies any other type in each call, which takes twenty times as
        long as the conversion.
        """
        return msgspec.defstruct("Value", [("value", self.hint)])


@cache
def _rules(kind: type[CheckedStruct]) -> dict[str, _Rule]:
    hints = get_type_hints(kind, include_extras=True)
    ends = {end for _, end in getattr(kind, "windows", ())}
    return {name: _rule(hints[name], name in ends) for name in kind.__struct_fields__}


def _rule(hint: Any, is_end: bool) -> _Rule:
    parts = get_args(hint)
    takes_null = type(None) in parts
    is_optional = takes_null or UnsetType in parts
    if UnsetType in parts:
        hint = Union[tuple(part for part in parts if part is not UnsetType)]  # noqa: UP007
    inner = [*_types_in(hint)]
    metas = [meta for part in inner for meta in getattr(part, "__metadata__", ())]
    return _Rule(
        hint=hint,
        is_optional=is_optional,
        takes_null=takes_null,
        per_second=next((meta.extra["per_second"] for meta in metas if meta.extra), None),
        nested=next(
            (each for each in inner if isinstance(each, type) and issubclass(each, CheckedStruct)), None
        ),
        container=next((get_origin(part) for part in inner if get_origin(part) in (dict, tuple)), None),
        is_end=is_end,
        is_switch=any(get_args(part) == (0, 1) for part in inner),
    )


def _types_in(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        if not isinstance(part, Meta):
            yield from _types_in(part)


def _check_field(record: CheckedStruct, name: str) -> str | None:
    """Convert a field in place; return what is wrong with it, None for nothing."""
    rule = _rules(type(record))[name]
    value = getattr(record, name)
    if value is None and rule.takes_null:
        return None
    if rule.is_optional and (value is None or value is UNSET):
        value = UNSET
    else:  # lists become tuples, so that a checked filter cannot change
        try:
            value = _converted(name, value, rule)
        except RequestInvalidError as error:  # of a time, or of a struct
            return str(error)
        except (msgspec.ValidationError, TypeError) as error:
            refusal = error.__cause__
            if isinstance(refusal, RequestInvalidError) and isinstance(refusal.__cause__, OSError):
                return f"{name}: {refusal}"  # a file that cannot be read
            return f"{name} = {_shown(record, name, value)}: expected {words_of_type(rule.hint)}"
    msgspec.structs.force_setattr(record, name, value)
    return None


def _shown(record: CheckedStruct, name: str, value: Any) -> str:
    if value and (is_credential(name) or name in record.hidden_fields):
        return HIDDEN
    return repr_of(for_repr("", value) if isinstance(value, dict | list | tuple) else value)


def _converted(name: str, value: Any, rule: _Rule) -> Any:
    if rule.per_second is not None:
        return parse_timestamp(name, value, per_second=rule.per_second, end=rule.is_end)
    if rule.is_switch and isinstance(value, bool):
        return int(value)
    if rule.nested is not None:
        value = _with_structs(name, rule.nested, rule.container, value)
    ordered = sorted(value) if isinstance(value, set | frozenset) else value
    return msgspec.convert({"value": ordered}, rule.holder, dec_hook=lambda _, file: file_of(file)).value


def _with_structs(name: str, kind: type[CheckedStruct], container: type | None, value: Any) -> Any:
    """Return a value with structs in the place of mappings that have their members."""

    def struct(at: str, each: Any) -> Any:
        return struct_of(name + at, kind, each) if isinstance(each, Mapping) else each

    if container is dict and isinstance(value, Mapping):
        return {key: struct(f"[{repr_of(key)}]", each) for key, each in value.items()}
    if container is tuple and isinstance(value, list | tuple):
        return [struct(f"[{index}]", each) for index, each in enumerate(value)]
    return struct("", value) if container is None else value


def struct_of(path: str, kind: type[C], members: Mapping[str, Any]) -> C:
    """Return the struct with these members, which have the names of its fields or those of its JSON.

    Raises `RequestInvalidError`, which begins with `path`, if one is wrong, missing or unknown: it would be
    lost silently.
    """
    names = {spelling: each.name for each in fields(kind) for spelling in (each.encode_name, each.name)}
    given = {names[name]: value for name, value in members.items() if name in names}
    if unknown := [repr_of(name)[:60] for name in members if name not in names]:
        expected = ", ".join(field.encode_name for field in fields(kind))
        raise RequestInvalidError(f"{path}: unknown field {unknown[0]}; expected {expected}")
    if missing := [each for each in fields(kind) if each.required and each.name not in given]:
        raise RequestInvalidError(
            f"{path}: {missing[0].encode_name!r} is missing: expected {kind.allowed(missing[0].name)}"
        )
    try:
        return kind(**given)
    except RequestInvalidError as error:
        spelling = next((name for name in members if names[name] == error.name), error.name)
        fault = f"{spelling}{str(error).removeprefix(error.name)}"
    raise RequestInvalidError(f"{path}: {fault}")


def words_of_type(hint: Any) -> str:
    """Return the description of the values that a field accepts; of some words, the words themselves."""
    for part in _types_in(hint):
        for meta in getattr(part, "__metadata__", ()):
            if meta.description:
                return str(meta.description)
        if get_origin(part) is Literal:
            return words_of(get_args(part))
        if get_origin(part) is tuple and get_origin(get_args(part)[0]) is Literal:
            return words_of(get_args(get_args(part)[0]), is_list=True)
    return ""


class PageQuery(Filter):
    """The page size of a list by page numbers; a walk starts at `page`."""

    per_page: PageSize | None = None
    page: Ordinal | None = None


class TaggedQuery(PageQuery):
    """The filter of a list of users or groups, by their tags and by when they were made and changed."""

    windows: ClassVar[tuple[tuple[str, str], ...]] = (
        ("created_at_from", "created_at_to"),
        ("updated_at_from", "updated_at_to"),
    )

    with_tags: Bool | None = None
    tags: Texts | None = None
    """Only those with these tags."""
    created_at_from: Stamp | None = msgspec.field(default=None, name="createdAt[from]")
    """Created at this time or later."""
    created_at_to: Stamp | None = msgspec.field(default=None, name="createdAt[to]")
    """Created at this time or earlier."""
    updated_at_from: Stamp | None = msgspec.field(default=None, name="updatedAt[from]")
    updated_at_to: Stamp | None = msgspec.field(default=None, name="updatedAt[to]")
