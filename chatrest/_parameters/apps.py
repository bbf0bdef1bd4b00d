"""Filters and bodies of apps, of API keys and of usage figures."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from .checked import Body, Filter, Flag, Millis, PageQuery, Text
from .fields import ShortText

Region: TypeAlias = Literal["us", "eu", "in"]


class AppQuery(PageQuery):
    """The filter of GET {management_base_url}/apps; a walk starts at `page`."""

    search_key: Text | None = None
    """The text that the name or id begins with."""


class NewApp(Body):
    """An app to make."""

    name: Text
    region: Region = "us"
    version: Text | UnsetType = UNSET
    """The version of its client libraries, by default "3"."""
    skip_sample_data: Flag | UnsetType = UNSET
    """Make the app without sample users and groups."""


# ── API keys ──

KeyScope: TypeAlias = Literal["authOnly", "fullAccess"]


class ApiKeyQuery(Filter):
    """The filter of GET /apikeys."""

    scope: KeyScope | None = None
    search_key: Text | None = None
    """Only keys with this text in their name."""


class NewApiKey(Body):
    """A key to make."""

    name: ShortText
    scope: KeyScope = "authOnly"


class ApiKeyChanges(Body):
    """Changes of a key; what is not given stays."""

    name: ShortText | UnsetType = UNSET
    scope: KeyScope | UnsetType = UNSET


# ── usage figures ──


class UsageQuery(Filter):
    """The window of GET /stats; `RequestInvalidError` if it ends before it begins."""

    windows: ClassVar[tuple[tuple[str, str], ...]] = (("from_date", "to_date"),)

    from_date: Millis
    """From this time on."""
    to_date: Millis
    """Until this time."""
