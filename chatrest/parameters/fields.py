"""The types of fields that filters and bodies share, with the documented lengths and counts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta

# ── texts and counts with the documented limits ──

VALID: Final = r"\A[^\ud800-\udfff]*\Z"

NewId: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9_-]{1,100}\Z",
        description="a text of 1 to 100 letters a to z, digits, '-' and '_' (the service lower-cases it)",
    ),
]
ShortText: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        pattern=VALID,
        description="a text of 1 to 100 characters, and valid Unicode",
    ),
]
Description: TypeAlias = Annotated[
    str,
    Meta(max_length=255, pattern=VALID, description="a text of at most 255 characters, and valid Unicode"),
]
AnyText: TypeAlias = Annotated[
    str, Meta(pattern=VALID, description="a text, which may be empty, and is valid Unicode")
]
Url: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=3000,
        pattern=VALID,
        description="a URL of 1 to 3000 characters, and valid Unicode",
    ),
]
Count: TypeAlias = Annotated[int, Meta(ge=0, description="a whole number, 0 or more")]
Whole: TypeAlias = Annotated[int, Meta(description="a whole number")]

if TYPE_CHECKING:  # the types of arguments: a checked struct converts lists to tuples
    Tags: TypeAlias = Sequence[str]
    MessageTags: TypeAlias = Sequence[str]
else:
    _TAGS: Final = tuple[Annotated[str, Meta(min_length=1, max_length=100, pattern=VALID)], ...]
    _OF_TAGS: Final = "tags of 1 to 100 characters each, and all valid Unicode"
    Tags: TypeAlias = Annotated[_TAGS, Meta(max_length=25, description=f"a list of at most 25 {_OF_TAGS}")]
    MessageTags: TypeAlias = Annotated[
        _TAGS, Meta(min_length=1, max_length=25, description=f"a list of 1 to 25 {_OF_TAGS}")
    ]


# ── messages and conversations ──

ReceiverType: TypeAlias = Annotated[Literal["user", "group"], Meta(description="'user' or 'group'")]
Switch: TypeAlias = Annotated[Literal[0, 1], Meta(description="the number 0 or 1")]

if TYPE_CHECKING:  # the type of an argument
    MessageNumber: TypeAlias = int | str
else:
    MessageNumber: TypeAlias = Annotated[
        int, Meta(ge=1, description="the id of a message: digits, or a whole number from 1")
    ]


# ── agents ──

HttpMethod: TypeAlias = Annotated[
    Literal["GET", "POST", "PUT", "PATCH", "DELETE"],
    Meta(description="'GET', 'POST', 'PUT', 'PATCH' or 'DELETE'"),
]
SourceType: TypeAlias = Literal["uploads", "text", "website"]
Source: TypeAlias = Annotated[SourceType, Meta(description="'uploads', 'text' or 'website'")]
Instruction: TypeAlias = Annotated[
    str,
    Meta(
        max_length=32_000,
        pattern=VALID,
        description="a text of at most 32000 characters, and valid Unicode",
    ),
]
Uri: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z][A-Za-z0-9+.-]*:[^\s\ud800-\udfff]+\Z",
        description="an absolute URL without white space, such as https://host/path",
    ),
]
PageLimit: TypeAlias = Annotated[int, Meta(ge=1, le=100, description="a whole number from 1 to 100")]

if TYPE_CHECKING:  # the types of arguments: a checked struct converts lists to tuples
    AnyTexts: TypeAlias = Sequence[str]
    AuthMeta: TypeAlias = dict[str, Any] | Sequence[str]
else:
    AuthMeta: TypeAlias = Annotated[
        dict[str, Any] | tuple[str, ...],
        Meta(description="a JSON object, as a mapping with text keys, or a list of texts"),
    ]
    AnyTexts: TypeAlias = Annotated[
        tuple[Annotated[str, Meta(min_length=1, pattern=r"\A[^\ud800-\udfff]+\Z")], ...],
        Meta(
            description="a list of texts, which may be empty; none of the texts is, and all are valid Unicode"
        ),
    ]
