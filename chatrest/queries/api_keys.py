"""The filter of the key list, and the bodies that make and change keys."""

from typing import Annotated, Literal, TypeAlias, final

from msgspec import UNSET, Meta, UnsetType

from .checked import Body, Filter, Text
from .limits import ShortText

KeyScope: TypeAlias = Annotated[
    Literal["authOnly", "fullAccess"], Meta(description="'authOnly' or 'fullAccess'")
]


@final
class ApiKeyQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of GET /apikeys; `search_key` is a text in the key's name."""

    scope: KeyScope | None = None
    search_key: Text | None = None


@final
class NewApiKey(Body, frozen=True, kw_only=True, rename="camel"):
    """A key to make."""

    name: ShortText
    scope: KeyScope = "authOnly"


@final
class ApiKeyChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """Changes of a key; what is not given stays."""

    name: ShortText | UnsetType = UNSET
    scope: KeyScope | UnsetType = UNSET
