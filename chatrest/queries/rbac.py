"""The body that sets permissions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias, final

from msgspec import Meta

from .checked import Body

if TYPE_CHECKING:
    PermissionValues: TypeAlias = Mapping[str, str | Sequence[str]]
else:
    PermissionValues: TypeAlias = Annotated[
        dict[Annotated[str, Meta(min_length=1)], str | tuple[str, ...]],
        Meta(
            min_length=1,
            description="a mapping from permission ids to 'allow', 'deny', another word, or a list of words",
        ),
    ]


@final
class NewPermissions(Body, frozen=True, kw_only=True, rename="camel"):
    """The values of permissions by id: `allow`, `deny`, a mode, or a list of texts."""

    permissions: PermissionValues
