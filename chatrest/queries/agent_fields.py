"""The types of fields that the filters and bodies of agents share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta

_VALID: Final = r"\A[^\ud800-\udfff]*\Z"

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
        pattern=_VALID,
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
