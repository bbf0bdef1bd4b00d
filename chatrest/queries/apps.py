"""The filter of the app list of the management interface, and the body of a new app."""

from typing import Annotated, Literal, TypeAlias, final

from msgspec import UNSET, Meta, UnsetType

from .checked import Body, Filter, Flag, Ordinal, Size, Text

Region: TypeAlias = Annotated[Literal["us", "eu", "in"], Meta(description="'us', 'eu' or 'in'")]


@final
class AppQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of GET {management_base_url}/apps; a walk starts at `page`."""

    search_key: Text | None = None
    per_page: Size | None = None
    page: Ordinal | None = None


@final
class NewApp(Body, frozen=True, kw_only=True, rename="camel"):
    """An app to make. `version` is that of its client libraries, "3" where it is not given."""

    name: Text
    region: Region = "us"
    version: Text | UnsetType = UNSET
    skip_sample_data: Flag | UnsetType = UNSET
