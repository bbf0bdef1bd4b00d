"""Types of fields with the documented lengths and counts: users, groups, roles, keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from msgspec import Meta

_VALID: Final = r"\A[^\ud800-\udfff]*\Z"
_TAG: Final = Meta(min_length=1, max_length=100, pattern=_VALID)

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
        pattern=_VALID,
        description="a text of 1 to 100 characters, and valid Unicode",
    ),
]
Description: TypeAlias = Annotated[
    str,
    Meta(max_length=255, pattern=_VALID, description="a text of at most 255 characters, and valid Unicode"),
]
AnyText: TypeAlias = Annotated[
    str, Meta(pattern=_VALID, description="a text, which may be empty, and is valid Unicode")
]
Url: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=3000,
        pattern=_VALID,
        description="a URL of 1 to 3000 characters, and valid Unicode",
    ),
]
Count: TypeAlias = Annotated[int, Meta(ge=0, description="a whole number, 0 or more")]

if TYPE_CHECKING:  # the types of arguments: a checked struct converts lists to tuples
    Tags: TypeAlias = Sequence[str]
else:
    Tags: TypeAlias = Annotated[
        tuple[Annotated[str, _TAG], ...],
        Meta(
            max_length=25,
            description="a list of at most 25 tags of 1 to 100 characters each, and all valid Unicode",
        ),
    ]
