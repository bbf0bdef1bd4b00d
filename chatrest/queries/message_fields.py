"""The types of fields that the filters and bodies of messages and conversations share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from msgspec import Meta

MOST_TAGS: Final = 25
"""Tags per item."""
LONGEST_TAG: Final = 100
"""Characters of a tag."""

ReceiverType: TypeAlias = Annotated[Literal["user", "group"], Meta(description="'user' or 'group'")]
Switch: TypeAlias = Annotated[Literal[0, 1], Meta(description="the number 0 or 1")]
_TAGS: Final = f"texts of at most {LONGEST_TAG} characters, none of them empty, and all valid Unicode"

if TYPE_CHECKING:  # the types of arguments: a checked struct converts lists to tuples
    Tags: TypeAlias = Sequence[str]
    AnyTags: TypeAlias = Sequence[str]
    MessageNumber: TypeAlias = int | str
else:
    _Tag: TypeAlias = Annotated[
        str, Meta(min_length=1, max_length=LONGEST_TAG, pattern=r"\A[^\ud800-\udfff]+\Z")
    ]
    Tags: TypeAlias = Annotated[
        tuple[_Tag, ...],
        Meta(min_length=1, max_length=MOST_TAGS, description=f"a list of 1 to {MOST_TAGS} {_TAGS}"),
    ]
    AnyTags: TypeAlias = Annotated[
        tuple[_Tag, ...], Meta(max_length=MOST_TAGS, description=f"a list of at most {MOST_TAGS} {_TAGS}")
    ]
    MessageNumber: TypeAlias = Annotated[
        int, Meta(ge=1, description="the id of a message: digits, or a whole number from 1")
    ]
