"""Checked structs: filters of lists and bodies of requests. Each field's type carries its rule and its words.

So what is documented, what is checked and what an error says are one and the same.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta, Struct

from ..errors import RequestInvalidError
from ..secrets import shown

# Patterns are searched for, and `$` would match before a newline at the end. A lone surrogate cannot be sent.
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f"
_SURROGATE: Final = r"\ud800-\udfff"
_TEXT: Final = Meta(min_length=1, pattern=rf"\A[^{_SURROGATE}]+\Z")
_UID: Final = Meta(min_length=1, pattern=rf"\A[^{_CONTROL}{_SURROGATE}]+\Z")
_UID_IN_LIST: Final = Meta(min_length=1, pattern=rf"\A[^,{_CONTROL}{_SURROGATE}]+\Z")

Flag: TypeAlias = Annotated[bool, Meta(description="True or False")]
Text: TypeAlias = Annotated[str, _TEXT, Meta(description="a text that is not empty, and is valid Unicode")]
Uid: TypeAlias = Annotated[
    str, _UID, Meta(description="a text that is not empty, without control characters, and is valid Unicode")
]
Stamp: TypeAlias = Annotated[int, Meta(ge=0, description="a timestamp as a whole number, 0 or later")]
Size: TypeAlias = Annotated[int, Meta(ge=1, le=1000, description="a whole number from 1 to 1000")]
Ordinal: TypeAlias = Annotated[int, Meta(ge=1, description="a whole number from 1")]
Affix: TypeAlias = Annotated[
    Literal["append", "prepend"], Meta(description="'append' (after the id) or 'prepend' (before it)")
]
_Kind: TypeAlias = Literal["image", "video", "audio", "file"]
Presence: TypeAlias = Annotated[Literal["available", "offline"], Meta(description="'available' or 'offline'")]


if TYPE_CHECKING:  # what a caller may give: a filter makes tuples of lists
    Texts: TypeAlias = Sequence[str]
    Uids: TypeAlias = Sequence[str]
    SearchIn: TypeAlias = Sequence[Literal["name", "uid"]]
    Attachments: TypeAlias = _Kind | Sequence[_Kind]
else:
    Texts: TypeAlias = Annotated[
        tuple[Annotated[str, _TEXT], ...],
        Meta(min_length=1, description="a list of texts, none of them empty, and all valid Unicode"),
    ]
    Uids: TypeAlias = Annotated[
        tuple[Annotated[str, _UID_IN_LIST], ...],
        Meta(
            min_length=1, description="a list of uids, none of them empty, with a comma or control characters"
        ),
    ]
    Attachments: TypeAlias = Annotated[
        _Kind | Annotated[tuple[_Kind, ...], Meta(min_length=1)],
        Meta(description="'image', 'video', 'audio' or 'file', or a list of these"),
    ]
    SearchIn: TypeAlias = Annotated[
        tuple[Literal["name", "uid"], ...], Meta(min_length=1, description="a list of 'name' and 'uid'")
    ]


class Filter(Struct, frozen=True, kw_only=True, rename="camel", repr_omit_defaults=True):
    """A filter: every field optional, checked when made, `RequestInvalidError` where one is wrong."""

    def __post_init__(self) -> None:
        for name, rule in _rules(type(self)).items():
            value = getattr(self, name)
            if value is not None:
                # Lists become tuples: a filter is a value, and what was checked stays so.
                msgspec.structs.force_setattr(self, name, _checked(name, value, rule))


@cache
def _rules(kind: type[Filter]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _checked(name: str, value: Any, rule: Any) -> Any:
    try:
        ordered = sorted(value) if isinstance(value, set | frozenset) else value
        return msgspec.convert(ordered, rule)
    except (msgspec.ValidationError, TypeError):
        raise RequestInvalidError(f"{name} = {shown(value)}: allowed is {_words(rule)}") from None


def _words(rule: Any) -> str:
    """The description of an `Annotated[…] | None`."""
    metas = [meta for part in rule.__args__ for meta in getattr(part, "__metadata__", ())]
    return next(str(meta.description) for meta in metas if meta.description)
